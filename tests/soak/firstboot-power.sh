#!/bin/bash
# The plug is pulled twenty times (CUTS) at random moments of a node's first boot; each next boot must end ready.
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
for ((cut = 0; cut < ${CUTS:-20}; cut++)); do power_cut $((1 + RANDOM % 60)); done
exit $rc
