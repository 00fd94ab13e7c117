#!/bin/bash
# The disk of 15-disk.sh that is another in everything: an XFS root, booted by BIOS. 20-cpu-boot.sh boots ext4 by UEFI.
#
# lane: machine
# after: e2e/15-disk cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
own_project
disk_xfs
build disk-xfs >"$E2E/log" 2>&1 || { tail -n 40 "$E2E/log"; echo "not ok - disk-xfs builds"; exit 1; } # nothing to do after 15-disk

# From the project, whose lock of the tools tree is the one that the image was made with.
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/disk-xfs/disk-xfs.qcow2" --firmware bios --disk-size 20G --cache "$CACHE" --progress plain --until multi-user \
        --timeout 900 --save "$E2E/disk-xfs.boot" -- df -B1 --output=fstype,size /) >"$E2E/xfs.df" 2>"$E2E/log"
s=$?
check "the XFS disk boots by BIOS" $s
[[ $s -eq 0 ]] || tail -n 40 "$E2E/log" "$E2E/disk-xfs.boot/console.log"
read -r type size < <(tail -n 1 "$E2E/xfs.df")
[[ $type == xfs && $size -gt $((18 << 30)) ]]
check "its root has grown to the volume" $?
exit $rc
