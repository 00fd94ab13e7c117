#!/bin/bash
# imgbuild export --delta and apply, of small raw disks: the new one comes again, and what is refused leaves nothing. Hostile deltas are in
# unit/builder/disk/test-delta, images of a build in e2e/15-disk.
set -u
rc=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "${work:?}"' EXIT
cd "$work" || exit 1
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; sed 's/^/# /' out 2>/dev/null; fi; }
# ends CODE ARGUMENT…: as it should.
ends() {
        local want=$1 status
        shift
        timeout 120 "$IMGBUILD" "$@" --cache "$work/cache" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $want ]] || { echo "# imgbuild $*: exit code $status, expected $want" >>out; return 1; }
}
# Nothing but what was there, as a draft would be.
nothing_new() { [[ $(ls -A | tr '\n' ' ') == "$there" ]]; }

truncate -s 8M old.raw
printf 'label: gpt\nlabel-id: 11111111-1111-1111-1111-111111111111\nstart=2048, size=2048\n' | sfdisk -q old.raw
head -c 2000000 /dev/urandom | dd of=old.raw bs=4096 seek=100 conv=notrunc status=none
cp old.raw new.raw
printf 'label: gpt\nlabel-id: 22222222-2222-2222-2222-222222222222\nstart=2048, size=2048\n' | sfdisk -q new.raw
dd if=old.raw of=new.raw bs=4096 skip=300 seek=310 count=200 conv=notrunc status=none
printf 'one word' | dd of=new.raw bs=1 seek=500000 conv=notrunc status=none
cp old.raw booted.raw
printf x | dd of=booted.raw bs=1 seek=8000000 conv=notrunc status=none

ends 0 export new.raw --delta=old.raw && grep -q "imgbuild apply new.raw.delta old.raw" out && [[ $(stat -c %s new.raw.delta) -lt 60000 ]]
check "a delta lies beside the new image, is small, and says how it is applied" $?
head -n 2 new.raw.delta | tail -n 1 | grep -qF "\"file\": \"$(sha256sum <new.raw | cut -d' ' -f1)\""
check "its second line names the new image by SHA-256" $?
mkdir -p sub && ends 0 apply new.raw.delta old.raw --raw -o sub/new.raw && cmp -s new.raw sub/new.raw
check "the new image comes again" $?
cp new.raw.delta sub/second.raw.delta && ends 0 apply sub/second.raw.delta old.raw --raw && cmp -s new.raw sub/second.raw
check "beside the delta, under its name" $?
cp new.raw.delta sub/third.qcow2.delta && ends 0 apply sub/third.qcow2.delta old.raw --raw && cmp -s new.raw sub/third.raw
check "raw is named raw" $?
rm -rf sub out
: >out
there=$(ls -A | tr '\n' ' ')

ends 3 apply new.raw.delta new.raw --raw -o x && grep -q 'of another build' out && nothing_new
check "another build's image is refused" $?
ends 3 apply new.raw.delta booted.raw --raw -o x && grep -q 'booted and changed' out && nothing_new
check "an image that was booted is refused" $?
head -c -1 new.raw.delta >part && there=$(ls -A | tr '\n' ' ') && ends 3 apply part old.raw --raw -o x && grep -q 'damaged, or not whole: fetch it again' out && nothing_new
check "a delta that is cut is refused" $?
ends 3 apply old.raw new.raw --raw -o x && grep -q 'is no delta' out && nothing_new
check "an image in the delta's place is refused" $?
ends 2 apply part old.raw --raw && grep -q 'name the new image with --output' out
check "a delta of another name wants --output" $?
cp new.raw before.raw && ends 1 apply new.raw.delta old.raw --raw && grep -q 'new.raw exists' out && ends 0 apply new.raw.delta old.raw --raw --force && cmp -s new.raw before.raw
check "what exists is replaced by --force alone" $?
ends 2 apply new.raw.delta old.raw --raw --force -o old.raw && grep -q 'is the old image' out && ln -s old.raw link && ends 2 apply new.raw.delta old.raw --raw --force -o link && [[ -L link ]]
check "the old image is not written over, nor by a link to it" $?
ends 1 apply new.raw.delta old.raw --raw -o missing/x
check "a folder that is not there ends with 1" $?
mkdir small
if [[ $EUID -eq 0 ]] && mount -t tmpfs -o size=1500k none small 2>/dev/null; then
        trap 'umount "$work/small"; rm -rf "${work:?}"' EXIT
        ends 5 apply new.raw.delta old.raw --raw -o small/x && grep -qE 'No space for the new disk: .* has 1.5 MiB free and about 3[0-9].* MiB are needed' out && [[ -z $(ls -A small) ]]
        check "where there is no room, how much there is and how much it takes is told before anything is written" $?
        head -c 4000000 /dev/urandom | dd of=booted.raw bs=4096 seek=600 conv=notrunc status=none
        ends 5 export booted.raw --delta=old.raw -o small/x && grep -qE 'small: cannot write what changed .*, which takes up to (3.[89]|4.*) MiB: No space left' out && [[ -z $(ls -A small) ]]
        check "… and of a delta when it is full" $?
        umount small
        trap 'rm -rf "${work:?}"' EXIT
else
        echo "skip - a full disk: root, and a file system of its own"
fi
chmod 640 old.raw && ends 0 apply new.raw.delta old.raw --raw -o kept && [[ $(stat -c %a kept) == 640 ]]
check "the new image is as readable as the old one" $?
exit $rc
