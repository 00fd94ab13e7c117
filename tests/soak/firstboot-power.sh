#!/bin/bash
# The plug is pulled twenty times (CUTS) at random moments of a node's first boot; each next boot must end ready.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/power.bash"
vm_suite "$@"
head_make && head_start "${HEAD_SERVICES[@]}"
check "the head node runs" $?
for ((cut = 0; cut < ${CUTS:-20}; cut++)); do
        power_cut $((1 + RANDOM % 60))
        [[ $((cut % 4)) -ne 3 ]] || power_cut lvm
done
exit $rc
