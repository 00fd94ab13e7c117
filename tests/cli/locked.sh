#!/bin/bash
# build --locked: what is not locked is refused before anything is fetched, and no lock is written.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
host_tools

tree() { echo "{ \"name\": \"t\", \"kind\": \"tree\", ${1-}\"base\": { \"distro\": \"debian\", \"release\": \"trixie\", \"arch\": \"amd64\", \"components\": [\"main\"] } }" >"$T/images/t.json"; }
tree
lock=$T/images/t.lock.json
refused() { # NAME PATTERN [LOCK]: exit code 3, the reason, and the lock as it was
        local requests
        requests=$(wc -l <"$LOG")
        run build "$T/images/t.json" --locked
        check "$1 is refused" bash -c "test $rc -eq 3 && grep -qE '$2' '$T/out' && grep -q 'without --locked\|imgbuild lock ' '$T/out'"
        check "… with nothing fetched and no lock changed" bash -c "test $requests -eq $(wc -l <"$LOG") && if test -n '${3-}'; then cmp '$lock' '${3-}'; else test ! -e '$lock'; fi"
}
refused "a recipe without a lock" "t.lock.json is not there, and --locked changes no lock"
run lock "$T/images/t.json"
cp "$lock" "$T/whole"

tree '"packages": ["tool"], '
refused "a lock that lacks a package" "does not lock all that the recipe asks for" "$T/whole"
run lock "$T/images/t.json"
cp "$lock" "$T/more"
tree
refused "a lock of what the recipe asks for no more" "locks what the recipe does not ask for" "$T/more"

overlay fetch '{ "description": "fetches", "run": [ { "script": "get.sh", "network": true } ] }'
printf '#!/bin/sh\n' >"$T/overlays/fetch/get.sh"; chmod +x "$T/overlays/fetch/get.sh"
tree '"overlays": ["fetch"], '
run lock "$T/images/t.json"
cp "$lock" "$T/fetching"
refused "a script that has the network" "Stage run:fetch/0: its script uses the network.*overlay .*/fetch" "$T/fetching"

overlay fetch '{ "description": "does not fetch", "run": [ { "script": "get.sh" } ] }'
run build "$T/images/t.json" --locked --offline
check "a whole lock is built from: only its .debs are missing here" bash -c "test $rc -eq 4 && grep -q 'apt 3.0' '$T/out' && ! grep -q 'locked' '$T/out'"

# To a machine without a network: all that the locks name, by a file.
run cache export "$T/images/t.json" "$T/carried.tar"
check "cache export writes what the locks name" bash -c "test $rc -eq 0 && tar -tf '$T/carried.tar' | grep -c ^blobs/sha256/ | grep -qx \"\$(grep -ho '\"sha256\": *\"[0-9a-f]*\"' '$lock' '$T/images/tools.lock.json' | sort -u | wc -l)\""
cp "$T/carried.tar" "$T/first.tar"
run cache export "$T/images/t.json" "$T/carried.tar"
check "… the same bytes again" cmp "$T/first.tar" "$T/carried.tar"
mkfifo "$T/pipe"
run cache export "$T/images/t.json" "$T/pipe"
check "… a pipe or device is not replaced by it" bash -c "test $rc -eq 2 -a -p '$T/pipe' && grep -q 'pipe is no regular file' '$T/out'"
mkdir "$T/folder.tar"
run cache export "$T/images/t.json" "$T/folder.tar"
check "… a folder neither" bash -c "test $rc -eq 2 -a -d '$T/folder.tar' && grep -q 'folder.tar is a folder: name a file in it' '$T/out'"
if unshare -n true 2>/dev/null; then
        rc=0
        unshare -n "$IMGBUILD" cache import "$T/carried.tar" --cache="$T/elsewhere" >"$T/out" 2>&1 || rc=$?
        check "cache import takes it without any network" test $rc -eq 0
        rc=0
        unshare -n "$IMGBUILD" build "$T/images/t.json" --locked --offline --cache="$T/elsewhere" --progress=plain >"$T/out" 2>&1 || rc=$?
        # The archive's packages are empty doubles, of which no base can be made: what fails is that, not a download.
        check "… and a build with --locked --offline begins its base there" bash -c "test $rc -eq 1 && grep -q '^> base' '$T/out' && ! grep -q 'not in the store' '$T/out'"
else
        echo "skip - a build without a network: no network namespaces here"
fi
