#!/bin/bash
# debian-13-gpu, built by 11-gpu-build.sh, booted where there is no GPU to drive.
#
# lane: machine
# after: e2e/11 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/guest.bash"
project
build debian-13-gpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-gpu builds"; exit 1; } # nothing to do

# Units that need a GPU may fail where there is none, and the gpu step must.
boot_image debian-13-gpu 'nvidia-* firstboot@gpu.service' || exit 1
seen_in_guest
check "modinfo's version is the manifest's" "$([[ $(fact nvidia) == "$(manifest debian-13-gpu versions.driver)" ]]; echo $?)"
check "the module is built for the running kernel" "$([[ $(fact vermagic) == "$(fact kernel)" ]]; echo $?)"
check "nouveau is not loaded" "$([[ $(fact nouveau) == 0 ]]; echo $?)"

exit $rc
