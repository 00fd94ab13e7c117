#!/bin/bash
# debian-13-cpu: built cold, and again with nothing changed and no network. 12-cpu-again.sh builds it from another store and
# after an edit.
#
# lane: compute
# after: e2e/05
set -u
source "$TOP/tests/e2e/lib.bash"
project
rm -rf "$CACHE/layers" "$OUT/debian-13-cpu"

build debian-13-cpu >"$E2E/cpu-build.log" 2>&1
s=$?
check "debian-13-cpu builds cold" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/cpu-build.log"; exit 1; }

[[ -s $OUT/debian-13-cpu/debian-13-cpu.qcow2 && -s $RECIPES/debian-13-cpu.lock.json ]]
check "image and lock file are there" $?

(cd "$OUT/debian-13-cpu" && sha256sum --quiet -c SHA256SUMS)
check "checksums hold" $?

python3 - "$OUT/debian-13-cpu/manifest.json" "$RECIPES/debian-13-cpu.lock.json" <<'E'
import json, sys
m, lock = (json.load(open(p)) for p in sys.argv[1:])
locked = {(p["name"], p["version"], p["sha256"]) for s in lock["stages"] if not s["id"].startswith("compile:") for p in s["packages"]}
got = {(p["name"], p["version"], p["sha256"]) for p in m["packages"]}
assert locked == got, locked ^ got
assert m["proved"] is True
assert all(len(s["digest"]) == 64 for s in m["stages"])
E
check "the manifest names exactly the locked packages" $?
python3 - "$OUT/debian-13-cpu/manifest.json" "$RECIPES/tools.lock.json" <<'E'
import json, sys
made = json.load(open(sys.argv[1]))["base_made_with"]
base = next(s for s in json.load(open(sys.argv[2]))["stages"] if s["id"] == "base")["packages"]
locked = {p["name"]: p["version"] for p in base}
assert made["by"] == "tools" and made["bootstrapped_with"]["by"] == "host", made
assert all(made[p] == locked[p] and made["bootstrapped_with"][p] for p in ("mmdebstrap", "dpkg", "apt")), made
E
check "its base is made with the tools tree's own mmdebstrap, and what made that is said" $?

qemu=$(sed -n 's/^\* \(qemu\)/\1/p' "$E2E/cpu-build.log") # no output of a tool may look like a stage of ours
[[ -z $qemu ]]
check "plain progress has only stages" $?

unshare -n "$IMGBUILD" build "$RECIPES/debian-13-cpu.json" --cache "$CACHE" --output "$OUT" --progress plain >"$E2E/build.log" 2>&1 &&
        grep -q 'up to date' "$E2E/build.log"
check "with nothing changed it says so, without a network" $?

digests() { "$IMGBUILD" plan "$RECIPES/debian-13-cpu.json" --cache "$1" --offline --json |
        python3 -c 'import json,sys; [print(s["id"], s["digest"]) for s in json.load(sys.stdin)["stages"]]'; }
digests "$CACHE" >"$E2E/digests"
[[ -s $E2E/digests ]] && digests "$E2E/empty-cache" | cmp -s - "$E2E/digests"
check "digests do not depend on the store" $?
rm -rf "$E2E/empty-cache"

while read -r _ digest; do
        find "$CACHE/layers/${digest:0:32}/tree/usr/share/man" "$CACHE/layers/${digest:0:32}/tree/usr/share/doc" \
                -type f ! -name copyright 2>/dev/null # links dpkg keeps
done <"$E2E/digests" >"$E2E/excluded"
find "$CACHE/layers" -path '*/usr/share/doc/*/copyright' | grep -q . && [[ ! -s $E2E/excluded ]]
check "what slim keeps dpkg from unpacking is in no layer, copyright files are" $?
head -n 5 "$E2E/excluded"

no_leftovers
check "nothing is left mounted or running" $?
exit $rc
