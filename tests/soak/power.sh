#!/bin/bash
# The overlay slurm-power and a machine: the real slurmctld stops and starts a virtual one, which ends in order and boots again, and jobs run on
# it afterwards. A node with all that ours have: directory, file systems, disks, the agent that lets slurmd start. e2e/49-power has processes as machines,
# and what goes wrong.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
vm_suite "$@"
root=$HEAD/root data=$HEAD/export/data
overlay=$TOP/overlays/slurm-power
head_make || exit 1

# What the site's program asks for is done below, by this script: a machine is its own to end.
mkdir -p "$data/power" "$root/etc/slurm-power" "$root/usr/lib"
cp -a "$overlay/files/usr/lib/slurm-power" "$root/usr/lib/"
cat >"$root/etc/slurm-power/machine" <<'M'
#!/bin/sh
echo "$1 $2" >>/export/data/power/calls
M
chmod 0755 "$root/etc/slurm-power/machine"
: >"$data/power/calls"
{
        # Time for an emulated machine to end.
        sed 's/^SuspendTimeout=.*/SuspendTimeout=60/' "$overlay/files/etc/hpc-head/slurm.conf.d/45-slurm-power.conf"
        printf '%s\n' 'SlurmctldParameters=enable_configless,power_save_interval=1' 'SchedulerParameters=sched_interval=1,bf_interval=1'
} >>"$root/etc/slurm/slurm.conf"
sed -i '0,/^SlurmctldParameters=enable_configless$/{//d}' "$root/etc/slurm/slurm.conf"
head_start "${HEAD_SERVICES[@]}"
check "the head node runs" $?

shows() { # STATE SECONDS
        local i got
        for ((i = 0; i < $2 * 2; i++)); do
                got=$(head_run sinfo -h -N -o '%T|%E')
                [[ $got == "$1|"* ]] && return 0
                sleep 0.5
        done
        echo "# the controller shows $got"
        return 1
}
power() { head_run scontrol power "$@" "$NODE"; }
asked() { # WORD: what Slurm asks for next, and nothing else
        local i
        for ((i = 0; i < 600; i++)); do [[ -s $data/power/calls ]] && break; sleep 0.2; done
        [[ $(cat "$data/power/calls") == "$1 $NODE" ]] || { echo "# Slurm asked for: $(cat "$data/power/calls")"; return 1; }
        : >"$data/power/calls"
}
off() { # in order, as a cloud's stop does it: systemd ends all that runs
        local i
        asked stop || return 1
        vm 'systemctl --no-block poweroff' || return 1
        for ((i = 0; i < 1200; i++)); do kill -0 "$vm_pid" 2>/dev/null || break; sleep 0.5; done
        [[ $i -lt 1200 ]] || { echo "# the machine does not end"; return 1; }
        vm_off
}
on() { rm -f "$VM/boot.log" && asked start && vm_on ready; }
submit() { head_run sbatch --parsable -D / -o /dev/null --wrap "hostname >/data/ran.$1; cat /proc/uptime >/data/up.$1"; } # NAME
ran() { # NAME: within three minutes
        local i
        for ((i = 0; i < 360; i++)); do [[ -s $data/up.$1 ]] && break; sleep 0.5; done
        [[ $(cat "$data/ran.$1" 2>/dev/null) == "$NODE" ]]
}
told() { # WHAT STATUS
        check "$1" "$2"
        [[ $2 -eq 0 ]] || { head_run sinfo -N -l; head_run squeue; tail -n 25 "$HEAD_LOG/slurm.log"; tail -n 5 "$VM/boot.log"; cat "$data/power/calls"; } | sed 's/^/# /'
}

vm_fresh
vm_config "$(node_config)"
vm_resume && shows idle 600 && submit first >"$E2E/job" && ran first
told "a node is in service, and a job runs" $?
[[ $rc -eq 0 ]] || exit 1

power down && off && shows idle~ 120
told "scontrol power down: the machine is switched off, and Slurm knows it for off" $?
SECONDS=0
submit second >"$E2E/job" && on && ran second
told "a job switches it on, and runs" $?
echo "# $SECONDS s from sbatch to the job's end"
[[ $(cut -d. -f1 "$data/up.second") -lt $SECONDS ]]
told "… on a machine that has just begun" $?
shows idle 120 && vm_status && vm_is 'o["boots"]' 2
told "the node is in service again, by its own steps" $?

power down && off && shows idle~ 120 && power up && on && shows idle 120
told "scontrol power up: it is there before a job" $?
submit third >"$E2E/job" && ran third && [[ ! -s $data/power/calls ]]
told "… which runs at once, and nothing else was asked for" $?

# Switched off under a job, which is to be over first.
head_run sbatch -D / -o /dev/null --wrap "touch /data/runs; while [ ! -e /data/go ]; do sleep 0.2; done; hostname >/data/ran.fourth; touch /data/over; cat /proc/uptime >/data/up.fourth" >"$E2E/job"
for ((i = 0; i < 300; i++)); do [[ -e $data/runs ]] && break; sleep 0.5; done
power down asap
sleep 5
[[ -e $data/runs && ! -s $data/power/calls ]]
told "power down asap waits for a job" $?
touch "$data/go"
ran fourth && off && shows idle~ 120
told "… and stops the machine when it is over" $?
submit fifth >"$E2E/job" && on && ran fifth
told "the next job has it again" $?
exit $rc
