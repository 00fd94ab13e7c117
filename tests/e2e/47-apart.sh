#!/bin/bash
# Two nodes that are really apart (apart.bash) and the head's controller: what hosts of one address cannot show. mpirun starts its own
# daemons on both by srun and ranks talk over the cable; a job outlives the head whose plug is pulled; a node's takes its job away, which comes back
# by itself.
#
# lane: clock
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then head_tree; fi
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/apart.bash"
trap node_end EXIT
home=$HEAD/export/home/alice

node_prepare 2 && node_start n1 && node_start n2 && node_ready 2
check "a controller and two nodes of their own" $?
[[ $rc -eq 0 ]] || exit 1
[[ $(node_as n1 alice id -nu) == alice && $(node_run n1 hostname) == n1 && $(node_run n2 ls /proc | grep -c '^[0-9]') -lt 40 ]]
check "a node has a name of its own, sees its own processes alone, and lets the user in" $?

batch() { # NAME OPTION…: the script from standard input, as the user; its output in $home/NAME.out
        local name=$1
        shift
        cat >"$home/$name"
        node_as n1 alice timeout 120 sbatch -p compute -o "$name.out" --open-mode=append "$@" "$name" >"$E2E/said" 2>&1
}
batch mpi -W -N 2 --ntasks-per-node=2 <<'B'
#!/bin/bash
mpirun mpi-hello
srun mpi-hello
B
sed 's/^/# /' "$home/mpi.out" | tail -n 12
[[ $(grep -c ' of 4 on n[12]' "$home/mpi.out") -eq 8 && $(grep -o 'on n[12]' "$home/mpi.out" | sort | uniq -c | tr -s ' \n' ' ') == ' 4 on n1 4 on n2 ' ]]
check "MPI on both nodes, by mpirun and by srun" $?

# The head's plug is pulled in mid-job: directory, munge and controller are gone at once, and come back.
batch through -N 2 <<'B'
#!/bin/bash
#SBATCH -e through.err
srun sh -c 'touch in.$(hostname); while [ ! -e go ]; do sleep 0.2; done; hostname'
B
for ((i = 0; i < 300; i++)); do [[ -e $home/in.n1 && -e $home/in.n2 ]] && break; sleep 0.2; done
sleep 6 # what the controller has heard is on its disk
head_stop slurm munge ldap
node_as n1 alice timeout 60 srun hostname >"$E2E/said" 2>&1
[[ $? -ne 0 ]] && grep -q 'Unable to contact slurm controller' "$E2E/said"
check "the head is away: a user is told" $?
head_start ldap munge slurm
touch "$home/go"
for ((i = 0; i < 300; i++)); do [[ -z $(head_run squeue -h) ]] && break; sleep 0.2; done
[[ $(sort "$home/through.out") == $'n1\nn2' && $(head_run scontrol show job -o | grep -c 'JobName=through .*JobState=COMPLETED') -eq 1 ]]
s=$?
check "… and a job in the middle of which it was is complete" $s
[[ $s -eq 0 ]] || { cat "$home"/through.*; head_run squeue; head_run scontrol show job -o; } | sed 's/^/# /'
node_ready 2 && [[ $(node_as n1 alice timeout 60 srun -N 2 hostname 2>"$E2E/said" | sort) == $'n1\nn2' ]]
check "… and the next one runs on both nodes" $?

batch again -N 2 --requeue <<'B'
#!/bin/bash
echo "begun ${SLURM_RESTART_COUNT:-0}"
[[ ${SLURM_RESTART_COUNT:-0} -gt 0 ]] || srun sh -c 'touch again.$(hostname); sleep 300'
B
# In the middle of its launch, srun would end the job itself, before the controller misses the node.
for ((i = 0; i < 300; i++)); do [[ -e $home/again.n1 && -e $home/again.n2 ]] && break; sleep 0.2; done
node_stop n2
for ((i = 0; i < 600; i++)); do [[ $(head_run squeue -h -o %T) != RUNNING ]] && break; sleep 0.2; done
node_start n2
# Slurm lets a job that it took back wait two minutes from when its last node has cleaned up, which takes a node as long as it waits for the other.
# Not let go at once: a node refuses a job whose credential is of the second in which it took the last one away, and the job is lost.
for ((until = SECONDS + 400; SECONDS < until; )); do
        grep -q 'begun [1-9]' "$home/again.out" && break
        job=$(head_run squeue -h -o '%i %T')
        [[ $? -ne 0 || -n $job ]] || break
        [[ $job != *' PENDING' ]] || { sleep 3; head_run scontrol update "JobId=${job% *}" StartTime=now 2>/dev/null; }
        sleep 0.2
done
for ((i = 0; i < 300; i++)); do [[ -z $(head_run squeue -h) ]] && break; sleep 0.2; done
[[ $(tr '\n' ' ' <"$home/again.out") == *'begun 0 '*'begun 1 '* ]]
s=$?
check "a node is pulled out in mid-job: the job comes back by itself once the node does" $s
[[ $s -eq 0 ]] || { cat "$home/again.out"; head_run sinfo -N -l -R; head_run scontrol show job -o; head_run scontrol show node -o; tail -n 40 "$HEAD_LOG"/{slurm,n1,n2}.log; } 2>&1 | sed 's/^/# /'
exit "$rc"
