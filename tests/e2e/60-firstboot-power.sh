#!/bin/bash
# The plug is pulled three times at random moments of a node's first boot, one of them while LVM writes; each next boot must
# end ready. make soak does it twenty times; cli/firstboot-power cuts at each of LVM's writes.
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
power_cut $((1 + RANDOM % 20))
power_cut lvm
power_cut $((35 + RANDOM % 20))
exit $rc
