#!/bin/bash
# base.image: what is refused before anything is opened. Images are what QEMU itself writes; what is in one is tests/e2e/19-import.sh's.
set -u
command -v qemu-img >/dev/null || { echo "qemu-img is missing"; exit 77; }
T=$(mktemp -d "${TMPDIR:-/tmp}/imgbuild-test.XXXXXX")
trap 'rm -rf "$T"' EXIT
mkdir "$T/images"
cd "$T" || exit 1
failed=0 options=()

# refused NAME CODE PATTERN BASE: a recipe with that base ends so, with one message, no lock, nothing of a secret
refused() {
        local rc
        echo "{ \"name\": \"x\", \"kind\": \"tree\", \"base\": { $4 } }" >images/x.json
        "$IMGBUILD" lock images/x.json --cache "$T/cache" --progress none "${options[@]}" >out 2>&1
        rc=$?
        if [[ $rc -eq $2 && $(wc -l <out) -le ${lines:-1} && ! -e images/x.lock.json ]] && grep -qE -- "$3" out && ! grep -q canary out && ! compgen -G "$T/cache/work/*" >/dev/null; then
                echo "ok - $1"
        else
                echo "not ok - $1"
                echo "# exit code $rc for $2"
                sed 's/^/#   /' out
                failed=1
        fi
}
image() { echo "\"image\": \"../$1\""; }
quiet() { "$@" >/dev/null 2>&1 || { echo "not ok - $*"; failed=1; }; }

printf 'canary %s\n' {1..20000} >secret
quiet qemu-img create -f qcow2 plain.qcow2 16M
quiet qemu-io -f qcow2 -c 'write -P 7 0 8M' plain.qcow2
sum=$(sha256sum <plain.qcow2 | cut -d' ' -f1)

refused "a missing image is named" 3 'x.json: \$.base.image: cannot read .*/nowhere.qcow2: No such file' "$(image nowhere.qcow2)"
refused "a folder is no image" 3 'images is not a file' '"image": "../images"'
refused "another content than the recipe says is refused, with both digests" 4 "sha256 $sum, the recipe says 0{64}" "$(image plain.qcow2), \"sha256\": \"$(printf '0%.0s' {1..64})\""
echo text >text.img
refused "a text is no image" 3 'text.img is not a disk image' "$(image text.img)"
gzip -k plain.qcow2
refused "a packed one is to be unpacked" 3 'is compressed \(gzip\)' "$(image plain.qcow2.gz)"

quiet qemu-img create -f qcow2 -b "$T/secret" -F raw backed.qcow2
refused "a qcow2 with a backing file of the host is refused" 3 'has a backing file' "$(image backed.qcow2)"
cp backed.qcow2 disguised.raw
refused "whatever it is called" 3 'has a backing file' "$(image disguised.raw)"
quiet qemu-img create -f qcow2 -b 'json:{"driver":"raw","file":{"driver":"file","filename":"/etc/shadow"}}' -F raw -u json.qcow2 16M
refused "or names it in JSON" 3 'has a backing file' "$(image json.qcow2)"
cp secret data.raw
quiet qemu-img create -f qcow2 -o data_file=data.raw,data_file_raw=on outside.qcow2 16M
refused "a qcow2 whose data is in another file is refused" 3 'keeps its data in another file' "$(image outside.qcow2)"
cp plain.qcow2 luks.qcow2
printf '\2' | dd of=luks.qcow2 bs=1 seek=35 conv=notrunc status=none
refused "an encrypted qcow2 is refused" 3 'is encrypted' "$(image luks.qcow2)"
printf '# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType="monolithicFlat"\nRW 1024 FLAT "secret" 0\n' >flat.vmdk
refused "a VMDK that is a list of other files is refused" 3 'VMDK of several files' "$(image flat.vmdk)"
quiet qemu-img create -f vmdk parent.vmdk 16M
quiet qemu-img create -f vmdk -b "$T/parent.vmdk" -F vmdk child.vmdk
refused "a VMDK with a parent is refused" 3 'difference to another VMDK' "$(image child.vmdk)"

head -c 5000000 plain.qcow2 >cut.qcow2
refused "a qcow2 that was cut off is told" 4 'is damaged or was cut off: get it again' "$(image cut.qcow2)"
cp plain.qcow2 broken.qcow2
printf '\377%.0s' {1..64} | dd of=broken.qcow2 bs=1 seek=$((4 * 65536)) conv=notrunc status=none
refused "and one with damaged tables" 4 'is damaged or was cut off' "$(image broken.qcow2)"

options=(--offline) lines=2
refused "offline, a URL that the store lacks is told" 4 'with --offline nothing is downloaded|offline' '"image": "https://images.invalid/a.qcow2"'
exit $failed
