#!/bin/bash
# Downloads: retried, resumed, verified; what is told when they fail. Artifacts are what is fetched here.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
head -c 3000000 /dev/urandom >"$SITE/file"
sha=$(sha256sum "$SITE/file" | cut -d' ' -f1)
blob() { echo "$T/cache/blobs/sha256/${1:0:2}/$1"; }

# artifact PATH [SHA256]   a recipe with one artifact, not locked, not in the store
artifact() {
        overlay thing "{ \"description\": \"x\", \"artifacts\": [ { \"name\": \"thing\", \"version\": \"1\", \"url\": \"$1\",
                ${2:+\"sha256\": \"$2\",} \"install\": { \"path\": \"/opt/thing\", \"mode\": \"0755\" } } ] }"
        recipe a '"overlays": ["thing"]'
        rm -f "$T/images/a.lock.json" "$(blob "$sha")"
        : >"$LOG"
}
fetch() {
        artifact "$@"
        run lock "$T/images/a.json"
}
stored() { [[ $rc -eq 0 ]] && cmp "$SITE/file" "$(blob "$sha")"; }
no_partial() { [[ -z $(ls -A "$T/cache/blobs/partial") ]]; }

fetch "$URL/file" "$sha"
check "a file with a pinned digest is stored" stored
check "no partial file is left" no_partial
check "the lock has url, digest and size" grep -qF "\"url\": \"$URL/file\", \"size\": 3000000, \"sha256\": \"$sha\"" "$T/images/a.lock.json"

fetch "$URL/file"
check "a file without one is locked as it comes" bash -c "$(declare -f stored blob); rc=$rc SITE=$SITE T=$T sha=$sha; stored && grep -q $sha $T/images/a.lock.json"
check "that it came over plain http is told" says "Add \"sha256\": \"$sha\""
: >"$LOG"
run lock "$T/images/a.json"
check "what is locked is not downloaded again" test $rc -eq 0 -a ! -s "$LOG"

overlay thing "{ \"description\": \"x\", \"compile\": [ { \"script\": \"build.sh\", \"artifacts\": [
        { \"name\": \"thing\", \"version\": \"1\", \"url\": \"$URL/file\", \"sha256\": \"$sha\" } ] } ] }"
printf '#!/bin/sh\n' >"$T/overlays/thing/build.sh" && chmod 0755 "$T/overlays/thing/build.sh"
rm "$T/images/a.lock.json" "$(blob "$sha")"
run lock "$T/images/a.json"
check "a source archive of a compile stage is locked and stored as any artifact" eval 'stored && grep -qF "\"overlay\": \"thing\", \"name\": \"thing\", \"version\": \"1\"" "$T/images/a.lock.json"'
sed -i "s/$sha/$(printf '%064d' 0)/" "$T/overlays/thing/overlay.json"
run lock "$T/images/a.json"
check "one with another digest is refused" test $rc -eq 4

fetch "$URL/!500x2/file" "$sha"
check "a server error is retried" stored
fetch "$URL/!busyx1/file" "$sha"
check "503 with Retry-After is retried" stored
fetch "$URL/!redirect/file" "$sha"
check "a redirect is followed" stored

fetch "$URL/!halfx1/file" "$sha"
check "half a file is completed" stored
check "… by asking for the rest" grep -q 'bytes=[1-9]' "$LOG"
fetch "$URL/!norange/!halfx1/file" "$sha"
check "half a file is fetched anew from a server without ranges" stored
fetch "$URL/!a/!halfx1/file"
check "half a file of unknown digest goes on when its tag is the same" stored
check "… by asking for the rest" grep -q 'bytes=[1-9]' "$LOG"
fetch "$URL/!notag/!halfx1/file"
check "half a file of unknown digest and without a tag starts over" stored
check "… whole" bash -c "test $(requests 'file - 200') -eq 2"
fetch "$URL/!hangx1/file" "$sha"
check "a server that hangs is left and asked again" stored
fetch "$URL/!dripx1/file" "$sha"
check "a server that only drips is left and asked again" stored
fetch "file://$SITE/file" "$sha"
check "file: URLs work" stored

# What an earlier run left.
artifact "$URL/file" "$sha"
head -c 2000000 "$SITE/file" >"$T/cache/blobs/partial/$sha"
run lock "$T/images/a.json"
check "an interrupted download goes on in the next run" stored
check "… where it had stopped" grep -q 'bytes=2000000-' "$LOG"
artifact "$URL/file" "$sha"
head -c 2000000 /dev/urandom >"$T/cache/blobs/partial/$sha"
run lock "$T/images/a.json"
check "a partial file that is garbage is fetched anew" stored
artifact "$URL/file" "$sha"
cp "$SITE/file" "$T/cache/blobs/partial/$sha"
run lock "$T/images/a.json"
check "a partial file that is whole is taken" stored
artifact "$URL/file" "$sha"
{ cat "$SITE/file"; echo more; } >"$T/cache/blobs/partial/$sha"
run lock "$T/images/a.json"
check "a partial file that is too long is fetched anew" stored

# A local file that is broken off goes on: what lies before the break is another one's by now.
cp "$SITE/file" "$T/local"
artifact "file://$T/local" "$sha"
head -c 2000000 "$SITE/file" >"$T/cache/blobs/partial/$sha"
dd if=/dev/urandom of="$T/local" bs=1000000 count=1 conv=notrunc status=none
run lock "$T/images/a.json"
check "a broken download of a file: URL goes on where it had stopped" stored
cp "$SITE/file" "$T/local"
artifact "file://$T/local" "$sha"
head -c 2000000 /dev/urandom >"$T/cache/blobs/partial/$sha"
run lock "$T/images/a.json"
check "… and is fetched anew where that was garbage" stored

touch -d '8 days ago' "$T/cache/blobs/partial/old"
touch -d '6 days ago' "$T/cache/blobs/partial/young"
fetch "$URL/file" "$sha"
check "what nobody went on with for a week is removed" test ! -e "$T/cache/blobs/partial/old" -a -e "$T/cache/blobs/partial/young"
rm "$T/cache/blobs/partial/young"

# kill -9 and Ctrl-C in the middle. The server drips, so they come in time.
for signal in KILL INT TERM; do
        artifact "$URL/!$signal/!dripx1/file" "$sha"
        IMGBUILD_FETCH_STALL_SECONDS=30 "$IMGBUILD" lock "$T/images/a.json" --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1 &
        pid=$!
        for _ in $(seq 2400); do [[ -s $T/cache/blobs/partial/$sha ]] && break; sleep 0.05; done
        kill -$signal $pid
        wait $pid 2>/dev/null
        rc=$?
        [[ $signal == KILL ]] || check "SIG$signal ends it with 130" test $rc -eq 130
        check "no lock file after SIG$signal" test ! -e "$T/images/a.lock.json"
        run lock "$T/images/a.json"
        check "the next run after SIG$signal works" stored
        check "… and goes on" grep -q 'bytes=[1-9]' "$LOG"
done

# Failures: exit code 4, one message that names what, where, why and what to do; nothing left behind.
fails() {
        local name=$1 text=$2
        shift 2
        fetch "$@"
        check "$name: exit code 4" test $rc -eq 4
        check "$name: told" grep -q "artifact thing 1 (overlay thing).*$text" "$T/out"
        check "$name: told once" test "$(grep -c 'artifact thing' "$T/out")" -eq 1
        check "$name: no lock, no blob" test ! -e "$T/images/a.lock.json" -a ! -e "$(blob "$sha")"
}
fails "404" "the server answered 404.*Correct its URL (and version) in .*overlays/thing/overlay.json" "$URL/nothing" "$sha"
check "404 is final" test "$(requests nothing)" -eq 1
fails "403" "the server answered 403" "$URL/!403/file" "$sha"
fails "500 without end" "the server answered 500.*Try again later" "$URL/!500/file" "$sha"
check "500 is tried five times" test "$(requests '!500')" -eq 5
fails "another content" "not what was locked.*its sha256 is [0-9a-f]*, not $sha" "$URL/!wrong/file" "$sha"
check "another content is final" test "$(requests '!wrong')" -eq 1
check "nothing of it is kept" no_partial
fails "half without end" "tries" "$URL/!norange/!half/file" "$sha"
fails "nobody there" "tries. Check network and proxy, or correct its url in .*overlays/thing/overlay.json;" "http://127.0.0.1:1/file" "$sha"
check "nobody there: no mirror is advised for it" bash -c "! grep -q -- --mirror '$T/out'"
fails "a host that does not exist" "Could not resolve" "http://nowhere.invalid/file" "$sha"
fails "a missing file: URL" "no such file" "file://$SITE/nothing" "$sha"
rm -f "$T/cache/blobs/partial"/*

run lock "$T/images/a.json" --offline
check "offline: told, exit code 4" bash -c "test $rc -eq 4 && grep -q 'with --offline' '$T/out'"

# A proxy of the host's apt configuration is used.
fetch "$URL/file" "$sha"
cp "$SITE/file" "$SITE/again"
echo another >>"$SITE/again"
overlay thing "$(sed "s|/file|/again|; s|$sha|$(sha256sum "$SITE/again" | cut -d' ' -f1)|" "$T/overlays/thing/overlay.json")"
: >"$LOG"
echo 'Acquire::http::Proxy "http://127.0.0.1:1";' >>"$APT_CONFIG"
no_proxy='' run lock "$T/images/a.json"
check "the proxy that apt is set to is used" bash -c "test $rc -eq 4 -a ! -s '$LOG'"
echo 'Acquire::http::Proxy::127.0.0.1 "DIRECT";' >>"$APT_CONFIG"
no_proxy='' run lock "$T/images/a.json"
check "… but for hosts that apt is to ask directly" bash -c "test $rc -eq 0 && grep -q again '$LOG'"
sed -i '/Proxy/d' "$APT_CONFIG"

# A full disk: a store of 8 MB, the packages' indexes fit, the file does not.
if mkdir "$T/small" && mount -t tmpfs -o size=8m none "$T/small" 2>/dev/null; then
        head -c 12000000 /dev/zero >"$SITE/large"
        artifact "$URL/large"
        rc=0
        "$IMGBUILD" lock "$T/images/a.json" --cache="$T/small/store" --mirror="$URL/debian" >"$T/out" 2>&1 || rc=$?
        check "a full disk: exit code 5, told with what to do" bash -c "test $rc -eq 5 && grep -q 'No space left in the store.*cache prune' '$T/out'"
        check "a full disk: no lock file" test ! -e "$T/images/a.lock.json"
        room() { [[ $(df --output=avail -B1 "$T/small" | tail -n 1) -gt 5000000 ]]; }
        check "a full disk: nothing stays of what could not be gone on with" room
        # Of one whose digest is known the next run would go on; on a disk that is full of it, 'cache prune' makes room, as the message says.
        artifact "$URL/large" "$(sha256sum "$SITE/large" | cut -d' ' -f1)"
        "$IMGBUILD" lock "$T/images/a.json" --cache="$T/small/store" --mirror="$URL/debian" >"$T/out" 2>&1
        check "a full disk: what came of a known one stays" bash -c "test -n \"\$(find '$T/small/store/blobs/partial' -size +1000k)\""
        "$IMGBUILD" cache prune --max-size 1M --cache="$T/small/store" --dry-run >"$T/out" 2>&1
        check "a full disk: cache prune --dry-run counts it, and takes nothing" bash -c "grep -qE 'Would free [678]' '$T/out' && test -n \"\$(find '$T/small/store/blobs/partial' -size +1000k)\""
        "$IMGBUILD" cache prune --max-size 1M --cache="$T/small/store" >"$T/out" 2>&1
        check "a full disk: cache prune makes room" room
        run lock "$T/images/a.json"
        : >"$LOG"
        rc=0
        "$IMGBUILD" lock "$T/images/a.json" --fetch --cache="$T/small/store" --mirror="$URL/debian" >"$T/out" 2>&1 || rc=$?
        check "what cannot fit is not begun: exit code 5, told how much room it needs" bash -c "test $rc -eq 5 && ! grep -q large '$LOG' && grep -qE 'downloads have 11.4 MiB more.* has [0-9.]+ MiB free' '$T/out'"
        umount "$T/small"
else
        echo "skip - a full disk: mounting a tmpfs (needs root)"
fi

# Two at once download one thing once.
artifact "$URL/!dripx1/file" "$sha"
head -c 60000 /dev/urandom >"$SITE/short"
short=$(sha256sum "$SITE/short" | cut -d' ' -f1)
overlay thing "{ \"description\": \"x\", \"artifacts\": [ { \"name\": \"thing\", \"version\": \"1\", \"url\": \"$URL/short\",
        \"sha256\": \"$short\", \"install\": { \"path\": \"/opt/thing\", \"mode\": \"0755\" } } ] }"
cp "$T/images/a.json" "$T/images/b.json"
sed -i 's/"a"/"b"/' "$T/images/b.json"
"$IMGBUILD" lock "$T/images/a.json" --cache="$T/cache" --mirror="$URL/debian" >"$T/out.a" 2>&1 & a=$!
"$IMGBUILD" lock "$T/images/b.json" --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1 & b=$!
wait $a; ra=$?
wait $b; rb=$?
check "two runs at once both end well" test $ra -eq 0 -a $rb -eq 0
check "… and one store has it" cmp "$SITE/short" "$(blob "$short")"
