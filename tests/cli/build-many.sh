#!/bin/bash
# Several recipes in one build: what is refused before anything is done.
set -u
cd "$TOP" || exit 1
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$work/out"; rc=1; fi; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recipe() { # NAME [FILE]
        echo "{ \"name\": \"$1\", \"kind\": \"tree\", \"overlays\": [], \"base\": { \"distro\": \"debian\", \"release\": \"trixie\", \"arch\": \"amd64\" } }" \
                >"$work/${2:-$1}.json"
}
build() {
        "$IMGBUILD" build "$@" --cache "$work/cache" --offline --progress plain >"$work/out" 2>&1
        s=$?
}
recipe a
recipe b
mkdir "$work/other"
recipe a other/a
echo '{ "name": "c", "kind": "tre" }' >"$work/c.json"

build "$work/a.json" "$work/c.json" "$work/gone.json"
[[ $s -eq 3 ]] && grep -q 'c\.json:1: \$\.kind' "$work/out" && grep -q gone "$work/out" && ! grep -q Baking "$work/out"
check "all faults of all recipes come before any work: exit code 3" $?
build "$work/a.json" "$work/b.json" "$work/other/a.json"
[[ $s -eq 3 ]] && grep -q "a\.json and .*other/a\.json are both named a" "$work/out" && ! grep -q Baking "$work/out"
check "two of one name would be one folder: refused, with both files" $?
build "$work/a.json" "$work/a.json"
[[ $s -eq 3 ]]
check "a recipe is not named twice" $?
echo 12345678 >"$work/token"
build "$work/a.json" "$work/b.json" --secret "token=$work/token"
[[ $s -eq 3 ]] && grep -q 'none of the recipes has such a secret' "$work/out"
check "a secret that none of them names is an error" $?
build "$work/a.json" "$work/b.json" --on-error=shell
[[ $s -eq 2 ]]
check "--on-error=shell is for one at a time: exit code 2" $?
script -qec "\"$IMGBUILD\" build \"$work/a.json\" \"$work/b.json\" --on-error=shell --cache \"$work/cache\"" "$work/out" </dev/null >/dev/null
[[ $? -eq 2 ]] && grep -q 'one recipe at a time' "$work/out"
check "on a terminal, too, which says why" $?
build "$work/a.json" "$work/b.json"
[[ $s -ne 0 ]] && grep -q '2 of 2 recipes are not baked: a, b' "$work/out" && grep -q ' a: ' "$work/out" && grep -q ' b: ' "$work/out"
check "what each of them lacks is told, and who is not baked ($s)" $?
build
[[ $s -eq 2 ]] && grep -q 'takes a recipe, or up to 64' "$work/out"
check "without a recipe: exit code 2" $?
exit $rc
