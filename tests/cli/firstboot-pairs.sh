#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two faults at once: the right code, the right exit code, nothing lost. Real agent, real checks and the real nccl and rdma steps on doubles.
#
# Each fault alone is in the script named; what is crossed here, or elsewhere, is below.
#
#   A scratch     firstboot-scratch, e2e/52     B Slurm's drain  unit tests, e2e/45-slurm, firstboot-watch
#   C verdicts    firstboot-verdict             D identity       firstboot-metadata, firstboot-steps, e2e/45-directory
#   E outages     tests/bench, unit/contract    F GPUs, RDMA     firstboot-gpu, -nccl, -rdma, -rdma-traffic, -fabric
#   G watch       firstboot-watch, -check       bad luck         agent killed, bus restarted, disk full, clock back: firstboot-engine, -restart, -check, -watch
#
#   pair                                                     where
#   A + power cut; A + a second disk replaced                e2e/52, soak/firstboot-power
#   A + user data that makes volumes                         firstboot-scratch
#   B + agent killed; B + somebody else's drain              firstboot-watch, e2e/45-slurm
#   C + agent away as the verdict comes                      firstboot-verdict
#   G + bus restarted; G + disk full + agent killed          firstboot-watch
#   G + a job on the node; G + a second finding              firstboot-watch
#   check + agent killed in its middle                       here, 1
#   check + bus restarted in its middle                      here, 2
#   check + both; each of them with a probe that fails       here, 3
#   check + disk full, with and without a probe that fails   here, 4
#   G + clock set back; G + clock set back + agent killed    here, 5
#   F + F: one port slow, another dead; NCCL slow + runtime  here, 6
#   C + disk full                                            here, 7
#   B + disk full; B + clock set back                        here, 4 and 5
#
# lane: clock
set -u
source tests/fixtures/node.bash
trap 'umount "$NODE/var/lib/firstboot" "$NODE/run/firstboot/results" 2>/dev/null; node_end' EXIT
failed=
ctl=$node_build/firstbootctl
clock_back=$(realpath "$BUILD")/tests/fixtures/clock-back.so

tool() { { echo '#!/bin/bash'; cat; } >"$NODE/bin/$1"; chmod +x "$NODE/bin/$1"; }
until_() { local end=$((SECONDS + 120)); while ((SECONDS < end)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; return 1; }
slurm_state() { grep -q "$1" "$NODE/node.state"; }
history_of() { "$ctl" history --json 2>/dev/null | python3 -c 'import json,sys; o=json.load(sys.stdin); o=o.get("entries",o) if isinstance(o,dict) else o; print(eval(sys.argv[1]))' "$1" 2>&1; }

# A node that is ready and in Slurm. Its probe waits, where it is told to, until the file "go" is there: what happens meanwhile is in
# the middle of a check.
fresh() {
        node_end 2>/dev/null
        rm -f "$NODE/back"
        node_new
        mkdir -p "$NODE"/{bin,dev,proc/self,usr/sbin,etc/munge}
        : >"$NODE/proc/self/mounts"; echo '5,0,0,-;Linux version 6.12.0' >"$NODE/dev/kmsg"
        # A bus that is away is asked for nothing: then its process counts.
        mkdir "$NODE/proc/78"; echo slurmd >"$NODE/proc/78/comm"; printf 'Name:\tslurmd\nUid:\t0\t0\t0\t0\n' >"$NODE/proc/78/status"
        touch "$NODE/usr/sbin/slurmd"; chmod +x "$NODE/usr/sbin/slurmd"
        echo "{\"watch\":{\"calm\":\"500ms\",\"interval\":\"1s\",\"healthy\":\"1s\"${1:-}},
                \"slurm\":{\"controllers\":[\"head\"],\"node_name\":\"n1\",\"munge_key\":\"$(head -c 96 /dev/zero | base64 -w0)\",\"give_up\":\"60s\"}}" >"$NODE/etc/firstboot/node.json"
        tool munge <<<'exit 0'
        tool scontrol <<'P'
node=$FIRSTBOOT_ROOT/node.state
case $* in
"show config") echo "Configuration data as of $(date +%Y-%m-%dT%H:%M:%S)" ;;
*"show node n1") read -r s reason <"$node"; echo "NodeName=n1 State=$s Reason=$reason [root@2026-01-01T00:00:00]" ;;
"update NodeName=n1 State=DRAIN "*) echo "IDLE+DRAIN ${4#Reason=}" >"$node" ;;
"update NodeName=n1 State=RESUME "* | "update NodeName=n1 State=UNDRAIN "*) echo 'IDLE ' >"$node" ;;
esac
P
        echo 'IDLE ' >"$NODE/node.state"
        echo "{\"check\":true,\"exec\":[\"$NODE/exec/probe\"]}" >"$NODE/etc/firstboot/steps.d/probe.json"
        cat >"$NODE/exec/probe" <<'P'
#!/bin/bash
[[ -n ${FIRSTBOOT_CHECK:-} ]] || exit 0
[[ -e $FIRSTBOOT_ROOT/hold ]] && { touch "$FIRSTBOOT_ROOT/held"; for _ in {1..600}; do [[ -e $FIRSTBOOT_ROOT/go ]] && break; sleep 0.1; done; }
[[ -e $FIRSTBOOT_ROOT/bad ]] && { echo '{"status":"failed","code":"probe.bad","message":"it is bad"}' >"$FIRSTBOOT_RESULT"; exit 1; }
exit 0
P
        cp "$TOP/firstboot/steps/slurm/slurm.json" "$NODE/usr/lib/firstboot/steps.d/"
        printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH exec %s/firstboot-step slurm\n' "$node_build" >"$NODE/exec/slurm"
        printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH %s check --$1 --probes --json >$FIRSTBOOT_ROOT/run/firstboot/check/$1.json; [ $? -le 1 ]\n' "$ctl" >"$NODE/exec/firstboot-check"
        chmod +x "$NODE"/exec/*
        mkdir -p "$NODE/usr/bin"; ln -s "$ctl" "$NODE/usr/bin/firstbootctl"
        node_boot
        node_wait ready || check "the node gets ready" false
}
NODE=

# middle COMMAND…: a check, and the command in its middle; rc and out are the check's.
middle() {
        rm -f "$NODE"/{go,held}; touch "$NODE/hold"
        PATH=$NODE/bin:$PATH timeout 180 "$ctl" check >"$NODE/out" 2>"$NODE/err" & local looking=$!
        until_ test -e "$NODE/held"
        "$@"
        rm -f "$NODE/hold"; touch "$NODE/go"
        wait "$looking"; rc=$?; out=$(<"$NODE/out")
}
says() { [[ $rc == "$1" && $out == "$2"* && ( -n $2 || -z $out ) ]] || { echo "# $rc: $out | $(<"$NODE/err")"; return 1; }; }
agent_killed() { kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null; }
agent_again() { agent_killed; agent_start; }
# The double of systemd is back before the check goes on; steps that are at it beside the probe may meet no bus at all.
bus_again() {
        kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
        bus_start
        until_ busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" status org.freedesktop.systemd1
}
both_again() { agent_killed; bus_again; agent_start; }

# --- 1 to 3: in the middle of a check --------------------------------------------------------------------------------
fresh ',"enabled":false'
middle agent_killed
check "1: the agent killed in the middle of a check, and gone: 1, nobody watches the node" says 1 'check.no-agent'
agent_start; node_wait ready
middle agent_again
check "1: killed and started again: 0" says 0 ''
middle bus_again
check "2: the bus restarted in the middle of a check: 0" says 0 ''
middle both_again
check "3: both at once: 0" says 0 ''
touch "$NODE/bad"
for what in agent_again bus_again both_again; do
        middle $what
        check "3: with a probe that fails, $what: 1, its code first" says 1 'probe.bad: it is bad'
done
middle agent_killed
check "3: the agent gone for good as well: both are told" bash -c '[[ $1 == 1 && $2 == *"probe.bad: it is bad"* && $2 == *check.no-agent* ]]' - "$rc" "$out"
agent_start; rm "$NODE/bad"; node_wait ready
middle true
check "3: after all that the node is well" says 0 ''

# --- 4: the disk full -------------------------------------------------------------------------------------------------
full() {
        cp -a "$NODE/var/lib/firstboot" "$NODE/copy" && mount -t tmpfs -o size=4m none "$NODE/var/lib/firstboot" || return 1
        cp -a "$NODE/copy/." "$NODE/var/lib/firstboot/"
        ! dd if=/dev/zero of="$NODE/var/lib/firstboot/filler" bs=1k 2>/dev/null
}
if [[ $EUID -eq 0 ]]; then
        full || check "4: the disk is full" false
        middle true
        check "4: the disk full, a node that is well: 0" says 0 ''
        touch "$NODE/bad"; middle true
        check "4: a probe that fails beside it: 1, its code" says 1 'probe.bad: it is bad'
        middle agent_again
        check "4: the agent killed and started again beside both: the same" says 1 'probe.bad: it is bad'
        rm "$NODE/bad"
        agent_killed
        umount "$NODE/var/lib/firstboot"
else
        echo "skip - 4: the disk full: not root"
fi

# --- 5: the clock set back ----------------------------------------------------------------------------------------------
export CLOCK_BACK LD_PRELOAD
fresh_shifting() { fresh; CLOCK_BACK=$NODE/back; agent_killed; LD_PRELOAD=$clock_back agent_start; node_wait ready; }
unset LD_PRELOAD
CLOCK_BACK=/nowhere
fresh_shifting
touch "$NODE/back" "$NODE/bad"
check "5: the clock set back by a day: what goes wrong is seen all the same" node_wait failed
check "5: and the node drained" until_ slurm_state '^IDLE+DRAIN \[firstboot\] probe.bad: it is bad'
agent_killed; LD_PRELOAD=$clock_back agent_start
sleep 1
check "5: the agent killed beside it still knows" node_is failed
rm "$NODE/bad"
check "5: well again for long enough it is ready, by no clock that can be set" node_wait ready
check "5: and its drain lifted" until_ slurm_state '^IDLE *$'
rm "$NODE/back"
touch "$NODE/bad"
check "5: set right again, too, what goes wrong is seen" node_wait failed
check "5: no verdict of that was lost in the history" until_ bash -c '[[ $1 -ge 3 ]]' - "$(grep -c . <("$ctl" history 2>/dev/null | grep -E 'ready|failed'))"
node_end

# --- 6: two of the GPU gate's -------------------------------------------------------------------------------------------
node_new
mkdir -p "$NODE"/{proc/net,usr/bin}; printf 'Iface\tDestination\n' >"$NODE/proc/net/route"
"$TOP/tests/fixtures/rdma-sysfs" "$NODE" mlx5_0 mlx5_1 mlx5_2
cp "$TOP/tests/fixtures/perftest-double" "$NODE/usr/bin/ib_write_bw"
step_result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/"+sys.argv[2]+".json")); f=o.get("figures",{}); print(eval(sys.argv[3]))' "$NODE" "$@" 2>&1; }
is_code() { [[ $(step_result "$1" 'o["code"]') == "$2" ]] || { echo "# $(step_result "$1" 'o.get("code"), o.get("message")')"; return 1; }; }
step_run() { echo "{\"config\":{$2},\"instance\":{}}" >"$NODE/run/firstboot/config.json"; timeout 180 "$node_build/firstboot-step" "$1" >"$NODE/step.log" 2>&1; rc=$?; }
mkdir -p "$NODE/run/firstboot/results"
echo 100 >"$NODE/usr/bin/mlx5_0.traffic"; echo fail >"$NODE/usr/bin/mlx5_2.traffic"
step_run rdma '"rdma":{"watch":"0ms","give_up":"0ms"}'
check "6: one port slow, another dead: the first is the code" test "$(step_result rdma 'o["code"]')" = rdma.slow
check "6: both are logged" bash -c 'grep -q "mlx5_0 port 1 carries 100.0" "$1" && grep -q "mlx5_2 port 1: ib_write_bw" "$1"' - "$NODE/step.log"
check "6: and what the ports carried is in the figures" test "$(step_result rdma '[t.get("gbps") for t in f["traffic"]]')" = "[100.0, 400.0, None]"
check "6: a slow port does not pass by itself, whatever else may: not tried again" test "$rc" = 1
echo 5 >"$NODE/sys/class/infiniband/mlx5_1/ports/1/counters/local_link_integrity_errors"
step_run rdma '"rdma":{"watch":"0ms","give_up":"0ms"}'
check "6: a port with errors beside them comes first: what sysfs says needs no traffic" test "$(step_result rdma 'o["code"]')" = rdma.errors
doubles=$(realpath "$BUILD")/tests/nccl-double
ln -s "$node_build/ncclbench/ncclbench" "$NODE/usr/bin/ncclbench"
mkdir -p "$NODE/etc/firstboot/shapes.d"
echo '{ "sources": { "t": "this test" }, "shapes": [ { "name": "box", "gpus": { "count": 4 }, "busbw": [ { "nodes": 1, "size": "4K", "gbps": 90000, "kind": "gate", "source": "t" } ] } ] }' >"$NODE/etc/firstboot/shapes.d/t.json"
nccl="\"shape\":{\"name\":\"box\"},\"nccl\":{\"cuda_runtime_root\":\"$NODE\",\"cuda_runtime\":\"required\",\"cuda_library\":\"$doubles/libcuda.so.1\",\"nccl_library\":\"$doubles/libnccl.so.2\"}"
step_run nccl "$nccl"
check "6: NCCL slow and no runtime: the slow one is the code" is_code nccl nccl.slow
NCCL_DOUBLE_WRONG=1:3 step_run nccl "$nccl"
check "6: wrong and slow: wrong" is_code nccl nccl.wrong-result

# --- 7: a verdict on a full disk ----------------------------------------------------------------------------------------
if [[ $EUID -eq 0 ]] && mount -t tmpfs -o size=4k none "$NODE/run/firstboot/results"; then
        head -c 4096 /dev/zero >"$NODE/run/firstboot/results/filler"
        step_run rdma '"rdma":{"watch":"0ms","give_up":"0ms"}'
        check "7: a step that cannot leave its verdict does not end well" test "$rc" != 0
        umount "$NODE/run/firstboot/results"
else
        echo "skip - 7: a verdict on a full disk: not root"
fi
[[ -z $failed ]]
