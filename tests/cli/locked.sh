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

        # The same without a file between: what the locks name comes into the store, and the network goes away.
        : >"$LOG"
        rc=0
        "$IMGBUILD" lock "$T/images/t.json" --fetch --jobs 1 --json --progress none --cache="$T/fetched" --mirror="$URL/debian" >"$T/out" 2>"$T/err" || rc=$?
        debs=$(grep -ho '"sha256": *"[0-9a-f]*"' "$lock" "$T/images/tools.lock.json" | sort -u | wc -l)
        bytes=$(find "$T/fetched/blobs/sha256" -type f -printf '%s\n' | paste -sd+ | bc)
        check "lock --fetch brings what the locks name, and says how much" bash -c "test $rc -eq 0 && python3 -c 'import json, sys
assert json.load(sys.stdin)[\"fetched\"] == {\"downloads\": $debs, \"bytes\": $bytes, \"known\": 0, \"known_bytes\": 0}' <'$T/out'"
        check "… each once, and nothing else" test "$(wc -l <"$LOG")" -eq "$debs" -a "$(requests '\.deb')" -eq "$debs"
        run lock "$T/images/t.json" --fetch --cache="$T/fetched"
        check "… and once is enough" bash -c "test $rc -eq 0 -a $(wc -l <"$LOG") -eq $debs && grep -q '^Fetched 0 downloads, 0 B; $debs, .* were there already$' '$T/out'"
        rc=0
        unshare -n "$IMGBUILD" build "$T/images/t.json" --locked --offline --cache="$T/fetched" --progress=plain >"$T/out" 2>&1 || rc=$?
        check "… and a build with --locked --offline begins its base" bash -c "test $rc -eq 1 && grep -q '^> base' '$T/out' && ! grep -q 'not in the store' '$T/out'"

        # While somebody else makes the same layer a build waits and says so; Ctrl-C ends that at once.
        digest=$("$IMGBUILD" plan "$T/images/t.json" --offline --cache="$T/fetched" --json 2>>"$T/err" | python3 -c 'import json,sys; print(json.load(sys.stdin)["stages"][0]["digest"])')
        : >"$T/out"
        exec 9>"$T/fetched/locks/${digest:0:32}"
        flock 9
        env --default-signal=INT "$IMGBUILD" build "$T/images/t.json" --locked --offline --cache="$T/fetched" --progress=plain >"$T/out" 2>&1 9>&- &
        for _ in $(seq 1200); do grep -q 'Waiting for another build' "$T/out" && break; sleep 0.05; done
        begun=${EPOCHREALTIME/./}
        kill -INT $!
        rc=0
        wait $! || rc=$?
        exec 9>&-
        check "Ctrl-C ends a wait for another build: exit code 130, and no scratch" bash -c "test $rc -eq 130 && test $((${EPOCHREALTIME/./} - begun)) -lt 2000000 &&
                test \"\$(grep -c 'Waiting for another build, which makes layer ${digest:0:12}' '$T/out')\" -eq 1 && test -z \"\$(ls -A '$T/fetched/work')\""

        # Cut short, it goes on where it was.
        head -c 3000000 /dev/urandom >"$SITE/big"
        overlay fetch "{ \"description\": \"large\", \"artifacts\": [ { \"name\": \"big\", \"version\": \"1\", \"url\": \"$URL/!halfx1/big\", \"install\": { \"path\": \"/opt/big\" } } ] }"
        tree '"overlays": ["fetch"], '
        run lock "$T/images/t.json"
        rm -rf "$T/fetched/blobs"
        sed -i "s/!halfx1/!half/" "$T/overlays/fetch/overlay.json" "$lock"
        run lock "$T/images/t.json" --fetch --cache="$T/fetched"
        check "lock --fetch from a server that breaks off ends with 4" bash -c "test $rc -eq 4 && grep -q 'what came so far is kept' '$T/out'"
        sed -i "s/!half.//" "$T/overlays/fetch/overlay.json" "$lock"
        run lock "$T/images/t.json" --fetch --cache="$T/fetched"
        check "… and goes on where it was" bash -c "test $rc -eq 0 && grep -qE '/big bytes=[0-9]+- 206' '$LOG' && cmp '$SITE/big' '$T/fetched/blobs/sha256/'*/\"\$(sha256sum <'$SITE/big' | cut -d' ' -f1)\""
        run lock "$T/images/t.json" --fetch --check
        check "lock --fetch --check is neither" bash -c "test $rc -eq 2 && grep -q 'give one of them' '$T/out'"
        run lock "$T/images/t.json" --fetch --offline --cache="$T/none"
        check "lock --fetch --offline names what is missing" bash -c "test $rc -eq 4 && grep -q 'is not in the store' '$T/out'"
else
        echo "skip - a build without a network: no network namespaces here"
fi
