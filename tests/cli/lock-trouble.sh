#!/bin/bash
# imgbuild lock when things go wrong under it: mirrors, signals, disks, bad lock files.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
recipe r '"packages": ["tool"]'
lock=$T/images/r.lock.json

# at MIRROR-PATH TIMEOUT
at() {
        rc=0
        timeout -k 5 "$2" "$IMGBUILD" lock "$T/images/r.json" --cache="$T/cache" --progress=plain --mirror="$URL/$1" \
                >"$T/out" 2>&1 || rc=$?
}
at nothing/debian 60
check "a mirror without the release: exit code 4, told with the URL" bash -c "test $rc -eq 4 && grep -q '$URL/nothing/debian' '$T/out' && grep -q 'check network' '$T/out'"
at '!403/debian' 60
check "a mirror that answers 403" bash -c "test $rc -eq 4 && grep -q 403 '$T/out'"
mv "$SITE/debian-security" "$SITE/moved"
at debian 60
check "no security archive: refused, not left out" bash -c "test $rc -eq 4 && grep -q 'trixie-security' '$T/out'"
mv "$SITE/moved" "$SITE/debian-security"
at '!500x2/debian' 120
check "a mirror that recovers in time" test $rc -eq 0
rm "$lock"
cp "$SITE/debian/dists/trixie/main/binary-amd64/Packages" "$T/Packages"
head -c 700 "$T/Packages" >"$SITE/debian/dists/trixie/main/binary-amd64/Packages"
at debian 60
check "half an index is refused" bash -c "test $rc -eq 4 -a ! -e '$lock'"
cp "$T/Packages" "$SITE/debian/dists/trixie/main/binary-amd64/Packages"

# Signals while apt waits for a mirror that never answers.
for signal in INT TERM KILL; do
        "$IMGBUILD" lock "$T/images/r.json" --cache="$T/cache" --mirror="$URL/!hang/debian" >"$T/out" 2>&1 &
        pid=$!
        for _ in $(seq 2400); do grep -q '!hang' "$LOG" && break; sleep 0.05; done
        start=$SECONDS
        kill -$signal $pid
        wait $pid 2>/dev/null
        rc=$?
        [[ $signal == KILL ]] || check "SIG$signal ends it with 130, at once" test $rc -eq 130 -a $((SECONDS - start)) -le 3
        [[ $signal == KILL ]] || check "and says so" grep -q 'error: Interrupted' "$T/out"
        sleep 0.3
        check "no apt is left after SIG$signal" bash -c "! grep -lz 'APT_CONFIG=$T/cache' /proc/[0-9]*/environ 2>/dev/null | grep -q ."
        check "no lock is left after SIG$signal" test ! -e "$lock"
        : >"$LOG"
done
run lock "$T/images/r.json"
check "the next run works, and sweeps what was left" bash -c "test $rc -eq 0 -a -z \"\$(ls -A '$T/cache/work')\""

# Two at once.
rm "$lock"
cp "$T/images/r.json" "$T/images/q.json"
sed -i 's/"r"/"q"/' "$T/images/q.json"
for name in r q r; do "$IMGBUILD" lock "$T/images/$name.json" --cache="$T/cache" --mirror="$URL/debian" >"$T/out.$name" 2>&1 & done
rc=0
for job in $(jobs -p); do [[ $job == "$SERVER" ]] || wait "$job" || rc=1; done
check "several at once, also of one recipe, do not disturb each other" test $rc -eq 0 -a -e "$lock" -a -e "$T/images/q.lock.json"

# A store without room: for indexes, then for the lock itself.
if mkdir "$T/small" && mount -t tmpfs -o size=200k none "$T/small" 2>/dev/null; then
        rm "$lock"
        rc=0
        "$IMGBUILD" lock "$T/images/r.json" --cache="$T/small/store" --mirror="$URL/debian" >"$T/out" 2>&1 || rc=$?
        check "no room for indexes: exit code 5, told" bash -c "test $rc -eq 5 && grep -q 'No space left' '$T/out' && test ! -e '$lock'"
        rm -rf "$T/small/store"
        cp -r "$T/images" "$T/small/"
        head -c 300000 /dev/zero >"$T/small/fill" 2>/dev/null
        rc=0
        "$IMGBUILD" lock "$T/small/images/r.json" --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1 || rc=$?
        check "no room for the lock: exit code 5, told, no half file" bash -c "test $rc -eq 5 && grep -q 'cannot write the lock' '$T/out' && test ! -e '$T/small/images/r.lock.json'"
        umount "$T/small"
else
        echo "skip - no room: mounting a tmpfs (needs root)"
fi

# Lock files that are none.
bad() {
        run lock "$T/images/r.json"
        check "$1: exit code 3, told" bash -c "test $rc -eq 3 && grep -q '$2' '$T/out'"
}
run lock "$T/images/r.json"
cp "$lock" "$T/good"
: >"$lock"
bad "an empty lock" 'the file is empty'
head -c 1000 "$T/good" >"$lock"
bad "half a lock" 'r.lock.json:[0-9]*:[0-9]*: '
sed 's/"version": "2.41-1"/"version": "2.41 1"/' "$T/good" >"$lock"
bad "a version that is none" 'stages\[0\].packages\[[0-9]\]: "version" must be'
truncate -s 100M "$lock"
bad "a lock of 100 MB" 'larger than the 16 MiB'
rm "$lock"
mkdir "$lock"
run lock "$T/images/r.json"
check "a folder in its place" bash -c "test $rc -ne 0 && grep -q 'r.lock.json' '$T/out'"

# A host whose clock is behind: what the mirror has is from tomorrow.
rm -rf "$lock"
publish trixie --date="$(LC_ALL=C date -Ru -d '+1 day')"
at debian 60
check "a clock that is behind is told as that" bash -c "test $rc -eq 4 -a ! -e '$lock' && grep -q \"are newer than this host's clock, which is behind: set it\" '$T/out'"
