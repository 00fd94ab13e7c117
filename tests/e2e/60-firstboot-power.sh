#!/bin/bash
# The plug is pulled three times at random moments of a node's first boot; each next boot must end ready. make soak does it
# twenty times.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/power.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        project
        build debian-13-cpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-cpu builds"; exit 1; }
        head_build || { echo "not ok - the head node's tree builds"; exit 1; }
fi
head_enter "$@"
trap vm_end EXIT
head_make && head_start "${HEAD_SERVICES[@]}"
check "the head node runs" $?

# A first boot has some seventy lines: one cut early, one while disks are made and mounted, one late.
for from in 1 15 35; do power_cut $((from + RANDOM % 20)); done
exit $rc
