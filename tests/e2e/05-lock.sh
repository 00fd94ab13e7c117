#!/bin/bash
# Locks of the real recipes against the real archive: repeatable, and the base is what mmdebstrap would install.
#
# lane: compute
set -u
source "$TOP/tests/e2e/lib.bash"
project
cat >"$RECIPES/lock-base.json" <<'EOF'
{ "name": "lock-base", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }
EOF
lock() { "$IMGBUILD" lock "$RECIPES/$1.json" --cache "$CACHE" --progress plain "${@:2}" >"$E2E/lock.out" 2>&1; }

lock lock-base
status=$?
if [[ $status -eq 4 ]]; then echo "a network: $(tail -n 1 "$E2E/lock.out")"; exit 77; fi
check "the base of a release is locked" $status
python3 - "$RECIPES/lock-base.lock.json" >"$E2E/ours" <<'EOF'
import json, sys
print("\n".join(sorted(p["name"] for p in json.load(open(sys.argv[1]))["stages"][0]["packages"])))
EOF
mmdebstrap --variant=apt --simulate -v trixie /dev/null 2>&1 | grep -o 'Inst [^ ]*' | cut -d' ' -f2 | sort -u >"$E2E/theirs"
diff "$E2E/theirs" "$E2E/ours"
check "it is what mmdebstrap --variant=apt installs" $?

mv "$RECIPES/lock-base.lock.json" "$E2E/first"
lock lock-base && cmp "$E2E/first" "$RECIPES/lock-base.lock.json"
check "the same indexes give the same bytes" $?
for recipe in debian-13-cpu debian-13-gpu; do
        lock $recipe
        check "$recipe is locked" $?
        # Of the processors, for what runs beside may have them for longer.
        TIMEFORMAT='%U %S'
        took=$({ time lock $recipe --offline; } 2>&1)
        check "$recipe: a whole lock needs no network" $?
        awk '{ exit $1 + $2 > 0.2 }' <<<"$took"
        check "$recipe: nor more than 0.2 s of the processor ($took)" $?
done
rm -f "$RECIPES"/lock-base.*
exit $rc
