#!/bin/bash
# A driver that does not compile for the kernel ends the build with the compiler's first error and the pair of versions in
# one message: NVIDIA's open modules 550.163.01 with Debian 13's kernel, whose pci_resize_resource() changed in 6.12.97.
#
# lane: compute
# after: e2e/11
set -u
source "$TOP/tests/e2e/lib.bash"
own_project

cat >"$RECIPES/open-driver.json" <<'E'
{
        "name": "open-driver",
        "extends": "debian-13-gpu",
        "overlays": ["-nvidia-driver", "nvidia-driver-open"]
}
E
rm -rf "$OUT/open-driver"
build open-driver >"$E2E/build.log" 2>&1
s=$?
if [[ $s -eq 0 ]]; then
        # Debian may have mended one of the two by now: then there is no failing pair to show.
        driver=$(manifest open-driver versions.driver) kernel=$(manifest open-driver kernel)
        echo "skip - a driver that does not compile: $driver compiles for $kernel now"
        exit 0
fi
check "the build fails with exit code 1" "$([[ $s -eq 1 ]]; echo $?)"
line=$(grep -E 'nvidia-open-kernel-source [0-9.]+ with kernel [0-9.]+\+deb13' "$E2E/build.log")
[[ $line == *error:* ]]
check "one message has the compiler's first error and the pair of versions" $?
[[ -n $line ]] && echo "# $line"
log=$(grep -oE '/[^ ]*\.log' "$E2E/build.log" | tail -n 1)
[[ -n $log && -s $log ]] && grep -q 'error:' "$log"
check "the whole log is named and there" $?
[[ ! -e $OUT/open-driver ]]
check "no half-made image" $?
no_leftovers
check "nothing is left mounted or running" $?
exit $rc
