#!/bin/bash
# debian-13-cpu under OVMF with four NVMe disks and a root disk larger than the image.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
project
build debian-13-cpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-cpu builds"; exit 1; }
source "$TOP/tests/e2e/guest.bash"

boot_image debian-13-cpu '' || exit 1
seen_in_guest
check "the guest shows four NVMe disks" "$([[ $(fact nvme) == 4 ]]; echo $?)"
exit $rc
