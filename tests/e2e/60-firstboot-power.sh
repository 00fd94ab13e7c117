#!/bin/bash
# The plug is pulled twice in a node's first boot, while LVM writes and at a random moment; each next boot must
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

# A first boot has some seventy lines.
power_cut lvm
power_cut $((1 + RANDOM % 55))
exit $rc
