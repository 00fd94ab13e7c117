#!/bin/bash
# imgbuild shell: wrong usage and bad input. What it does in a tree is in tests/e2e/15-stages.sh.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
shell() { "$IMGBUILD" shell --cache "$T/store" "$@" >"$T/out" 2>"$T/err"; }

shell
s=$?
if [[ $s -eq 5 ]] && grep -q 'run imgbuild as root' "$T/err"; then echo "root or user namespaces"; exit 77; fi
[[ $s -eq 2 ]] && grep -q 'takes a recipe' "$T/err"
check "without a recipe: exit code 2" $?
shell --nonsense "$T/x.json"
[[ $? -eq 2 ]]
check "an unknown option: exit code 2" $?
"$IMGBUILD" shell --help | grep -q -- '--stage'
check "--help names the options" $?
shell "$T/missing.json"
[[ $? -ne 0 ]] && grep -q "$T/missing.json" "$T/err"
check "a missing recipe is named" $?
echo '{ "name": 1 }' >"$T/bad.json"
shell "$T/bad.json" -- /bin/true
[[ $? -eq 3 ]] && grep -q 'bad.json' "$T/err"
check "a bad recipe: exit code 3" $?
exit $rc
