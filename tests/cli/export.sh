#!/bin/bash
# imgbuild export: what it refuses, before it asks for any tool.
set -u
rc=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# refused NAME STATUS MESSAGE ARGUMENT…
refused() {
        local name=$1 want=$2 message=$3 out status
        shift 3
        out=$(timeout 120 "$IMGBUILD" export "$@" --cache "$work/cache" 2>&1 >/dev/null)
        status=$?
        if [[ $status -eq $want && $out == *"$message"* ]]; then
                echo "ok - $name"
        else
                echo "not ok - $name"
                echo "# exit code $status, standard error: $out"
                rc=1
        fi
}

truncate -s 1M disk.raw
printf 'label: gpt\nstart=64, size=64\n' | sfdisk -q disk.raw
cp disk.raw other.raw

refused "no image" 2 "takes one image, and --format or --delta" --format=raw
refused "no format" 2 "takes one image, and --format or --delta" disk.raw
refused "two images" 2 "takes one image, and --format or --delta" disk.raw other.raw --format=vhd
refused "a format and a delta" 2 "takes one image, and --format or --delta" disk.raw --format=raw --delta=other.raw
refused "an unknown format is answered with the known ones" 2 "--format=vhdd: one of qcow2, raw, vhd, vmdk, ova, raw.zst, gce, oci, artifact" disk.raw --format=vhdd
refused "a missing image" 3 "There is no image nothing.raw" nothing.raw --format=vhd
mkdir folder
refused "a folder" 3 "folder is a folder" folder --format=vhd
: >empty
refused "an empty file" 3 "empty is empty" empty --format=vhd
echo text >text
refused "a file that is no image" 3 "text is not a disk image" text --format=vhd
refused "an output that exists" 1 "other.raw exists: name another file" disk.raw --format=raw --output=other.raw
refused "the image itself as output" 2 "written over itself" disk.raw --format=raw --force
refused "a folder as output" 2 "is a folder: name a file in it" disk.raw --format=raw --output=folder

refused "a delta over the older image" 2 "written over itself" disk.raw --delta=other.raw --output=other.raw --force
refused "a delta since what is not there" 3 "There is no image nothing.raw" disk.raw --delta=nothing.raw
refused "a delta since what is no image" 3 "text is not a disk image" disk.raw --delta=text

mknod null c 1 3 2>/dev/null || mkfifo null
refused "a device or pipe as output, which the image would replace" 2 "null is no regular file" disk.raw --format=raw --output=null --force
[[ -c null || -p null ]] || { echo "not ok - it is what it was"; rc=1; }

[[ ! -e disk.vhd && ! -e disk.vhd.new && ! -e disk.raw.delta ]] && cmp -s disk.raw other.raw
if [[ $? -eq 0 ]]; then echo "ok - nothing was written"; else echo "not ok - nothing was written"; rc=1; fi
exit $rc
