#!/bin/bash
# An ordinary user without the right to the store, the images' folder, the lock of a build or the recipe's lock: each is exit code 5 and
# one message that names the place, said before any work, and nothing is left half-written.
set -u
[[ $EUID -eq 0 ]] || { echo "root (to become an ordinary user)"; exit 77; }
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/fixtures/user.bash"
user_begin || { echo "$why"; exit 77; }
trap 'user_end; archive_cleanup' EXIT
publish_base
recipe disk
run lock "$T/images/disk.json"
chmod -R a+rX "$T" && chmod 0755 "$T"

files() { find "$T/images" "$U/theirs" "$U/shared" -printf '%p\n' -type f -printf '%s %T@\n' | sort; }

# denied NAME PLACE VERB ARGUMENT…: what is in $T and $U stays as it is.
denied() {
        local name=$1 place=$2 before
        shift 2
        [[ $1 != build ]] || set -- "$@" --no-proof
        before=$(files)
        as_user "$U/home/imgbuild" "$1" --progress=plain --mirror="$URL/debian" "${@:2}" >"$T/out" 2>&1
        rc=$?
        check "$name: exit code 5" test $rc -eq 5
        check "… with one message, which names the place" bash -c "[[ \$(grep -c '^imgbuild: ' '$T/out') -eq 1 ]] && grep -q '^imgbuild: .*$place' '$T/out'"
        check "… and nothing is begun" bash -c "! grep -q '^> [^r]' '$T/out'"
        [[ $(files) == "$before" ]]
        check "… and nothing is written" test $? -eq 0
}
mkdir -p "$U/theirs" "$U/shared"
chmod 1777 "$U/shared"
: >"$U/shared/.disk.lock"

denied "a store of somebody else's" "$U/theirs" build "$T/images/disk.json" --cache "$U/theirs" --output "$U/home/out" --offline
denied "a store that cannot be made" "$U/theirs/cache" build "$T/images/disk.json" --cache "$U/theirs/cache" --output "$U/home/out" --offline
as_user "$U/home/imgbuild" plan "$T/images/disk.json" --cache "$U/home/cache" --offline >"$T/out" 2>&1
check "the lock of a recipe in somebody else's folder is read" test $? -eq 0
denied "a folder of images of somebody else's" "$U/theirs" build "$T/images/disk.json" --cache "$U/home/cache" --output "$U/theirs" --offline
denied "a folder of images that cannot be made" "$U/theirs/out" build "$T/images/disk.json" --cache "$U/home/cache" --output "$U/theirs/out" --offline
denied "the lock of somebody else's build" "$U/shared/.disk.lock" build "$T/images/disk.json" --cache "$U/home/cache" --output "$U/shared" --offline
recipe partial
run lock "$T/images/partial.json"
recipe partial '"packages": ["extra"]'
: >"$LOG"
denied "a lock in somebody else's folder that is not complete" partial.lock.json lock "$T/images/partial.json" --cache "$U/home/cache"
check "… is told before any server is asked" test ! -s "$LOG"
chmod 0600 "$T/images/disk.lock.json"
denied "a lock that may not be read" disk.lock.json build "$T/images/disk.json" --cache "$U/home/cache" --output "$U/home/out" --offline
[[ ! -e $U/home/out && -z $(find "$U/home/cache/layers" "$U/home/cache/work" -mindepth 1 2>/dev/null) ]]
check "no stage was begun in the user's own store" test $? -eq 0
