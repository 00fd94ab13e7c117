#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootd after its verdict: what goes wrong later ends "ready" and drains the node by the real slurm step, what is well
# again for long enough brings it back. Real agent, real checks; doubles of systemd's manager, scontrol and sysfs.
#
# lane: clock
set -u
source tests/fixtures/node.bash
ends() { node_down; umount "${NODE:-}/run/firstboot" 2>/dev/null; node_end; }
trap ends EXIT
failed=
ctl=$node_build/firstbootctl

tool() { { echo '#!/bin/bash'; cat; } >"$NODE/bin/$1"; chmod +x "$NODE/bin/$1"; }
# until_ COMMAND…: at most two minutes, which end what hangs and say nothing about speed.
until_() { local end=$((SECONDS + 120)); while ((SECONDS < end)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; return 1; }
# stays STATE SECONDS: the node is so all the time.
stays() { local end=$((SECONDS + $2)); while ((SECONDS < end)); do node_is "$1" || return 1; sleep 0.1; done; }
# The clock that a shell can read counts hundredths and cuts off the rest: what is written just after "ready" would seem to be older
# than that, and not count. So a hundredth is added.
kernel() { echo "3,$((++lines)),$(awk '{ printf "%d", $1 * 1000000 + 10000 }' /proc/uptime),-;$1" >>"$NODE/dev/kmsg"; }
slurm_state() { grep -q "$1" "$NODE/node.state"; }

# The agent asks systemd about the units before it looks for the first time. A file system's error is a reason to look and no finding.
watched() { kernel 'EXT4-fs error (device vda1): here is a reason to look'; until_ test -s "$NODE/looked"; }

# fresh [KEYS]: a node that is ready, and watched closely by now unless the keys say otherwise.
fresh() {
        ends 2>/dev/null
        node_new
        mkdir -p "$NODE"/{bin,dev,proc/self,usr/sbin,etc/munge,sys/class/infiniband/mlx5_0/ports/1/counters,sys/class/net/eth0}
        : >"$NODE/proc/self/mounts"; lines=0
        echo '5,0,0,-;Linux version 6.12.0' >"$NODE/dev/kmsg"
        for f in symbol_error link_downed port_rcv_errors; do echo 7 >"$NODE/sys/class/infiniband/mlx5_0/ports/1/counters/$f"; done
        mkdir "$NODE/sys/class/net/eth0/device"; echo 3 >"$NODE/sys/class/net/eth0/carrier_down_count"
        touch "$NODE/usr/sbin/slurmd"; chmod +x "$NODE/usr/sbin/slurmd"
        echo "{\"watch\":{\"calm\":\"500ms\",\"interval\":\"${interval:-1s}\",\"healthy\":\"${healthy:-1s}\"${1:-}},
                \"slurm\":{\"controllers\":[\"head\"],\"node_name\":\"n1\",\"munge_key\":\"$(head -c 96 /dev/zero | base64 -w0)\",\"give_up\":\"60s\"${slurm:-}}}" >"$NODE/etc/firstboot/node.json"
        tool munge <<<'exit 0'
        tool scontrol <<'P'
node=$FIRSTBOOT_ROOT/node.state
echo "$*" >>"$FIRSTBOOT_ROOT/tools"
[[ ! -e $FIRSTBOOT_ROOT/away ]] || { echo "Unable to contact slurm controller (connect failure)"; exit 1; }
case $* in
"show config") echo "Configuration data as of $(date +%Y-%m-%dT%H:%M:%S)" ;;
*"show node n1") read -r s reason <"$node"; echo "NodeName=n1 State=$s Reason=$reason [root@2026-01-01T00:00:00]" ;;
"update NodeName=n1 State=DRAIN "*) echo "IDLE+DRAIN ${4#Reason=}" >"$node" ;;
"update NodeName=n1 State=RESUME "* | "update NodeName=n1 State=UNDRAIN "*) echo 'IDLE ' >"$node" ;;
esac
P
        echo 'IDLE ' >"$NODE/node.state"
        step probe '{"check":true}' <<<'true'
        sized=
        [[ -z ${size:-} ]] || { mount -t tmpfs -o "size=$size" none "$NODE/run/firstboot" 2>/dev/null && sized=1; }
        echo "{\"check\":true,\"exec\":[\"$NODE/exec/probe\"]}" >"$NODE/etc/firstboot/steps.d/probe.json"
        cat >"$NODE/exec/probe" <<'P'
#!/bin/bash
[[ -n ${FIRSTBOOT_CHECK:-} ]] || { [[ ! -e $FIRSTBOOT_ROOT/broken ]]; exit; }
echo "$FIRSTBOOT_CHECK" >>"$FIRSTBOOT_ROOT/looked"
[[ -e $FIRSTBOOT_ROOT/bad ]] && { echo '{"status":"failed","code":"probe.bad","message":"it is bad"}' >"$FIRSTBOOT_RESULT"; exit 1; }
exit 0
P
        cp "$TOP/firstboot/steps/slurm/slurm.json" "$NODE/usr/lib/firstboot/steps.d/"
        rm -f "$NODE/usr/lib/firstboot/steps.d/probe.json"
        printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH exec %s/firstboot-step slurm\n' "$node_build" >"$NODE/exec/slurm"
        printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH %s check --$1 --probes --json >$FIRSTBOOT_ROOT/run/firstboot/check/$1.json; [ $? -le 1 ]\n' "$ctl" >"$NODE/exec/firstboot-check"
        printf '#!/bin/bash\n[[ ${1:-} != stop ]] || exit 0\nPATH=$FIRSTBOOT_ROOT/bin:$PATH exec %s/firstboot-step --hold slurm >>$FIRSTBOOT_ROOT/agent.log 2>&1\n' "$node_build" >"$NODE/exec/firstboot-hold@slurm.service"
        chmod +x "$NODE"/exec/*
        mkdir -p "$NODE/usr/bin"; ln -s "$ctl" "$NODE/usr/bin/firstbootctl" # the slurm step asks it before it lifts a drain
        node_boot
        node_wait ready || check "the node gets ready" false
        [[ ${1:-} == *'"enabled":false'* ]] || watched || check "the node is watched" false
}

# --- a probe that fails, for a moment and for good ------------------------------------------------------------------
fresh
check "a node that is well stays ready" stays ready 3
check "and is looked at again and again" until_ bash -c '[[ $(wc -l <"$1") -ge 3 ]]' - "$NODE/looked"
check "by quick looks alone" bash -c '! grep -q full "$1"' - "$NODE/looked"
echo '# from here on' >>"$NODE/calls"
touch "$NODE/bad"
check "what goes wrong ends ready" node_wait failed
check "the ready file is gone" until_ test ! -e "$NODE/run/firstboot/ready"
check "node-ready.target is stopped" until_ grep -q '^StopUnit node-ready.target' "$NODE/calls"
check "the node is drained with the reason, without drain_on_failure" until_ slurm_state '^IDLE+DRAIN \[firstboot\] probe.bad: it is bad'
check "slurmd is left alone: jobs run on" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Stop|Restart)Unit slurmd"' - "$NODE/calls"
check "the status says why" is 'o["code"], o["message"]' "('probe.bad', 'it is bad')"
check "explain too" bash -c '"$1" explain | grep -q probe.bad' - "$ctl"
check "check fails while the node is not ready" bash -c 'out=$(PATH=$NODE/bin:$PATH "$1" check); [[ $? == 1 && $out == "probe.bad: it is bad"* ]]' - "$ctl"
check "and it stays so" stays failed 2
rm "$NODE/bad"
check "well again for long enough it is ready" node_wait ready
check "after a full check" grep -q full "$NODE/looked"
check "its own drain is lifted" until_ slurm_state '^IDLE *$'
check "and the ready file is back" until_ test -e "$NODE/run/firstboot/ready"

# --- two reasons, of which the first goes away ------------------------------------------------------------------------
unit() { busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager "$1" ss "$2" replace >/dev/null; }
fresh
touch "$NODE/bad"
node_wait failed
check "the first reason is told" until_ is 'o["code"]' probe.bad
until_ slurm_state 'probe.bad'
until_ is 'o["step"]["slurm"]["status"]' degraded # what the step does is over
unit StopUnit slurmd.service
rm "$NODE/bad"
# Whoever sees it first, the watch of units or the slurm step's own check.
check "once it is gone, the reason that remains is told" until_ is 'o["code"] in ("watch.unit", "slurm.slurmd"), o["message"]' "(True, 'slurmd.service is inactive')"
check "to the controller, too" until_ slurm_state "^IDLE+DRAIN \[firstboot\] $(node_json 'o["code"]'): slurmd.service is inactive"
check "the node never was ready in between" test ! -e "$NODE/run/firstboot/ready"
unit StartUnit slurmd.service
check "without it, too, the node is ready" node_wait ready
check "and its drain lifted" until_ slurm_state '^IDLE *$'

# --- the agent killed while the node is not ready -------------------------------------------------------------------
touch "$NODE/bad"
node_wait failed; until_ slurm_state DRAIN
kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
rm "$NODE/looked"
agent_start
check "an agent that was restarted knows that the node is not ready" stays failed 3
rm "$NODE/bad"
check "and brings it back only after a full check" eval 'node_wait ready && grep -q full "$NODE/looked"'

# --- the disk full as the watch finds something, and the agent killed ---------------------------------------------------
fresh
mv "$NODE/var/lib/firstboot" "$NODE/before"; ln -s nowhere "$NODE/var/lib/firstboot" # nothing can be written there
touch "$NODE/bad"
node_wait failed; until_ slurm_state DRAIN
kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
rm "$NODE/var/lib/firstboot"; mv "$NODE/before" "$NODE/var/lib/firstboot" # where the node is ready
rm "$NODE/bad"; touch "$NODE/broken"                                     # a check does not see it, the step does
echo '# from here on' >>"$NODE/calls"
began() { sed '1,/^# from here on/d' "$NODE/calls" | grep -q '^StartUnit firstboot@probe'; }
agent_start
check "a record that a full disk kept old is not believed: the steps run anew" until_ began
check "and decide" node_wait failed
check "by what they find" is 'o["step"]["probe"]["status"]' failed
check "meanwhile the node was never ready" bash -c '! sed "1,/^# from here on/d" "$1" | grep -q "^StartUnit node-ready"' - "$NODE/calls"

# --- /run full, of what others keep there --------------------------------------------------------------------------------
for what in blocks inodes "dynamic blocks" thief "diskless thief"; do
        # What a dynamic node tells of itself is in a file of /run, which a drain would change.
        slurm=
        [[ $what != dynamic* ]] || slurm=',"dynamic":true,"features":["a"]'
        size=256k,nr_inodes=120 fresh
        [[ -n $sized ]] || { echo "skip - /run full: nothing can be mounted here"; break; }
        echo '# from here on' >>"$NODE/calls"
        told='/run/firstboot: No space left on device'
        if [[ $what == diskless* ]]; then # nor is there room where the state is, so that nothing tells why
                mv "$NODE/var/lib/firstboot" "$NODE/before"; ln -s nowhere "$NODE/var/lib/firstboot"
                told='/run/firstboot\(/status.json does not tell how\|: No space left on device\)' # the thief is not always first
        fi
        run_crowd "${what#* }"
        check "/run full ($what): the node is not ready" until_ test ! -e "$NODE/run/firstboot/ready"
        check "it is drained, with the code" until_ slurm_state '^IDLE+DRAIN \[firstboot\] run.not-writable: '"$told"
        check "slurmd is left alone" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Stop|Restart)Unit slurmd"' - "$NODE/calls"
        check "the status says so" bash -c '"$1" status 2>&1 | grep -q "run.not-writable"' - "$ctl"
        run_room
        [[ $what != diskless* ]] || { rm "$NODE/var/lib/firstboot"; mv "$NODE/before" "$NODE/var/lib/firstboot"; }
        check "with room again it is ready by itself" node_wait ready
        check "and in service" until_ slurm_state '^IDLE *$'
        check "slurmd went on all the while" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Stop|Restart)Unit slurmd"' - "$NODE/calls"
done
slurm=

# --- somebody else's drain ------------------------------------------------------------------------------------------
fresh
touch "$NODE/bad"; node_wait failed; until_ slurm_state DRAIN
echo 'IDLE+DRAIN RMA ticket 4711' >"$NODE/node.state"
rm "$NODE/bad"
check "well again under somebody else's drain the node is degraded" node_wait degraded
check "a drain of somebody else's is never lifted" slurm_state '^IDLE+DRAIN RMA ticket 4711'
node_end

# --- a configuration that became wrong on a node in service ------------------------------------------------------------
# rerun WHAT: as firstbootctl; a configuration that is wrong ends it with 1.
rerun() { timeout 60 "$ctl" rerun --wait "$1" >/dev/null 2>&1; }
fresh
wrong=$NODE/etc/firstboot/conf.d/70-wrong.json
echo '{"mounst":[]}' >"$wrong"
echo '# from here on' >>"$NODE/calls"
rerun config
check "a configuration that became wrong: the node is not ready" node_wait failed
check "it is drained, with the code" until_ slurm_state '^IDLE+DRAIN \[firstboot\] config.invalid: .*70-wrong.json'
check "slurmd is left alone" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Stop|Restart)Unit slurmd"' - "$NODE/calls"
rm "$wrong"
rerun config
check "right again it is ready" node_wait ready
check "and in service" until_ slurm_state '^IDLE *$'
echo '{"mounst":[]}' >"$wrong"
rerun config:changes; until_ slurm_state DRAIN
rm "$wrong"
rerun config:changes
check "by changes alone, too" node_wait ready
check "… in service" until_ slurm_state '^IDLE *$'
echo '{"mounst":[]}' >"$wrong"
rerun config; until_ slurm_state DRAIN
kill -9 "$agent_pid"; wait "$agent_pid" 2>/dev/null
rm "$wrong"
agent_start
check "put right while no agent ran, the next one finds it so" node_wait ready
check "… and lifts the drain" until_ slurm_state '^IDLE *$'
echo '{"mounst":[]}' >"$wrong"
touch "$NODE/away"
rerun config
check "without a controller the node is not drained" eval 'sleep 1; slurm_state "^IDLE *$"'
rm "$NODE/away"
"$NODE/exec/firstboot-hold@slurm.service"
check "… once it is back" slurm_state '^IDLE+DRAIN \[firstboot\] config.invalid: '
echo 'IDLE+DRAIN RMA ticket 4711' >"$NODE/node.state"
"$NODE/exec/firstboot-hold@slurm.service"
check "somebody else's drain stays as it is" slurm_state '^IDLE+DRAIN RMA ticket 4711'
rm "$wrong"
rerun config
echo 'IDLE ' >"$NODE/node.state"
"$NODE/exec/firstboot-hold@slurm.service"
check "where nothing is wrong any more, nothing is drained" slurm_state '^IDLE *$'
node_end

# --- what Slurm's own call has found, and the watch has not -----------------------------------------------------------
interval=1h fresh
ln -s "$node_build/firstboot-slurm" "$NODE/slurm-health-check"
hook() { env -i FIRSTBOOT_ROOT="$NODE" DBUS_SYSTEM_BUS_ADDRESS="$DBUS_SYSTEM_BUS_ADDRESS" PATH="$NODE/bin:$PATH" SLURMD_NODENAME=n1 "$NODE/slurm-health-check" >"$NODE/said" 2>&1; }
touch "$NODE/bad"; hook; rm "$NODE/bad"
check "a health check of Slurm's finds what is wrong for a moment" grep -q 'probe.bad: it is bad' "$NODE/said"
check "the agent knows of the drain: the node is not ready, for that reason" until_ is 'o["node"], o["code"], o["message"]' "('failed', 'probe.bad', 'it is bad')"
check "… nor in service" slurm_state '^IDLE+DRAIN \[firstboot\] probe.bad: it is bad'
check "once all has been well for long enough it is ready again" node_wait ready
check "and the drain is lifted" until_ slurm_state '^IDLE *$'
mkdir "$NODE/run/firstboot/drained" # as where /run has no room: nothing can be written there
touch "$NODE/bad"; hook; rm "$NODE/bad"
check "a drain that /run has no room to tell of is taken up all the same" until_ is 'o["node"], o["code"], o["message"]' "('failed', 'probe.bad', 'it is bad')"
check "… and ends as others do" node_wait ready
check "… lifted" until_ slurm_state '^IDLE *$'
rmdir "$NODE/run/firstboot/drained"
echo 'IDLE+DRAIN RMA ticket 4711' >"$NODE/node.state"
touch "$NODE/bad"; hook; rm "$NODE/bad"
check "somebody else's drain stays the reason" stays ready 3
check "… as it is" slurm_state '^IDLE+DRAIN RMA ticket 4711'
interval=1h fresh ',"enabled":false'
ln -s "$node_build/firstboot-slurm" "$NODE/slurm-health-check"
touch "$NODE/bad"; hook; rm "$NODE/bad"
check "without the watch the drain stays" slurm_state '^IDLE+DRAIN \[firstboot\] probe.bad: it is bad'
"$ctl" rerun --wait slurm >/dev/null
check "… until the step is run again" until_ slurm_state '^IDLE *$'
check "… which forgets what it was for, lest a watch that is turned on later takes it up" test ! -e "$NODE/run/firstboot/drained"
node_end

# --- a step that fails once the node was ready -----------------------------------------------------------------------
fresh
echo '# from here on' >>"$NODE/calls"
echo '{"status":"failed","message":"after all, no"}' >"$NODE/run/firstboot/results/probe.json"
check "a verdict that comes late ends ready" node_wait failed
check "and drains the node, without drain_on_failure" until_ slurm_state '^IDLE+DRAIN \[firstboot\] step.verdict-late: .*after all, no'
check "slurmd is left alone then, too" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Stop|Restart)Unit slurmd"' - "$NODE/calls"
until_ is 'o["step"]["slurm"]["status"]' degraded
check "the step can be run again" "$ctl" rerun --wait probe
check "after which the node is ready" node_wait ready
check "and in service" until_ slurm_state '^IDLE *$'
touch "$NODE/broken"
"$ctl" rerun --wait probe >/dev/null
check "one that fails when it is run again drains the node as well" until_ slurm_state '^IDLE+DRAIN \[firstboot\] step.exit-code: '
check "and the verdict is that" node_wait failed
until_ is 'o["step"]["slurm"]["status"]' degraded
rm "$NODE/broken"
"$ctl" rerun --wait probe >/dev/null
check "until it is mended" node_wait ready
check "the drain is lifted" until_ slurm_state '^IDLE *$'
node_end

# --- each source ----------------------------------------------------------------------------------------------------
# source_ NAME CODE: what the commands before it did leads to this code.
healthy=60s interval=60s # no check finds it first, by another code
source_() { node_wait failed; check "$1: $2" is 'o["code"]' "$2"; }

fresh
kernel 'pcieport 0000:00:01.0: AER: Corrected error message received from 0000:3b:00.0'
kernel 'nvme nvme0: I/O 12 QID 3 timeout, reset controller'
check "a corrected error, or one reset, is no finding" stays ready 2
kernel 'pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0'
source_ "an uncorrected PCIe error" watch.pcie
fresh
for _ in 1 2 3; do kernel 'nvme nvme0: I/O 12 QID 3 timeout, reset controller'; done
source_ "three resets of a disk" watch.nvme
fresh
kernel 'mlx5_core 0000:3b:00.0: poll_health:801:(pid 0): device'"'"'s health compromised - reached miss count'
source_ "an adapter whose health is compromised" watch.nic
fresh
busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss munge.service replace >/dev/null
source_ "a service that ends" watch.unit
check "the drain comes all the same" until_ slurm_state '^IDLE+DRAIN \[firstboot\] watch.unit: munge.service is inactive'
fresh
busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss slurmd.service replace >/dev/null
echo '# from here on' >>"$NODE/calls"
node_wait failed
check "slurmd that was stopped: by its unit, or by a check that comes first" is 'o["code"] in ("watch.unit", "slurm.slurmd")' True
until_ slurm_state DRAIN
check "and it is not started again behind its admin's back" bash -c '! sed "1,/^# from here on/d" "$1" | grep -qE "(Start|Restart)Unit slurmd"' - "$NODE/calls"
# grow FILE: it grows all the time, as nobody can see from outside when it was read first. A reader finds the old number or the new one.
grow() { local n=7; while :; do echo $((n += 100)) >"$NODE/grown"; mv "$NODE/grown" "$1"; sleep 0.1; done; }
fresh
grow "$NODE/sys/class/net/eth0/carrier_down_count" & grows=$!
source_ "a link that flaps" watch.link-flaps
kill "$grows"; wait "$grows" 2>/dev/null
fresh
grow "$NODE/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error" & grows=$!
source_ "a counter that grows and grows" rdma.errors-grow
kill "$grows"; wait "$grows" 2>/dev/null
check "an old error alone is none" test "$(cat "$NODE/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed")" = 7

healthy=1s interval=1s
# --- what must not happen -------------------------------------------------------------------------------------------
fresh
mkdir -p "$NODE/proc/77"; echo slurmstepd >"$NODE/proc/77/comm"; printf 'slurmstepd: [12.batch]\0' >"$NODE/proc/77/cmdline"
touch "$NODE/bad"; node_wait failed; rm "$NODE/bad"
check "while a job is on the node nothing measures it" stays failed 4
check "by a full check" bash -c '! grep -q full "$1"' - "$NODE/looked"
rm -r "$NODE/proc/77"
check "once it has ended the node comes back" node_wait ready
fresh ',"enabled":false'
touch "$NODE/bad"
check "a node that is not to be watched is not" stays ready 3
fresh
kill "$bus_pid"; wait "$bus_pid" 2>/dev/null
touch "$NODE/bad"
bus_start
check "the bus restarted in the middle loses nothing" node_wait failed
check "and the drain is made when it is back" until_ slurm_state DRAIN
rm "$NODE/bad"
check "the way back too" node_wait ready
rm "$NODE/usr/lib/firstboot/firstboot-step"
check "checks that cannot look do not pass for ever" node_wait failed
check "with a code of their own" is 'o["code"]' check.no-answer
node_end
[[ -z $failed ]]
