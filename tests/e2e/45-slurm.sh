#!/bin/bash
# The slurm step and what Slurm calls on a node, with the real slurmctld, slurmd and munged, without a machine (native.bash):
# whose a drain is, nodes that are DOWN, reboots, power saving, dynamic nodes, munge, and checks before, after and between jobs.
#
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
# Each group of parts has a controller of its own: what one remembers of a node and its jobs is not the next one's. All of them
# wait most of the time, so they do it beside each other, each in a folder and a network of its own. ONLY=PARTS runs these alone.
[[ -z ${ONLY:-} ]] || E2E=$E2E/${ONLY%% *}
mkdir -p "$E2E"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-}${BESIDE:-} ]]; then head_tree; fi
if [[ -z ${HEAD_INSIDE:-}${ONLY:-} ]]; then
        groups=('down drains' 'reboot power dynamic' 'munge hooks' 'away') pids=()
        for i in "${!groups[@]}"; do
                BESIDE=1 ONLY=${groups[i]} bash "$0" "$@" >"$E2E/group$i.log" 2>&1 &
                pids+=($!)
        done
        for i in "${!groups[@]}"; do
                wait "${pids[i]}" || rc=1
                cat "$E2E/group$i.log"
        done
        exit $rc
fi
head_enter "$@"
source "$TOP/tests/e2e/native.bash"
trap 'native_end; head_stop "${HEAD_SERVICES[@]}"' EXIT

# shows STATE [REASON]: within three minutes, what the controller shows of the node; a reason that begins so.
shows() {
        local got end=$((SECONDS + 180))
        while ((SECONDS < end)); do
                got=$(head_run sinfo -h -N -n "${node:-$NODE}" -o '%T|%E')
                [[ $got == $1"|${2:-}"* ]] && return 0
                sleep 0.2
        done
        echo "# the controller shows $got"
        return 1
}
admin() { head_run scontrol update NodeName="${node:-$NODE}" "$@"; }
# submit SCRIPT: its job's number. It writes where the test can read it.
submit() { head_run sh -c "printf '#!/bin/sh\n%s\n' '$1' >/tmp/job && sbatch --parsable -o /dev/null -D / ${2:-} /tmp/job"; }
job_state() { head_run scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
within() { local i; for ((i = 0; i < 300; i++)); do "$@" && return 0; sleep 0.2; done; echo "# not within a minute: $*"; return 1; } # COMMAND…
job_is() { [[ $(job_state "$1") == "$2" ]]; }
job_ends() { within job_is "$1" COMPLETED || { job_state "$1"; return 1; }; }
# never_ran JOB: it waits, and has had no node so far.
never_ran() {
        job_is "$1" PENDING && ! grep "Allocate JobId=$1 " "$HEAD_LOG/slurm.log" && [[ ! -e $HEAD/export/data/ran-on-a-bad-node ]]
}
slurmd_is_gone() { ! kill -0 "$(cat "$N/pid/slurmd.service")" 2>/dev/null; }
# Slurm holds whole seconds against each other: when a node answered, was told to boot, and booted.
next_second() { local now=$EPOCHSECONDS; while [[ $EPOCHSECONDS -le $now ]]; do sleep 0.1; done; }
cluster() { # LINE…: the controller with these lines of slurm.conf besides
        # In order, with its state saved: a controller that is killed forgets what ended last.
        local i pid
        if [[ -s $HEAD/pid/slurm ]]; then
                for pid in $(head_descendants "$(cat "$HEAD/pid/slurm")"); do
                        [[ $(cat "/proc/$pid/comm" 2>/dev/null) != slurmctld ]] || kill -TERM "$pid"
                done
                for ((i = 0; i < 600; i++)); do kill -0 "$(cat "$HEAD/pid/slurm")" 2>/dev/null || break; sleep 0.1; done
                [[ $i -lt 600 ]] || echo "# the controller does not end"
                head_stop slurm
        fi
        head_cluster
        sed -i -e 's/^ReturnToService=.*/ReturnToService=0/' -e 's/^SlurmdTimeout=.*/SlurmdTimeout=300/' "$HEAD/root/etc/slurm/slurm.conf"
        printf '%s\n' 'SchedulerParameters=nohold_on_prolog_fail,sched_interval=1' 'RebootProgram=/usr/lib/firstboot/e2e-reboot' 'MaxNodeCount=8' 'SelectTypeParameters=CR_CPU' "$@" >>"$HEAD/root/etc/slurm/slurm.conf"
        echo 'CgroupPlugin=disabled' >"$HEAD/root/etc/slurm/cgroup.conf"
        head_start slurm
}
good() { native_steps; native_step; }

head_make && head_start munge && cluster && native_new && native_config
check "a controller, and a node beside it" $?
[[ $rc -eq 0 ]] || { tail -n 20 "$HEAD_LOG"/*.log; exit 1; }
good
native_is done '' && shows idle && [[ $(head_run timeout 60 srun hostname) == "$NODE" ]]
check "the node joins, and srun runs on it" $?

# --- whose a drain is ----------------------------------------------------------------------------------------------------
part_drains() {
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_is degraded slurm.drained-by-firstboot && shows drained '[firstboot] gpu.missing: 7 of 8 GPUs'
        check "a fault drains the node, with its code" $?
        head_run sinfo -R | grep -q '^\[firstboot\] gpu.miss.* node-e2e *$'
        check "… which sinfo -R shows" $?
        native_fails gpu.ecc 'GPU 3'
        native_step
        shows drained '[firstboot] gpu.ecc: GPU 3'
        check "another fault has its own reason" $?
        good
        native_is done '' && shows idle
        check "without a fault it is in service again" $?
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        shows drained '[firstboot] gpu.missing: 7 of 8 GPUs' && ! head_run sinfo -h -N -n "$NODE" -o %E | grep -F gpu.ecc
        check "of the drain that was lifted nothing is left" $?
        good

        admin State=DRAIN Reason='RMA ticket 4711'
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        shows drained 'RMA ticket 4711'
        check "a fault on a node that an admin has drained: his reason stays" $?
        native_is degraded slurm.drained && native_says 'RMA ticket 4711' && native_says 'gpu.missing'
        check "and the verdict names both" $?
        good
        native_is degraded slurm.drained && shows drained 'RMA ticket 4711'
        check "without the fault his drain stays" $?
        admin State=RESUME
        good
        native_is done '' && shows idle
        check "resumed by him, the node is in service" $?

        native_fails gpu.ecc 'GPU 3'
        native_step
        admin State=DRAIN Reason="$(head_run sinfo -h -N -n "$NODE" -o %E) - RMA 4712, do not resume"
        good
        native_is degraded slurm.drained && shows drained '[firstboot] gpu.ecc: GPU 3'
        check "a reason of ours that an admin has added to is his" $?
        admin State=RESUME
        # He drains it while the check before the lifting is under way.
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        echo "scontrol update NodeName=$NODE State=DRAIN Reason='bad fan'" >"$N/run/check.does"
        good
        rm "$N/run/check.does"
        native_is degraded slurm.drained && shows drained 'bad fan'
        check "a drain that comes between looking and lifting stays" $?
        admin State=RESUME

        # Slurm keeps the reason of a drain that is over. It is nobody's fault, and comes back.
        good
        shows idle 'bad fan'
        check "the note of a drain that is over is left alone" $?
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        shows drained '[firstboot] gpu.missing: 7 of 8 GPUs; before: bad fan'
        check "a drain of ours carries it along" $?
        good
        native_is done '' && shows idle 'bad fan'
        check "and leaves it when it is lifted" $?

        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_check 1 'gpu.xid: Xid 79 on GPU 2'
        good
        native_is failed slurm.check-failed && native_says 'gpu.xid' && shows drained '[firstboot] gpu.missing'
        check "a check that fails keeps the drain" $?
        native_check 3 'the agent is not there'
        good
        native_is failed slurm.check-unavailable && shows drained '[firstboot] gpu.missing'
        check "so does one that could not look" $?
        native_check 0
        good
        native_is done '' && shows idle
        check "one that passes does not" $?
}

# --- DOWN ------------------------------------------------------------------------------------------------------------------
part_down() {
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        cluster SlurmdTimeout=6 >/dev/null
        native_plug
        is_down() { head_run scontrol show node "$NODE" | grep -q 'State=DOWN'; }
        within is_down && shows 'drained*' '[firstboot] gpu.missing: 7 of 8 GPUs #' && is_down
        check "a node that we drained and that is away for long is DOWN" $?
        cluster >/dev/null
        native_config
        good
        native_is done '' && shows idle
        check "with ReturnToService=0 it is resumed, once it is well" $?

        # It boots, and nobody has told Slurm. -b: slurmd tells the time of its start as that of the boot. The controller does not see a
        # boot that is older than the last answer it has taken in, and on a busy machine it takes one in seconds late: then once more.
        local try
        for try in 1 2 3 4 5; do
                native_plug
                next_second
                native_config '{"options": ["-b"]}'
                good
                [[ $(native_verdict status) == done ]] || break
                echo "# try $try: the controller saw no boot"
        done
        native_is degraded slurm.rebooted && shows down
        check "a boot that Slurm did not order: slurm.rebooted, and left so" $?
        admin State=RESUME
        good
        native_is done ''
        check "resumed, it is in service" $?
        native_config

        admin State=DOWN Reason='RMA ticket 4713'
        good
        native_is degraded slurm.down && native_says 'RMA ticket 4713' && shows down 'RMA ticket 4713'
        check "DOWN for an admin's reason: told, and left so" $?
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_is failed slurm.drain-failed && shows 'down*' 'RMA ticket 4713' && [[ ! -e $N/pid/slurmd.service ]]
        check "with a fault besides, his reason stays, and slurmd does not run" $?
        admin State=RESUME
        good
        native_is done ''
        check "resumed by him, it is in service" $?
}

# --- scontrol reboot ---------------------------------------------------------------------------------------------------------
# reboots REASON: it was told to, and is down.
reboots() {
        next_second
        head_run scontrol reboot ASAP nextstate=RESUME reason="$1" "$NODE"
        shows '*^*' "$1"
        within slurmd_is_gone
        native_plug
        native_config '{"options": ["-b"]}'
}
part_reboot() {
        local job lines
        good
        shows idle
        reboots 'firmware 4714'
        good
        native_is done '' && shows idle
        check "after scontrol reboot a good node is in service" $?

        reboots 'firmware 4715'
        job=$(submit 'echo bad >/export/data/ran-on-a-bad-node')
        lines=$(wc -l <"$HEAD_LOG/slurm.log")
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_is degraded slurm.drained-by-firstboot && shows drained '[firstboot] gpu.missing: 7 of 8 GPUs; before: firmware 4715'
        check "a bad one is drained, though Slurm would have resumed it" $?
        # The controller takes the end of its own order to boot, which may come late, for an answer of the node: one that is free
        # gets a job then, before slurmd runs.
        ! tail -n "+$((lines + 1))" "$HEAD_LOG/slurm.log" | grep 'update_node: .* state set to IDLE'
        check "and was never free in between" $?
        never_ran "$job"
        check "no job got in between" $?
        head_run scancel "$job"
        good
        native_is done '' && shows idle
        check "repaired, it is in service" $?

        # slurmd does not come up.
        reboots 'firmware 4716'
        native_fails gpu.missing '7 of 8 GPUs'
        printf '%s\n' '#!/bin/sh' '[ "$1" = stop ]' >"$N/slurmd.fails" && chmod +x "$N/slurmd.fails"
        mv "$N/exec/slurmd.service" "$N/slurmd.service" && mv "$N/slurmd.fails" "$N/exec/slurmd.service"
        native_step
        mv "$N/slurmd.service" "$N/exec/slurmd.service"
        native_is failed slurm.slurmd && shows '*^*' '[firstboot] gpu.missing: 7 of 8 GPUs; before: firmware 4716'
        check "one whose slurmd does not start is held back" $?
        good
        native_is done '' && shows idle 'firmware 4716'
        check "repaired, it is in service, too" $?
}

# --- power saving ------------------------------------------------------------------------------------------------------------
suspended() {
        admin State=POWER_DOWN
        shows 'idle[%~]'
        native_plug
        shows 'idle~'
}
part_power() {
        cluster 'SuspendProgram=/usr/bin/true' 'ResumeProgram=/usr/bin/true' SuspendTime=3600 SuspendTimeout=3 ResumeTimeout=120 >/dev/null
        native_config '{"options": ["-b"]}'
        good
        suspended
        check "the node is suspended" $?
        admin State=POWER_UP
        shows 'idle#'
        native_config '{"options": ["-b"]}'
        good
        native_is done '' && shows idle
        check "woken by Slurm, it is in service" $?
        suspended
        admin State=POWER_UP
        shows 'idle#'
        native_config '{"options": ["-b"]}'
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_is degraded slurm.drained-by-firstboot && shows drained '[firstboot] gpu.missing'
        check "woken with a fault, it is drained" $?
        good
        native_is done '' && shows idle
        check "repaired, it is in service" $?
        cluster >/dev/null
        shows idle
        native_config
}

# --- dynamic nodes ---------------------------------------------------------------------------------------------------------------
part_dynamic() {
        local job node=dyn7
        native_plug
        native_config '{"node_name": "dyn7", "dynamic": true, "features": ["fast"]}'
        node=$NODE admin State=DRAIN Reason='another node'
        job=$(submit 'echo bad >/export/data/ran-on-a-bad-node')
        native_fails gpu.missing '7 of 8 GPUs'
        native_step
        native_is degraded slurm.drained-by-firstboot && shows drained '[firstboot] gpu.missing: 7 of 8 GPUs'
        check "a dynamic node with a fault registers drained" $?
        never_ran "$job"
        check "and gets no job in between" $?
        head_run scancel "$job"
        good
        native_is done '' && shows idle && [[ $(head_run sinfo -h -n dyn7 -o %f) == fast ]]
        check "repaired, it is in service, with its features" $?
        native_unit stop slurmd.service
        head_run scontrol delete NodeName=dyn7
        node=$NODE admin State=RESUME
        native_config
}

# --- munge -----------------------------------------------------------------------------------------------------------------------
part_munge() {
        native_config '{"give_up": "3s"}'
        good
        native_is done ''
        cp "$N/exec/munge.service" "$N/munge.service" && printf '#!/bin/sh\n' >"$N/exec/munge.service"
        kill -STOP "$(pgrep -P "$(cat "$N/pid/munge.service")")"
        good
        native_is failed slurm.munge-slow
        check "a munged that hangs: slurm.munge-slow" $?
        cp "$N/munge.service" "$N/exec/munge.service"
        native_unit stop munge.service
        printf '#!/bin/sh\n' >"$N/exec/munge.service"
        good
        native_is failed slurm.munge && native_says munge.socket
        check "a munged that is dead: slurm.munge" $?
        cp "$N/munge.service" "$N/exec/munge.service"
        native_unit restart munge.service
        native_config
        good
        native_is done ''
        check "with munged the node is in service" $?
}

# --- what Slurm calls ----------------------------------------------------------------------------------------------------------------
part_hooks() {
        local job
        shows idle
        cluster Prolog=/usr/lib/firstboot/slurm-prolog Epilog=/usr/lib/firstboot/slurm-epilog PrologFlags=Alloc >/dev/null
        native_plug
        native_config
        good
        native_is done '' || return
        job=$(submit 'echo 1 >/export/data/first')
        job_ends "$job"
        check "with Prolog and Epilog a job runs" $?
        native_check 1 'gpu.xid: Xid 79 on GPU 2'
        job=$(submit 'echo 2 >/export/data/second')
        shows drained '[firstboot] gpu.xid: Xid 79 on GPU 2'
        check "a fault between two jobs drains the node with its code" $?
        within job_is "$job" PENDING && [[ -e $HEAD/export/data/first && ! -e $HEAD/export/data/second ]]
        check "before the second starts, which waits" $?
        native_check 0
        good
        # Slurm lets a requeued job wait for two minutes.
        native_is done '' && head_run scontrol update JobId="$job" StartTime=now && job_ends "$job"
        check "repaired, the node takes the second" $?

        native_check 3 'no agent'
        job=$(submit 'echo 3 >/export/data/third')
        shows drained '[firstboot] slurm.check-unavailable' && [[ ! -e $HEAD/export/data/third ]]
        check "a check that could not look is no pass" $?
        native_check 0
        head_run scancel "$job"
        good

        # A fault that comes while the job runs.
        job=$(submit 'touch /export/data/runs; while [ ! -e /export/data/go ]; do sleep 0.2; done')
        within test -e "$HEAD/export/data/runs"
        native_check 1 'rdma.port-down: mlx5_0'
        touch "$HEAD/export/data/go"
        job_ends "$job" && shows drained '[firstboot] rdma.port-down: mlx5_0'
        check "the Epilog finds it, and the job is complete" $?
        rm -f "$HEAD"/export/data/{go,runs}
        native_check 0
        good

        # slurmd asks at once, then at each interval.
        cluster HealthCheckProgram=/usr/lib/firstboot/slurm-health-check HealthCheckInterval=2 HealthCheckNodeState=ANY >/dev/null
        native_plug # slurmd has the controller's new configuration with its next start
        native_config
        good
        job=$(submit 'touch /export/data/runs; while [ ! -e /export/data/go ]; do sleep 0.2; done')
        within test -e "$HEAD/export/data/runs"
        native_check 1 'gpu.xid: Xid 79 on GPU 2'
        shows draining '[firstboot] gpu.xid: Xid 79 on GPU 2'
        check "the health check finds a fault on a node in use" $?
        touch "$HEAD/export/data/go"
        job_ends "$job"
        check "and leaves its job alone" $?
        admin State=DRAIN Reason='RMA ticket 4716'
        : >"$N/run/check.calls"
        twice() { [[ $(wc -l <"$N/run/check.calls") -ge 2 ]]; }
        within twice
        shows drained 'RMA ticket 4716'
        check "an admin's reason is left alone" $?
        native_check 0
        admin State=RESUME
        shows idle
        native_check 1 'gpu.xid: Xid 79 on GPU 2'
        shows drained '[firstboot] gpu.xid'
        check "it finds one on an idle node" $?
        native_check 0
        good
        native_is done ''
        check "repaired, the node is in service" $?
        cluster >/dev/null
}

# --- the controller is away ------------------------------------------------------------------------------------------------------------
# A step that ends meanwhile: slurmstepd tells it a minute later, and the node is free at most ten seconds after that (docs/clusters/jobs.md).
part_away() {
        local job pid i
        job=$(submit 'touch /export/data/runs; srun sh -c "touch /export/data/in; while [ ! -e /export/data/go ]; do sleep 0.2; done"; touch /export/data/over')
        within test -e "$HEAD/export/data/in"
        for pid in $(head_descendants "$(cat "$HEAD/pid/slurm")"); do
                [[ $(cat "/proc/$pid/comm" 2>/dev/null) != slurmctld ]] || kill -TERM "$pid"
        done
        slurmctld_is_gone() { ! kill -0 "$(cat "$HEAD/pid/slurm")" 2>/dev/null; }
        within slurmctld_is_gone
        head_stop slurm
        touch "$HEAD/export/data/go"
        # Long enough for the step to have tried in vain.
        sleep 15
        head_start slurm
        within test -e "$HEAD/export/data/over"
        check "a job runs on while the controller is away, to its end" $?
        for ((i = 0; i < 120; i++)); do [[ $(head_run sinfo -h -N -o %T) == idle ]] && break; sleep 1; done
        echo "# the node is free $i s later"
        job_ends "$job" && shows idle
        check "the job is complete, and its node free" $?
        job=$(submit 'true') && job_ends "$job"
        check "the next one runs" $?
        rm -f "$HEAD"/export/data/{runs,in,go,over}
}

for part in $ONLY; do "part_$part"; done
exit $rc
