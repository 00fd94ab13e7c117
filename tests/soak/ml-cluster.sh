#!/bin/bash
# Submitit, Ray and PyTorch in real jobs, as docs/clusters/ml-cluster.md has it: a controller and three slurmds from the head's tree with those
# overlays, without a machine. The guide's scripts, with the partition's and Python's names of ours; an array of ten; a job that fails; training
# on two nodes by torchrun and by srun alone; ranks that die or hang; a node that is killed in the middle.
#
# lane: compute
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        own_project
        sed -i 's/"overlays": \["head", /&"ml-submitit", "ml-ray", "ml-torch-cpu", /' "$RECIPES/head.json"
        head_build || { echo "not ok - the head's tree with Submitit, Ray and PyTorch builds"; exit 1; }
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/nodes.bash"
trap nodes_end EXIT
data=$HEAD/export/data
PLUGSTACK='optional spank_job_env.so' NODE_OPTIONS=()
nodes_start
check "a controller and three nodes" $?
[[ $rc -eq 0 ]] || exit 1

# submitted NAME: $data/NAME is run on the head; its output is in $data/NAME.said.
submitted() {
        chmod 0755 "$data/$1"
        head_run sh -c "cd /export/data && timeout 300 ./$1" >"$data/$1.said" 2>&1
}
told() { # WHAT STATUS FILE
        check "$1" "$2"
        [[ $2 -eq 0 ]] || tail -n 5 "$3" | sed 's/^/# /'
}

cat >"$data/add.py" <<'P'
#!/opt/ml/submitit/bin/python3
import submitit

def add(a, b):
    return a + b

# create slurm wrapper object
executor = submitit.AutoExecutor(folder="log_test")
# update slurm parameters
executor.update_parameters(slurm_partition="all", slurm_comment="python")
# submit job
job = executor.submit(add, 5, 7)
# print job ID
print(job.job_id)
# print result
print(job.result())
P
submitted add.py
[[ $(tail -n 1 "$data/add.py.said") == 12 && $(head -n 1 "$data/add.py.said") =~ ^[0-9]+$ ]]
told "the guide's add.py gives a job's number and 12" $? "$data/add.py.said"
job=$(head -n 1 "$data/add.py.said")
grep -q 'srun .*/opt/ml/submitit/bin/python3.* -m submitit.core._submit' "$data/log_test/${job}_submission.sh" && [[ -e $data/log_test/${job}_0_result.pkl ]]
check "its script and its result lie where the guide has them" $?

cat >"$data/add_para.py" <<'P'
#!/opt/ml/submitit/bin/python3
import submitit

def add(a, b):
    return a + b

executor = submitit.AutoExecutor(folder="log_test")
executor.update_parameters(slurm_partition="all", slurm_comment="python", tasks_per_node=3)
job = executor.submit(add, 5, 7)
print(job.job_id)
print(job.results())
P
submitted add_para.py
[[ $(tail -n 1 "$data/add_para.py.said") == '[12, 12, 12]' ]]
told "the guide's job of three tasks" $? "$data/add_para.py.said"

cat >"$data/array.py" <<'P'
#!/opt/ml/submitit/bin/python3
import socket
import submitit

def square(n):
    return n * n, socket.gethostname()

executor = submitit.AutoExecutor(folder="log_array")
executor.update_parameters(slurm_partition="all", slurm_array_parallelism=10, cpus_per_task=4)
jobs = executor.map_array(square, range(10))
results = [job.result() for job in jobs]
print(len({job.job_id.split("_")[0] for job in jobs}), len({host for _, host in results}))
print([n for n, _ in results])
P
submitted array.py
[[ $(tail -n 1 "$data/array.py.said") == '[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]' && $(tail -n 2 "$data/array.py.said" | head -n 1) =~ ^1\ [23]$ ]]
told "an array of ten is one job, on more than one node, with ten results" $? "$data/array.py.said"

cat >"$data/failing.py" <<'P'
#!/opt/ml/submitit/bin/python3
import submitit

executor = submitit.AutoExecutor(folder="log_failing")
executor.update_parameters(slurm_partition="all")
job = executor.submit(int, "seven")
try:
    job.result()
except submitit.core.utils.FailedJobError as error:
    print(str(error).strip().splitlines()[-1] if "Traceback" not in str(error) else [l for l in str(error).splitlines() if "ValueError" in l][-1].strip())
P
submitted failing.py
grep -q "ValueError: invalid literal for int() with base 10: 'seven'" "$data/failing.py.said"
told "a job that fails is reported with its exception" $? "$data/failing.py.said"

cat >"$data/run.sh" <<'S'
#!/bin/bash
#SBATCH --comment="python"
#SBATCH --job-name=submitit
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --partition=all
#SBATCH -o run.out

./add.py
S
head_run sh -c 'cd /export/data && timeout 300 sbatch -W --parsable run.sh' >"$data/run.said" 2>&1
[[ $(tail -n 1 "$data/run.out") == 12 ]]
told "the guide's run.sh by sbatch: a job that submits one, and waits for it" $? "$data/run.out"

# --- Ray: the guide's test.py, but for its indentation, which Python refuses -----------------------------------------
cat >"$data/test.py" <<'P'
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
P
cat >"$data/where.py" <<'P'
import os
import time

import ray

ray.init()

@ray.remote(num_cpus=2)
def where(_):
    time.sleep(5)
    return os.environ["SLURMD_NODENAME"]

print("tasks on", *sorted(ray.get([where.remote(i) for i in range(4)])))
P
cat >"$data/ray.sbatch" <<'S'
#!/bin/bash
#SBATCH -J ray_test -p all --nodes=2 --ntasks-per-node=4 --comment etc -o ray.out
source /etc/profile
module load ray
ray-slurm python test.py && ray-slurm python where.py
code=$?
srun --ntasks-per-node=1 -n 2 sh -c 'ls -d /tmp/ray* 2>/dev/null'
exit $code
S
sed 's/--nodes=2/--nodes=1/; s/ray.out/ray-one.out/; /^ray-slurm/s/.*/python test.py/; /^srun/d' "$data/ray.sbatch" >"$data/ray-one.sbatch"
said() { told "$1" "$2" "$data/$3"; }
job() { head_run sh -c 'cd /export/data && exec timeout 400 sbatch -W --parsable "$@"' sbatch "$@" >"$data/job"; }
job ray-one.sbatch && grep -qxF '[0, 1, 4, 9]' "$data/ray-one.out" && grep -qxF '[1, 1, 1, 1]' "$data/ray-one.out"
said "the guide's test.py on one node, without anything" $? ray-one.out
job ray.sbatch && grep -qxF '[0, 1, 4, 9]' "$data/ray.out" && grep -qxF '[1, 1, 1, 1]' "$data/ray.out"
said "… and in a cluster of two nodes, by ray-slurm" $? ray.out
[[ $(grep '^tasks on' "$data/ray.out") == 'tasks on n1 n1 n2 n2' ]] && ! grep -q '^/tmp/ray' "$data/ray.out"
said "four tasks on both nodes, and nothing of Ray is left on them" $? ray.out

# --- PyTorch: DDP on two nodes with two processes each --------------------------------------------------------------
cat >"$data/ddp.py" <<'P'
import datetime, hashlib, os, signal, socket, sys, time

import torch
from torch import distributed

steps, checkpoint, trouble = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
rank, world = distributed.get_rank(), distributed.get_world_size()
torch.manual_seed(rank)  # what makes the weights alike is DDP
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
made = torch.Generator().manual_seed(5)
x = torch.randn(256, 8, generator=made)
y = (x @ torch.randn(8, 1, generator=made)).sin()
x, y = x[rank::world], y[rank::world]
first = 0
if os.path.exists(checkpoint):
    state = torch.load(checkpoint, weights_only=True)
    model.module.load_state_dict(state["model"])
    first = state["step"]
losses = []
for step in range(first, steps):
    if trouble and step == 5 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL) if trouble[0] == "killed" else time.sleep(3600)
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    distributed.all_reduce(mean)
    losses.append(mean.item() / world)
    if rank == 0 and step % 5 == 4:
        torch.save({"model": model.module.state_dict(), "step": step + 1}, checkpoint + ".new")
        os.rename(checkpoint + ".new", checkpoint)
    if os.environ.get("SLOWLY"):
        time.sleep(0.5)
weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
print(f"rank {rank} of {world} on {socket.gethostname()} from {first} loss {losses[0]:.5f} {losses[-1]:.5f} weights {weights}", flush=True)
distributed.destroy_process_group()
P
# Where both nodes are this host, Gloo is told its network; on machines it finds its own.
ddp_head='#!/bin/bash
#SBATCH -p all --nodes=2 -o %x.out --open-mode=append
source /etc/profile
module load torch
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo'
# One line a rank, on both nodes, a loss that falls, the same weights.
trained() { # FILE RANKS [resumed]
        python3 - "$data/$1" "$2" "${3:-anew}" <<'P'
import re, sys
form = re.compile(r"rank (\d+) of (\d+) on (\S+) from (\d+) loss (\S+) (\S+) weights (\w{64})")
lines = [m for m in (form.fullmatch(line.strip()) for line in open(sys.argv[1])) if m]
ranks, resumed = int(sys.argv[2]), sys.argv[3] == "resumed"
assert sorted(int(m[1]) for m in lines) == list(range(ranks)) and {int(m[2]) for m in lines} == {ranks}, "ranks"
assert len({m[3] for m in lines}) == 2, "nodes"
assert all((int(m[4]) > 0) == resumed for m in lines) and len({m[4] for m in lines}) == 1, "where it began"
assert len({m[7] for m in lines}) == 1, "weights differ"
assert all(float(m[6]) < float(m[5]) * (1 if resumed else 0.7) for m in lines), "loss"
P
}
printf '%s\nsrun --ntasks-per-node=2 python ddp.py 60 ddp-srun.pt\n' "$ddp_head" >"$data/ddp-srun.sbatch"
job -J ddp-srun --ntasks-per-node=2 ddp-srun.sbatch && trained ddp-srun.out 4
said "DDP by srun with job-env alone: the loss falls, four ranks on two nodes have the same weights" $? ddp-srun.out
printf '%s\nsrun --ntasks-per-node=1 torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" ddp.py 60 ddp-torchrun.pt\n' \
        "$ddp_head" >"$data/ddp-torchrun.sbatch"
job -J ddp-torchrun --ntasks-per-node=1 -c 2 ddp-torchrun.sbatch && trained ddp-torchrun.out 4
said "… and by torchrun" $? ddp-torchrun.out
weights() { sed -n 's/.*weights //p' "${@/#/$data/}" | sort -u | wc -l; }
[[ $(weights ddp-srun.out ddp-torchrun.out) -eq 1 ]]
check "both end with the same weights" $?

# No process of a job is left on a node.
clean() {
        local i
        for ((i = 0; i < 150; i++)); do pgrep -f 'python.* ddp\.py' >/dev/null || return 0; sleep 0.2; done
        pgrep -af 'python.* ddp\.py' | sed 's/^/# /'
        return 1
}
for trouble in killed hangs; do
        printf '%s\nsrun -K --ntasks-per-node=2 python ddp.py 60 ddp-%s.pt %s\n' "$ddp_head" $trouble $trouble >"$data/ddp-$trouble.sbatch"
        job -J ddp-$trouble --ntasks-per-node=2 ddp-$trouble.sbatch
        s=$?
        [[ $s -ne 0 && $s -ne 124 ]] && grep -qE 'srun: error: n[123]: task' "$data/ddp-$trouble.out" && ! grep -q '^rank' "$data/ddp-$trouble.out" && clean
        said "a rank that $([[ $trouble == hangs ]] && echo hangs || echo "is killed") ends the job, which names the task, and no process is left" $? ddp-$trouble.out
done

# --- a node is gone in mid-run: the job comes back by itself and goes on where its checkpoint is --------------------
# A node's processes are those in its own UTS namespace.
node_kill() { # N
        local space p pid
        pid=$(pgrep -f "^slurmd -D -N n$1\$") || return 1
        space=$(readlink "/proc/$pid/ns/uts")
        [[ -n $space && $space != "$(readlink /proc/self/ns/uts)" ]] || return 1
        for p in /proc/[0-9]*; do [[ $(readlink "$p/ns/uts" 2>/dev/null) != "$space" ]] || kill -KILL "${p#/proc/}"; done 2>/dev/null
        return 0
}
state() { head_run squeue -h -j "$1" -o %T 2>/dev/null; }
printf '%s\nSLOWLY=1 srun --ntasks-per-node=2 python ddp.py 60 ddp-requeue.pt\n' "$ddp_head" >"$data/ddp-requeue.sbatch"
job=$(head_run sh -c 'cd /export/data && sbatch --parsable --requeue -J ddp-requeue --ntasks-per-node=2 -w n2,n3 ddp-requeue.sbatch')
for ((i = 0; i < 600; i++)); do [[ -e $data/ddp-requeue.pt ]] && break; sleep 0.2; done
node_kill 3
check "n3 is gone, with all that ran on it" $?
# Slurm would find out by itself in SlurmdTimeout, an hour here; an admin or a watch tells it at once.
head_run scontrol update nodename=n3 state=down reason=killed
for ((i = 0; i < 300; i++)); do [[ $(state "$job") == PENDING ]] && break; sleep 0.2; done
[[ $(state "$job") == PENDING ]] && ! grep -q '^rank' "$data/ddp-requeue.out"
said "a node is killed while a job trains: the job is queued again" $? ddp-requeue.out
head_run scontrol update jobid="$job" reqnodelist=n1,n2
for ((i = 0; i < 1500; i++)); do [[ -z $(state "$job") ]] && break; sleep 0.2; done
trained ddp-requeue.out 4 resumed
said "… and goes on from its checkpoint on the nodes that are left" $? ddp-requeue.out
[[ $(weights ddp-srun.out ddp-requeue.out) -eq 1 ]]
check "… to the same weights as the run that nobody interrupted" $?
exit "$rc"
