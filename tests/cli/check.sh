#!/bin/bash
# imgbuild check: its command line. What it finds is tested in tests/unit/builder/test-check.c and tests/e2e/15-checks.sh.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
# expect NAME EXIT-CODE TEXT COMMAND…
expect() {
        local name=$1 code=$2 text=$3 s=0
        shift 3
        "$@" >"$T/out" 2>&1 || s=$?
        if [[ $s -eq $code ]] && grep -qF -- "$text" "$T/out"; then
                echo "ok - $name"
        else
                echo "not ok - $name (exit code $s)"
                sed 's/^/    /' "$T/out"
                rc=1
        fi
}
cd "$T"
expect "no recipe" 2 "takes one recipe" "$IMGBUILD" check
expect "two recipes" 2 "takes one recipe" "$IMGBUILD" check a.json b.json
expect "an unknown option" 2 "--nonsense" "$IMGBUILD" check --nonsense a.json
expect "a recipe that is not there" 3 "gone.json" "$IMGBUILD" check gone.json --cache "$T/cache" --progress none
echo '{ "name": "x", "kernle": {} }' >bad.json
expect "a recipe that is wrong" 3 "kernel" "$IMGBUILD" check bad.json --cache "$T/cache" --progress none
expect "help" 0 "--json" "$IMGBUILD" check --help
expect "the list of rules" 0 "services.verify" "$IMGBUILD" check --rules
exit $rc
