#!/bin/bash
# The frameworks of docs/clusters/ml-cluster.md in real jobs: a controller and two nodes, each with namespaces of its own (tests/e2e/apart.bash),
# from the head's tree with the frameworks' overlays. The guide's scripts, with the partition's and modules' names of ours, by a user whom the
# nodes have from the directory. Training data is made up; what is asked is that all ranks end with the same weights and a smaller loss.
#
# lane: compute
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        own_project
        sed -i 's/"overlays": \["head", /&"ldap-client", "ml-horovod", "ml-ray", "mpi4py", /' "$RECIPES/head.json"
        sed -i 's/"slurm-client", /&"openssh-server", /' "$PROJECT/overlays/head/overlay.json"
        head_build || { echo "not ok - the head's tree with the frameworks builds"; exit 1; }
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/apart.bash"
source "$TOP/tests/e2e/trained.bash"
trap node_end EXIT
home=$HEAD/export/home/alice

begun=$EPOCHREALTIME
node_prepare 2 && node_start n1 && node_start n2 && node_ready 2
check "a controller and two nodes of their own" $?
[[ $rc -eq 0 ]] || exit 1
awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "# ready after %.1f s\n", b - a }'

# batch NAME [OPTION…]: the job's own files are $home/NAME.oJOB and .eJOB, as in the guide; all of them in $home/NAME.said.
batch() {
        local name=$1
        shift
        submitted=$EPOCHREALTIME
        alice timeout 400 sbatch -W -J "${name%.sh}" "$@" "$name" >"$home/$name.said" 2>&1
        cat "$home/${name%.sh}".[oe][0-9]* >>"$home/$name.said" 2>/dev/null
}

[[ $(alice ssh n2 hostname) == n2 && $(alice id -nu) == alice && $(node_run n2 ls /proc | grep -c '^[0-9]') -lt 40 ]]
check "users come from the directory, ssh between nodes asks for nothing, a node sees its own processes alone" $?

put train.py <"$TOP/tests/fixtures/train.py"

# --- Horovod --------------------------------------------------------------------------------------------
put horovod.sh <<'B'
#!/bin/bash
#SBATCH -J test_job
#SBATCH -p compute
#SBATCH -N 2
#SBATCH -n 4
#SBATCH -o %x.o%j
#SBATCH -e %x.e%j
#SBATCH --time 00:30:00
#SBATCH --comment pytorch

module purge
module load torch

horovodrun -np 2 python train.py horovod
B
batch horovod.sh
trained "$home/horovod.sh.said" 2 1
told "the guide's job: horovodrun -np 2" $? "$home/horovod.sh.said"

for controller in '' --gloo '--gloo --network-interface eth0'; do
        interactive torch "horovodrun $controller -np 4 -H n1:2,n2:2 python train.py horovod"
        trained "$home/said" 4 2
        told "salloc, then horovodrun $controller -np 4 -H n1:2,n2:2" $? "$home/said"
done
alice bash -lc 'module load torch; horovodrun -cb' >"$home/said" 2>&1
grep -q '\[X\] PyTorch' "$home/said" && grep -q '\[X\] MPI' "$home/said" && grep -q '\[X\] Gloo' "$home/said"
told "horovodrun -cb shows PyTorch, MPI and Gloo" $? "$home/said"
put horovod-srun.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node=2 -o %x.o%j -e %x.e%j
module load torch
srun python train.py horovod
B
batch horovod-srun.sh
trained "$home/horovod-srun.sh.said" 4 2
told "Horovod by srun alone" $? "$home/horovod-srun.sh.said"

# --- DDP ------------------------------------------------------------------------------------------------
put ddp.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 -o %x.o%j -e %x.e%j
module load torch
srun -K --ntasks-per-node=2 python train.py ddp
B
batch ddp.sh --ntasks-per-node=2
first_step "$home/ddp.sh.said" "$submitted"
trained "$home/ddp.sh.said" 4 2
told "DDP by srun, with what job-env says alone" $? "$home/ddp.sh.said"
put torchrun.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node=1 --cpus-per-task=2 -o %x.o%j -e %x.e%j
module load torch
srun -K torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" train.py ddp
B
batch torchrun.sh
first_step "$home/torchrun.sh.said" "$submitted"
trained "$home/torchrun.sh.said" 4 2
told "DDP by torchrun" $? "$home/torchrun.sh.said"

# --- trouble --------------------------------------------------------------------------------------------
begun=$SECONDS
batch ddp.sh --ntasks-per-node=2 --export=ALL,DIES=3:10
[[ $((SECONDS - begun)) -lt 100 ]] && grep -Eq 'Exited with exit code 7|task 3: .*7' "$home/ddp.sh.said" && nothing_left
told "a rank that dies ends the job with its exit code, and nothing is left" $? "$home/ddp.sh.said"
begun=$SECONDS
batch ddp.sh --ntasks-per-node=2 --export=ALL,HANGS=3:10,LIMIT=20
[[ $((SECONDS - begun)) -lt 100 ]] && grep -Eqi 'timed out|timeout' "$home/ddp.sh.said" && nothing_left
told "a rank that hangs ends the job within the time that the program set, and nothing is left" $? "$home/ddp.sh.said"
begun=$SECONDS
batch torchrun.sh --export=ALL,HANGS=3:init,LIMIT=20
[[ $((SECONDS - begun)) -lt 100 ]] && grep -Eqi 'timed out|timeout' "$home/torchrun.sh.said" && nothing_left
told "… one that hangs before Gloo's first word, too" $? "$home/torchrun.sh.said"

# --- mpi4py ---------------------------------------------------------------------------------------------
put mpi4py.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node=2 -o %x.o%j -e %x.e%j
module load mpi4py
cat >sum.py <<'P'
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
total = numpy.zeros(4)
world.Allreduce(numpy.full(4, world.rank + 1.0), total)
names = world.gather(MPI.Get_processor_name())
if world.rank == 0:
    print("sum", world.size, len(set(names)), total.min(), total.max())
P
srun python sum.py
mpirun python sum.py
B
batch mpi4py.sh
[[ $(grep -c '^sum 4 2 10.0 10.0$' "$home/mpi4py.sh.said") -eq 2 ]]
told "mpi4py adds up on both nodes, by srun and by mpirun" $? "$home/mpi4py.sh.said"

# --- Ray ------------------------------------------------------------------------------------------------
put test.py <<'P'
import os
import time
import ray

ray.init()

@ray.remote
def f(x):
    return x * x

futures = [f.remote(i) for i in range(4)]
print(ray.get(futures)) # [0, 1, 4, 9]

@ray.remote
class Counter(object):
    def __init__(self):
        self.n = 0

    def increment(self):
        self.n += 1

    def read(self):
        return self.n

counters = [Counter.remote() for i in range(4)]
[c.increment.remote() for c in counters]
futures = [c.read.remote() for c in counters]
print(ray.get(futures)) # [1, 1, 1, 1]

@ray.remote(num_cpus=4)
def where():
    time.sleep(5)  # a whole node's processors, so that two of them are on two
    return os.uname().nodename

print("on", len(set(ray.get([where.remote() for _ in range(2)]))))
P
put ray.sh <<'B'
#!/bin/bash
#SBATCH -J ray_test -p compute --nodes=2 --ntasks-per-node=4 -o %x.o%j -e %x.e%j --comment etc
module load ray
ray-slurm python test.py
B
batch ray.sh
grep -qF '[0, 1, 4, 9]' "$home/ray.sh.said" && grep -qF '[1, 1, 1, 1]' "$home/ray.sh.said" && grep -q '^on 2$' "$home/ray.sh.said"
told "Ray's cluster of two nodes by ray-slurm: the guide's test.py, tasks on both" $? "$home/ray.sh.said"

# --- a checkpoint, and a node that dies -----------------------------------------------------------------
put resume.sh <<'B'
#!/bin/bash
#SBATCH -p compute -N 2 --ntasks-per-node=2 --requeue --open-mode=append -o %x.o%j -e %x.e%j
module load torch
srun -K python train.py ddp
B
rm -f "$home"/resume.[oe]*
alice sbatch -J resume --parsable --export=ALL,CHECKPOINT=/home/alice/state.pt,STEPS=60,SLOW=0.5 resume.sh >"$home/job" 2>&1
job=$(tail -n 1 "$home/job")
for ((i = 0; i < 300; i++)); do [[ -s $home/state.pt ]] && break; sleep 0.2; done
sleep 5
[[ -s $home/state.pt && $(head_run squeue -h -j "$job" -o %T) == RUNNING ]]
told "a job that writes checkpoints runs" $? "$home"/resume.[oe]*
node_stop n2
for ((i = 0; i < 600; i++)); do [[ $(head_run squeue -h -j "$job" -o %T) != RUNNING ]] && break; sleep 0.2; done
node_start n2
for ((i = 0; i < 1500; i++)); do [[ -z $(head_run squeue -h -j "$job" -o %T 2>/dev/null) ]] && break; sleep 0.2; done
cat "$home"/resume.[oe]* >"$home/resume.said"
trained "$home/resume.said" 4 2 && [[ $(grep -c 'resumes at step [1-9]' "$home/resume.said") -ge 4 ]]
told "a node is pulled out in mid-run: the job comes back by itself and goes on from its checkpoint" $? "$home/resume.said"
exit "$rc"
