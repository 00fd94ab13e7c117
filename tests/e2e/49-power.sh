#!/bin/bash
# The overlay slurm-power with the real slurmctld, and two slurmds as nodes whose machines can be stopped and started; machines are processes here. One
# node is in slurm.conf, the other registers itself, as ours do. What is seen to the end each time is the job that comes after.
#
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then head_tree; fi
head_enter "$@"
head_make || exit 1
root=$HEAD/root data=$HEAD/export/data
overlay=$TOP/overlays/slurm-power

# The power supply: what the site's program asks for, done a moment later. A machine is a slurmd in a sandbox, killed at once with all that it runs.
machine_on() {
        local options=
        [[ $1 == n1 ]] || options=-Z
        bwrap --bind "$root" / --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --tmpfs /run --bind "$HEAD/run/munge" /run/munge --bind "$HEAD/export" /export \
                --unshare-uts --unshare-pid --hostname "$1" --cap-add ALL --die-with-parent --new-session slurmd -D -b -N "$1" $options >>"$HEAD_LOG/$1.log" 2>&1 &
        echo $! >"$HEAD/pid/$1"
}
machine_off() { [[ ! -e $HEAD/pid/$1 ]] || head_stop "$1"; }
supply() {
        local file
        trap 'machine_off n1; machine_off n2; exit 0' TERM
        while sleep 0.1; do
                for file in "$data"/power/*.asked; do
                        [[ -e $file ]] || continue
                        read -r action node <"$file"
                        rm "$file"
                        case $action in
                        start) [[ -e $data/dead.$node ]] || machine_on "$node" ;;
                        stop) machine_off "$node" ;;
                        esac
                done
        done
}
mkdir -p "$data/power" "$root/etc/slurm-power" "$root"/var/spool/slurmd.n{1,2}
chmod 1777 "$data" "$data/power"
cp -a "$overlay/files/usr/lib/slurm-power" "$root/usr/lib/"
cat >"$root/etc/slurm-power/machine" <<'M'
#!/bin/sh
echo "$1 $2" >>/export/data/calls
if [ -e "/export/data/full.$2" ]; then echo 'no capacity left' >&2; exit 1; fi
echo "$1 $2" >"/export/data/power/$2.new" && mv "/export/data/power/$2.new" "/export/data/power/$2.$$.asked"
M
chmod 0755 "$root/etc/slurm-power/machine"
cp "$overlay/files/etc/hpc-head/slurm.conf.d/45-slurm-power.conf" "$HEAD/lines"
mkdir -p "$root/etc/hpc-head/slurm.conf.d" && cp "$HEAD/lines" "$root/etc/hpc-head/slurm.conf.d/45-slurm-power.conf"
cp "$overlay/check-slurm-power.sh" "$root/root/"
head_run /root/check-slurm-power.sh
check "the overlay's check passes" $?

echo 'CgroupPlugin=disabled' >"$root/etc/slurm/cgroup.conf"
sed -i -E '/^(NodeName|SlurmdSpoolDir|SlurmctldParameters)=/d' "$root/etc/slurm/slurm.conf"
{
        # The overlay's lines, with the times of machines that need no minutes.
        sed 's/^SuspendTimeout=.*/SuspendTimeout=2/; s/^ResumeTimeout=.*/ResumeTimeout=20/' "$HEAD/lines"
        printf '%s\n' 'SlurmctldParameters=enable_configless,power_save_interval=1' 'SchedulerParameters=sched_interval=1,bf_interval=1' 'MaxNodeCount=8' 'SlurmdPort=17002' \
                'SlurmdSpoolDir=/var/spool/slurmd.%n' 'SelectTypeParameters=CR_CPU' 'TreeWidth=65533' 'NodeName=n1 NodeAddr=127.0.0.1 Port=17001 CPUs=1 RealMemory=100'
} >>"$root/etc/slurm/slurm.conf"
printf '127.0.0.1 n%d\n' 1 2 >>"$root/etc/hosts"
head_start munge slurm
supply &
supply=$!
trap 'kill "$supply" 2>/dev/null; wait "$supply" 2>/dev/null; head_stop n1 n2 "${HEAD_SERVICES[@]}"' EXIT

# Standard output alone: srun says on the other when it has to wait.
run() { head_run sh -c "cd /export/data; $1" 2>>"$E2E/said"; }
state_of() { head_run sinfo -h -N -n "$1" -o '%T|%E'; }
shows() { # NODE STATE [REASON]
        local i got
        for ((i = 0; i < 300; i++)); do
                got=$(state_of "$1")
                [[ $got == $2"|${3:-}"* ]] && return 0
                sleep 0.2
        done
        echo "# $1 is $got"
        return 1
}
power() { head_run scontrol power "$@"; }
is_off() { ! pgrep -f "slurmd -D -b -N $1( |\$)" >/dev/null; }
both() { [[ $(run 'timeout 100 srun -N 2 hostname' | sort | tr '\n' ' ') == 'n1 n2 ' ]]; }
told() { # WHAT STATUS
        check "$1" "$2"
        [[ $2 -eq 0 ]] || { head_run sinfo -N -l; head_run squeue; tail -n 25 "$HEAD_LOG/slurm.log"; tail -n 5 "$HEAD_LOG"/n?.log; cat "$data/calls"; } | sed 's/^/# /'
}

echo 'start n1' >"$data/power/n1.0.asked"
echo 'start n2' >"$data/power/n2.0.asked"
shows n1 idle && shows n2 idle && both
told "a node of slurm.conf's and one that registered itself, and a job on both" $?
[[ $rc -eq 0 ]] || exit 1

: >"$data/calls"
power down n1,n2
shows n1 idle~ && shows n2 idle~ && is_off n1 && is_off n2 && [[ $(sort "$data/calls") == $'stop n1\nstop n2' ]]
told "scontrol power down: both machines are off" $?
both && [[ $(sort "$data/calls") == $'start n1\nstart n2\nstop n1\nstop n2' ]]
told "a job for both starts them, and runs on both" $?
power down n2
shows n2 idle~
power up n2
shows n2 idle && both
told "scontrol power up: the machine is there before the job, which runs" $?

# In the middle of a job: the machine stays until the job is over.
head_run sh -c "cd /export/data && sbatch -N 2 -o through -e through.err --wrap 'srun sh -c \"touch runs.\\\$(hostname); while [ ! -e go ]; do sleep 0.2; done; hostname\"'" >/dev/null
for ((i = 0; i < 300; i++)); do [[ -e $data/runs.n1 && -e $data/runs.n2 ]] && break; sleep 0.2; done
power down asap n2
shows n2 'drain*' && ! is_off n2
told "power down asap waits for the job that runs there" $?
touch "$data/go"
shows n2 idle~ && is_off n2 && [[ $(sort "$data/through") == $'n1\nn2' ]]
told "… whose output is whole, and then stops the machine" $?
both
told "the next job starts it again" $?

# No machine to be had.
power down n2
shows n2 idle~
touch "$data/full.n2"
job=$(run "sbatch --parsable -N 2 -o late -e late.err --wrap 'srun hostname'")
shows n2 down~ '[power] start failed: no capacity left'
told "a machine that cannot be had: the node is down and off, and says why" $?
for ((i = 0; i < 100; i++)); do [[ $(head_run squeue -h -j "$job" -o %T) == PENDING ]] && break; sleep 0.2; done
[[ $(head_run squeue -h -j "$job" -o %T) == PENDING ]]
told "… its job waits" $?
rm "$data/full.n2"
head_run scontrol update NodeName=n2 State=RESUME
# Slurm lets a requeued job wait for two minutes.
head_run scontrol update JobId="$job" StartTime=now
for ((i = 0; i < 300; i++)); do [[ -s $data/late ]] && [[ $(wc -l <"$data/late") -eq 2 ]] && break; sleep 0.2; done
[[ $(sort "$data/late") == $'n1\nn2' ]]
told "… and runs once there are machines again" $?
[[ $rc -eq 0 ]] || exit 1

# One that is started and never registers.
power down n2
shows n2 idle~
touch "$data/dead.n2"
: >"$data/calls"
power up n2
shows n2 down~ 'ResumeTimeout reached'
for ((i = 0; i < 100; i++)); do grep -q '^stop n2' "$data/calls" && break; sleep 0.2; done
[[ $(head -n 2 "$data/calls") == $'start n2\nstop n2' ]]
told "one that does not register in time is down, and its machine is stopped" $?
rm "$data/dead.n2"
head_run scontrol update NodeName=n2 State=RESUME
shows n2 idle~ && both
told "… resumed, it is started for the next job" $?
power down n2
shows n2 idle~
head_run scontrol reconfigure
both
told "so it is where Slurm has read its configuration anew in between" $?
exit $rc
