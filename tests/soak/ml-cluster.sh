#!/bin/bash
# Submitit in real jobs, as docs/clusters/ml-cluster.md has it: a controller and three slurmds from the head's tree with the overlay ml-submitit,
# without a machine. The guide's scripts, with the partition's and Python's names of ours; an array of ten; a job that fails.
#
# lane: compute
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        own_project
        sed -i 's/"overlays": \["head", /&"ml-submitit", /' "$RECIPES/head.json"
        head_build || { echo "not ok - the head's tree with Submitit builds"; exit 1; }
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
head_make || exit 1
source "$TOP/tests/e2e/nodes.bash"
trap nodes_end EXIT
data=$HEAD/export/data
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
exit "$rc"
