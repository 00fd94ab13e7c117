#!/bin/bash
# imgbuild boot: wrong command lines and wrong images are refused before anything is built or started.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; cat out 2>/dev/null; rc=1; fi; }

# refuse NAME CODE TEXT ARGUMENT…: exit code and message.
refuse() {
        local name=$1 code=$2 text=$3 status
        shift 3
        timeout 180 "$IMGBUILD" boot --cache "$work/cache" "$@" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $code ]] && grep -qF -e "$text" out && [[ ! -e $work/cache/layers ]]
        check "$name" $?
}

truncate -s 1M zeros.raw
: >empty.qcow2
mkdir folder
echo 'hello, this is no disk' >text.img
gzip -k text.img
echo x >user-data
truncate -s 4M fs.raw && mke2fs -q fs.raw
[[ -s fs.raw ]] || { echo "skip - boot: mke2fs is missing"; exit 77; }

refuse "no image" 2 "Which image?"
refuse "two images" 2 "One image at a time" fs.raw zeros.raw
refuse "missing image" 3 "There is no image nowhere.qcow2" nowhere.qcow2
refuse "folder" 3 "is a folder" folder
refuse "empty file" 3 "is empty" empty.qcow2
refuse "text file" 3 "is not a disk image" text.img
refuse "zeros" 3 "is not a disk image" zeros.raw
refuse "compressed image" 3 "compressed (gzip)" text.img.gz
refuse "device that is no disk" 3 "is not a disk image" /dev/null
refuse "unknown option" 2 "--colour" --colour fs.raw
refuse "bad --nvme" 2 "from 1 to 16" fs.raw --nvme 17
refuse "bad --nvme size" 2 "at least 1M" fs.raw --nvme size=nothing
refuse "unknown --nvme key" 2 "known are" fs.raw --nvme bus=3
refuse "same serial twice" 2 "same serial" fs.raw --nvme serial=A --nvme serial=A
refuse "bad --memory" 2 "at least 64M" fs.raw --memory 12
refuse "bad --cpus" 2 "a number from 1" fs.raw --cpus 0
refuse "bad --disk-size" 2 "such as 20G" fs.raw --disk-size big
refuse "bad --firmware" 2 "uefi, bios" fs.raw --firmware coreboot
refuse "bad --root-disk" 2 "virtio, nvme" fs.raw --root-disk ide
refuse "bad --accel" 2 "auto, kvm, tcg" fs.raw --accel hvf
refuse "bad --forward" 2 "HOST-PORT:GUEST-PORT" fs.raw --forward 22
refuse "bad --link" 2 "such as lab=10.1.0.1/24" fs.raw --link lab=10.1.0.1
refuse "one link twice" 2 "one card on each link" fs.raw --link lab --link lab
refuse "a link's address without a seed" 2 "not with --no-seed" fs.raw --link lab=10.1.0.1/24 --no-seed
refuse "bad --hostname" 2 "such as node1" fs.raw --hostname -a
refuse "a host name beside meta-data" 2 "not with --meta-data" fs.raw --hostname a --meta-data user-data
refuse "bad --load-credential" 2 "NAME:FILE" fs.raw --load-credential name
refuse "missing credential" 2 "Cannot read the credential nothing.txt" fs.raw --load-credential a.b:nothing.txt
refuse "bad --timeout" 2 "a number from 1" fs.raw --timeout -3
refuse "bad --until" 2 "--until=(" fs.raw --until '('
refuse "missing user-data" 2 "Cannot read nothing.yaml" fs.raw --user-data nothing.yaml
refuse "seed without a seed" 2 "--no-seed" fs.raw --no-seed --user-data user-data
refuse "--strict without a journal" 2 "not with --no-journal" fs.raw --strict --no-journal
refuse "a shell without a terminal" 2 "--on-error=shell wants a terminal" fs.raw --on-error=shell
refuse "--on-error=nonsense" 2 "shell or end" fs.raw --on-error=nonsense
refuse "missing ssh key" 2 "Cannot read the ssh key" fs.raw --ssh-key nothing.pub
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----\n' >id
refuse "private ssh key" 2 "is a private key" fs.raw --ssh-key id
refuse "ssh key that is none" 2 "no public ssh key" fs.raw --ssh-key user-data

"$IMGBUILD" boot --help >out 2>&1 && grep -q -e --until out
check "help" $?
exit $rc
