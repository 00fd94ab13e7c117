#!/bin/bash
# The plug is pulled three times at random moments of a node's first boot; each next boot must end ready. make soak does it
# twenty times.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/power.bash"
vm_suite "$@"
head_make && head_start "${HEAD_SERVICES[@]}"
check "the head node runs" $?

# A first boot has some seventy lines: one cut early, one while disks are made and mounted, one late.
for from in 1 15 35; do power_cut $((from + RANDOM % 20)); done
exit $rc
