#!/bin/bash
# The overlay slurm-gpu in real jobs: slurmctld and three slurmds from the head's tree, without a machine. GPUs are doubles, what NVIDIA's driver
# shows below /proc: a job has as many as it asked for, and no two have one
# together; a node that has fewer than it promised gets no job. And the overlay slurm-tmp: each job has a /tmp of its own.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then head_tree; fi
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/nodes.bash"
trap nodes_end EXIT
data=$HEAD/export/data
cp "$TOP"/overlays/slurm-gpu/files/etc/slurm/*.conf "$HEAD/root/etc/slurm/"

# What NVIDIA's driver shows of four GPUs; n3 has lost one.
for n in 1 2 3; do
        for i in 0 1 2 3; do
                [[ $n$i != 33 ]] || continue
                gpu=0000:0$i:00.0
                mkdir -p "$E2E/driver$n/nvidia/gpus/$gpu" "$E2E/sys/bus/pci/drivers/nvidia/$gpu"
                printf 'Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-%d\nBus Location: \t %s\nDevice Minor: \t %d\n' $i $gpu $i >"$E2E/driver$n/nvidia/gpus/$gpu/information"
                echo 0-1 >"$E2E/sys/bus/pci/drivers/nvidia/$gpu/local_cpulist"
        done
done
NODE_OPTIONS=(--ro-bind "$E2E/sys" /sys --ro-bind "$E2E/driver@" /proc/driver)
# A local disk each. On one processor, where this kernel gives mount namespaces numbers that do not grow from one processor to the next (6.18):
# Slurm mounts a new one below its own, which the kernel takes for a loop then.
NODE_BEFORE=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')")
for n in 1 2 3; do mkdir -p "$HEAD/disk$n" && mount -t tmpfs disk "$HEAD/disk$n" || exit 1; done
mkdir -p "$HEAD/root/mnt/localdisk"
NODE_OPTIONS+=(--bind "$HEAD/disk@" /mnt/localdisk)
cp -a "$TOP/overlays/slurm-tmp/files/." "$HEAD/root/"
mkdir -p "$HEAD/root/usr/lib/hpc-head" && cp "$TOP/overlays/hpc-head/files/usr/lib/hpc-head/new-cluster" "$HEAD/root/usr/lib/hpc-head/"
cp "$TOP/overlays/slurm-tmp/check-slurm-tmp.sh" "$HEAD/root/root/"
for i in 0 1 2 3; do NODE_OPTIONS+=(--dev-bind /dev/null "/dev/nvidia$i"); done
NODE_LINE='Gres=gpu:4' NODES_IDLE=2
# Without its accounting, which the head's tree has not.
mapfile -t lines < <(cat "$TOP"/overlays/slurm-gpu/files/etc/hpc-head/slurm.conf.d/*.conf | grep -v AccountingStorageTRES)
mapfile -t -O ${#lines[@]} lines <"$TOP/overlays/slurm-tmp/files/etc/hpc-head/slurm.conf.d/42-slurm-tmp.conf"
mapfile -t -O ${#lines[@]} lines < <(grep -E '^(PrologFlags|HealthCheckNodeState|SchedulerParameters)=' "$TOP/overlays/hpc-head/files/usr/lib/hpc-head/new-cluster")
nodes_start "${lines[@]}"
check "two nodes have the GPUs that they promised" $?
[[ $rc -eq 0 ]] || exit 1
for ((i = 0; i < 300; i++)); do state=$(head_run sinfo -h -N -n n3 -o '%T|%E'); [[ $state == *lower* ]] && break; sleep 0.2; done
is() { # WHAT GOT WANTED
        [[ $2 == "$3" ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || printf '# got    %s\n# wanted %s\n' "$2" "$3"
}
is "one that has lost a GPU is drained, and says why" "$state" 'inval|gres/gpu count reported lower than configured (3 < 4)'
# Standard output alone: srun says on the other when it has to wait.
run() { head_run sh -c "cd /export/data; $1" 2>>"$E2E/said"; }
gpus='echo $(hostname) $CUDA_VISIBLE_DEVICES'
is "--gpus-per-node on both" "$(run "srun -N 2 --gpus-per-node=3 sh -c '$gpus' | sort | tr '\n' ';'")" 'n1 0,1,2;n2 0,1,2;'
is "--gpus-per-task: each task its own" "$(run "srun -N 1 -n 4 --gpus-per-task=1 --gpu-bind=per_task:1 sh -c 'echo \$SLURM_LOCALID \$CUDA_VISIBLE_DEVICES' | sort | tr '\n' ';'")" '0 0;1 1;2 2;3 3;'
is "no GPU without asking" "$(run "srun -N 1 sh -c 'echo \${CUDA_VISIBLE_DEVICES-none}'")" none
is "MPI's tasks find PMIx' files, though each job has a /tmp of its own" "$(run 'OMPI_MCA_btl_tcp_if_include=lo srun --mpi=pmix -N 2 -n 4 mpi-hello | grep ring')" 'the ring of 4 is well'
[[ $(run 'srun -N 1 --gpus-per-node=5 true 2>&1') == *'Requested node configuration is not available'* ]]
check "more than a node has are refused at once" $?

# Two jobs on one node, each waits for the other.
cat >"$data/beside" <<'B'
#!/bin/bash
touch "here.$1"
for ((i = 0; i < 600; i++)); do [[ -e here.a && -e here.b ]] && break; sleep 0.1; done
echo "$CUDA_VISIBLE_DEVICES" >"saw.$1"
B
chmod 0755 "$data/beside"
run 'for j in a b; do timeout 120 srun -w n1 -N 1 --gpus-per-node=2 ./beside $j & done; wait'
is "two jobs on a node have two GPUs each, none in common" "$(cat "$data"/saw.[ab] | tr ',' '\n' | sort | tr '\n' ' ')" '0 1 2 3 '
run 'id=$(sbatch --parsable -w n1 -N 1 --gpus-per-node=4 -o killed --wrap "srun sh -c \"touch up; sleep 300\"")
        for i in $(seq 300); do [ -e up ] && break; sleep 0.2; done; scancel $id; for i in $(seq 300); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done'
is "the GPUs of a killed job are free again" "$(run "srun -w n1 -N 1 --gpus-per-node=4 sh -c '$gpus'")" 'n1 0,1,2,3'

# --- a job's own /tmp ---------------------------------------------------------------------------------------------------------
head_run /root/check-slurm-tmp.sh
check "slurm-tmp: the overlay's check passes" $?
cat >"$data/own" <<'O'
#!/bin/sh
# What is there already, whose it is, and what stays.
echo "$(ls -A /tmp /var/tmp | grep -vc '^/\|^$') $(stat -c '%u %a' /tmp) $(df --output=target /tmp | tail -n 1)" >"own.$1"
touch /tmp/mine /var/tmp/mine /dev/shm/mine
srun -n 1 test -e /tmp/mine && echo step >>"own.$1"
O
chmod 0755 "$data/own"
echo somebody >"$HEAD/export/data/theirs"
run 'timeout 200 sbatch -W -n 1 --array=1-30%8 -o /dev/null --wrap "./own \$SLURM_ARRAY_TASK_ID" >/dev/null'
is "thirty jobs find an empty /tmp of their own, and their steps find what they put there" "$(cat "$data"/own.* | sort | uniq -c | xargs)" '30 0 0 700 /tmp 30 step'
left() { find "$HEAD"/disk[123]/jobs -mindepth 2; grep -s "$HEAD/disk./jobs/./" /proc/self/mounts; }
for ((i = 0; i < 100; i++)); do [[ -z $(left) ]] && break; sleep 0.2; done
is "nothing of it is left on the local disks" "$(left)" ''
cat >"$data/fills" <<'F'
#!/bin/sh
touch /tmp/mine /var/tmp/mine && mkdir -p /tmp/deep/er && touch "fills.$1" && sleep 4000
F
chmod 0755 "$data/fills"
run 'id=$(sbatch --parsable -w n1 -n 1 --array=1-3 -o /dev/null --wrap "srun ./fills \$SLURM_ARRAY_TASK_ID"); for i in $(seq 300); do [ -e fills.3 ] && [ -e fills.2 ] && [ -e fills.1 ] && break; sleep 0.2; done
        scancel $id; for i in $(seq 300); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done'
for ((i = 0; i < 100; i++)); do [[ -z $(left) ]] && break; sleep 0.2; done
is "… nor of jobs that were killed" "$(ls "$data"/fills.? | wc -l) $(left)" '3 '
# The node loses its power in mid-job; its disk is the same afterwards.
run 'sbatch -w n1 -n 1 --no-requeue -o /dev/null --wrap "srun ./fills cut" >/dev/null; for i in $(seq 300); do [ -e fills.cut ] && break; sleep 0.2; done'
nodes_cut 1
before=$(left | wc -l)
nodes_launch 1
for ((i = 0; i < 300; i++)); do [[ -z $(head_run squeue -h) && -z $(left) ]] && break; sleep 0.2; done
is "a node loses its power in mid-job: what that one left is gone once the node is back" "$([[ $before -gt 0 ]] && echo some) $(left)" 'some '
is "jobs two on a node do not see each other's" "$(run 'for j in 1 2; do timeout 60 srun -w n1 -n 1 sh -c "echo $j >/tmp/name; sleep 1; cat /tmp/name" & done; wait' | sort | xargs)" '1 2'
exit $rc
