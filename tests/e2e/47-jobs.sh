#!/bin/bash
# The overlays job-env, pmix and openmpi in real jobs: slurmctld and three slurmds from the head's tree, without a machine. Each task says where
# it is and what it was told, and what it was told is held against that: layouts, steps, arrays, several jobs on a node, what a user sets
# himself. MPI passes data between tasks on all nodes. mpirun has its turn in e2e/70: here all hosts have one address, and it takes them for one.
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
NODE_OPTIONS=() PLUGSTACK='optional spank_job_env.so'
"$IMGBUILD" check "$RECIPES/head.json" --cache "$CACHE" --offline --progress none >"$E2E/checks" 2>&1
s=$?
check "the overlays' own checks pass" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$E2E/checks"
sed -i '/^MpiDefault=/d' "$HEAD/root/etc/slurm/slurm.conf"
mapfile -t lines < <(cat "$TOP"/overlays/pmix/files/etc/hpc-head/slurm.conf.d/*.conf)
nodes_start "${lines[@]}"
check "a controller and three nodes" $?
[[ $rc -eq 0 ]] || exit 1

# What a task says of itself: one line.
cat >"$data/probe" <<'P'
#!/bin/bash
echo "$1|$(hostname)|$SLURM_PROCID|${RANK-}|${WORLD_SIZE-}|${LOCAL_RANK-}|${LOCAL_WORLD_SIZE-}|${MASTER_ADDR-}|${MASTER_PORT-}|$(tr '\n' ';' <"${JOB_HOSTFILE:-/dev/null}")|${TF_CONFIG-}"
P
cat >"$data/batch" <<'B'
#!/bin/bash
#SBATCH -N 3 --ntasks-per-node=2 -o out
srun ./probe all-six
srun -N 2 -n 3 ./probe three-on-two
srun -n 5 -m cyclic ./probe cyclic
srun -n 6 -N 3 -m plane=2 ./probe plane
printf 'n3\nn1\nn3\n' >hosts
SLURM_HOSTFILE=$PWD/hosts srun -n 3 -m arbitrary ./probe arbitrary
srun -w n3 -N 1 -n 2 ./probe last-node
srun -N 3 -n 24 --overcommit ./probe many
MASTER_PORT=29500 srun -w n3 -N 1 -n 1 ./probe own-port
MASTER_ADDR=n2 srun -N 1 -n 1 ./probe own-address
JOB_ENV=off srun -N 1 -n 1 --export=PATH,JOB_ENV ./probe off
srun --export=NONE -N 1 -n 1 /export/data/probe no-environment
srun -N 1 -n 2 --exclusive ./probe beside-1 & srun -N 1 -n 2 --exclusive ./probe beside-2 & wait
echo "batch|$MASTER_ADDR|$MASTER_PORT|${RANK-none}|${WORLD_SIZE-none}|${TF_CONFIG-none}"
echo "batch-file|$(tr '\n' ';' <"$JOB_HOSTFILE")"
eval "$(job-env)"
echo "eval|$MASTER_ADDR|$WORLD_SIZE|${RANK-none}"
echo "hosts|$(job-env --hosts | tr '\n' ' ')|$(job-env --hostfile | tr '\n' ';')"
job-env --hostfile here && echo "file|$(tr '\n' ';' <here)"
srun -N 1 -n 1 bash -c 'eval "$(job-env)"; echo "in-task|$RANK|$WORLD_SIZE|$TF_CONFIG"'
srun -N 2 -n 3 sh -c 'exit 3'; echo "exit|$?"
export OMPI_MCA_btl_tcp_if_include=lo
srun mpi-hello | sed 's/^/mpi-default|/'
srun --mpi=pmix -N 3 -n 4 mpi-hello | sed 's/^/mpi-pmix|/'
srun --mpi=none -N 1 -n 2 mpi-hello 2>/dev/null | sed 's/^/mpi-none|/'
srun --mpi=pmi2 -N 3 -n 3 bash -c 'echo "cmd=init pmi_version=2 pmi_subversion=0" >&$PMI_FD; read -r -u $PMI_FD answer; echo "mpi-pmi2|$PMI_RANK of $PMI_SIZE $answer"'
# A job made from within a task has that task's variables, and its own right ones.
srun -w n2 -N 1 -n 1 sbatch -W -N 1 -n 1 -w n3 -o inner --wrap 'echo "inner|$MASTER_ADDR|$(job-env --hosts)|${JOB_HOSTFILE##*/}"; srun /export/data/probe inner-task' >/dev/null
B
chmod 0755 "$data/probe"
head_run sh -c 'cd /export/data && timeout 300 sbatch -W --parsable batch' >"$E2E/job"
check "the job's script runs to its end" $?
job=$(cat "$E2E/job")

# judge NAME TASKS: what all tasks that said NAME were told fits together, and to where they are.
cat >"$E2E/judge.py" <<'P'
import json, sys
name, tasks, wanted = sys.argv[1], int(sys.argv[2]), sys.argv[4:]
lines = [l.rstrip("\n").split("|", 10) for l in open(sys.argv[3]) if l.startswith(name + "|")]
assert len(lines) == tasks, f"{len(lines)} tasks"
lines.sort(key=lambda l: int(l[2]))
here = [l[1] for l in lines]
for i, (_, host, procid, rank, world, local, local_world, address, port, file, tf) in enumerate(lines):
    assert int(procid) == int(rank) == i and int(world) == tasks, (procid, rank, world)
    assert int(local) == here[:i].count(host) and int(local_world) == here.count(host), (host, local, local_world)
    assert address == here[0] and port == lines[0][8] and 10240 <= int(port) < 20480, (address, port)
    assert dict(w.split(" slots=") for w in file.strip(";").split(";")) == {h: str(here.count(h)) for h in here}, file
    tf = json.loads(tf)
    assert tf["task"] == {"type": "worker", "index": i}, tf
    workers = tf["cluster"]["worker"]
    assert [w.split(":")[0] for w in workers] == here and len(set(workers)) == tasks, (workers, here)
    assert all(20480 <= int(w.split(":")[1]) < 32768 for w in workers), workers
assert not wanted or here == wanted, here
P
judge() { # WHAT NAME TASKS [HOST…]
        python3 "$E2E/judge.py" "$2" "$3" "$data/out" "${@:4}" 2>"$E2E/judged"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || { tail -n 1 "$E2E/judged"; grep "^$2|" "$data/out"; } | sed 's/^/# /'
}
line() { sed -n "s/^$1|//p" "$data/${2:-out}"; }
is() { # WHAT GOT WANTED
        [[ $2 == "$3" ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || printf '# got    %s\n# wanted %s\n' "$2" "$3"
}
port=$((10240 + job % 10240))
judge "six tasks on three nodes" all-six 6 n1 n1 n2 n2 n3 n3
judge "a step of uneven tasks on fewer nodes" three-on-two 3 n1 n1 n2
judge "tasks laid out in turn" cyclic 5 n1 n2 n3 n1 n2
judge "… by two" plane 6 n1 n1 n2 n2 n3 n3
judge "… as a user's file says" arbitrary 3 n3 n1 n3
judge "a step that is not on the job's first node has its own master" last-node 2 n3 n3
judge "more tasks than processors" many 24
is "the user's port stays, the address is the step's" "$(line own-port | cut -d'|' -f 7,8)" 'n3|29500'
is "the user's address stays" "$(line own-address | cut -d'|' -f 7)" n2
is "JOB_ENV=off: nothing is set" "$(line off | cut -d'|' -f 3-)" '|||||||'
judge "no environment of the user's" no-environment 1
is "steps side by side have two ports" "$(grep -h '^beside-' "$data/out" | cut -d'|' -f 9 | sort -u | wc -l)" 2
is "a batch script has a master, and is no task" "$(line batch)" "n1|$port|none|none|none"
is "… and the job's host file" "$(line batch-file)" 'n1 slots=2;n2 slots=2;n3 slots=2;'
is "eval in a script: the whole job" "$(line eval)" 'n1|6|none'
is "hosts, and a host file on standard output" "$(line hosts)" 'n1 n2 n3 |n1 slots=2;n2 slots=2;n3 slots=2;'
is "… or in a file" "$(line file)" 'n1 slots=2;n2 slots=2;n3 slots=2;'
[[ $(line in-task) == '0|1|{"cluster": {"worker": ["n'?:*'"]}, "task": {"type": "worker", "index": 0}}' ]]
check "eval in a task: quoted so that JSON survives a shell" $?
is "a task's exit code is its own" "$(line exit)" 3
is "srun starts MPI on all nodes, without an option" "$(line mpi-default | sort | tr '\n' ';')" \
        'task 0 of 6 on n1;task 1 of 6 on n1;task 2 of 6 on n2;task 3 of 6 on n2;task 4 of 6 on n3;task 5 of 6 on n3;the ring of 6 is well;'
is "… and with it" "$(line mpi-pmix | grep ring)" 'the ring of 4 is well'
is "without PMIx each task would be alone" "$(line mpi-none | grep -c 'ring of 1')" 2
is "--mpi=pmi2: each task is answered by PMI-2" "$(line mpi-pmi2 | sort | tr '\n' ';')" \
        "$(printf '%d of 3 cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0;' 0 1 2)"
inner=$((job + 1))
is "a job made from within a task" "$(line inner inner)" "n3|n3|$inner.batch.0"
is "… and its steps" "$(line inner-task inner | cut -d'|' -f 1-8)" "n3|0|0|1|0|1|n3|$((10240 + inner % 10240))"

# Twelve jobs of an array, four at a time on each node; one is killed.
head_run sh -c 'cd /export/data && timeout 120 sbatch -W -n 1 -a 1-12 -o array.%a --wrap "srun ./probe array" >/dev/null'
cat "$data"/array.* >"$data/arrays"
is "an array's jobs have a port each" "$(grep -c '^array|' "$data/arrays") $(cut -d'|' -f 9 "$data/arrays" | sort -u | wc -l)" '12 12'
head_run sh -c 'cd /export/data && id=$(sbatch --parsable -n 2 -N 2 -o killed --wrap "srun sh -c \"touch up.\\\$SLURM_PROCID; sleep 300\"") &&
        for i in $(seq 300); do [ -e up.0 ] && [ -e up.1 ] && break; sleep 0.2; done; scancel $id
        for i in $(seq 300); do [ -z "$(squeue -h)" ] && break; sleep 0.2; done'
left=$(head_run srun -N 3 --ntasks-per-node=1 --export=PATH,JOB_ENV=off sh -c 'for i in $(seq 300); do set -- /run/job-env/*; [ -e "$1" ] || exit 0; sleep 0.2; done; echo "$@"')
[[ -e $data/up.0 && -z $left ]]
check "no host file is left, of jobs that ended or were killed" $?

# No place in /run where a job of any user could leave what fills it.
cat >"$data/writes" <<'W'
#!/bin/bash
stat -c '%u %a' /run/job-env "$JOB_HOSTFILE"
for file in "$JOB_HOSTFILE" /run/job-env/mine; do echo x 2>/dev/null >>"$file" && echo "wrote $file"; done
cat "$JOB_HOSTFILE"
W
chmod 0755 "$data/writes"
is "a user's job reads its host file, and writes nothing beside it" \
        "$(head_run setpriv --reuid nobody --regid nogroup --clear-groups sh -c 'cd /export/data && srun -N 1 -n 1 -w n2 ./writes')" $'0 755\n0 644\nn2 slots=1'
# One whose program says more than its hosts, as a user may have it do.
echo 'echo; head -c 100000 /dev/zero | tr "\0" x; exec >/dev/null' >"$data/more"
is "… nor is more kept there than hosts need" \
        "$(head_run sh -c 'cd /export/data && BASH_ENV=/export/data/more srun -N 1 -n 1 --export=ALL sh -c "echo \${JOB_HOSTFILE-none}"')" none

# The head's list of nodes, as OCI's stack has it.
cp "$TOP/overlays/hpc-head/files/usr/lib/hpc-head/hostfiles" "$data/"
head_run sh -c 'cd /export/data && ./hostfiles list && ls -i list/hostfile.tcp >first && ./hostfiles list && ls -i list/hostfile.tcp >second'
is "the head lists its nodes" "$(cat "$data/list/hostfile.tcp")" $'n1\nn2\nn3'
is "… and writes the list where it changed" "$(cat "$data/second")" "$(cat "$data/first")"
head_run sh -c 'cd /export/data && SLURM_CONF=/nothing ./hostfiles list' 2>/dev/null
is "… keeps it where no controller answers" "$? $(wc -l <"$data/list/hostfile.tcp") $(ls -A "$data/list" | wc -l)" '0 3 1'

# Slurm's figures for node_exporter.
cp "$TOP/overlays/monitoring/files/usr/lib/monitoring/slurm-textfile" "$data/"
head_run sh -c 'cd /export/data && mkdir figures && id=$(sbatch --parsable -a 1-3 -n 8 --exclusive -N 3 -o /dev/null --wrap "sleep 300") && ./slurm-textfile figures && scancel $id'
figures() { grep -v '^#' "$data/figures/slurm.prom" | tr '\n' ' '; }
[[ $(figures) == 'slurm_up 1 slurm_nodes{state="'*'slurm_jobs{state="'*'slurm_cpus{state="allocated"} '* ]]
check "Slurm's figures" $?
is "… of all jobs of an array" "$(awk '/^slurm_jobs/ { n += $2 } END { print n }' "$data/figures/slurm.prom")" 3
is "… of all processors" "$(awk '/^slurm_cpus/ { n += $2 } END { print n }' "$data/figures/slurm.prom")" 24
head_run sh -c 'cd /export/data && SLURM_CONF=/nothing ./slurm-textfile figures'
is "… without a controller" "$? $(figures) $(ls -A "$data/figures" | wc -l)" '0 slurm_up 0  1'

# Slurm's own reading of lists against ours.
python3 - >"$data/lists" <<'P'
import random
random.seed(13)
def ranges():
    width, parts, n = random.choice([0, 2, 3]), [], random.randrange(5)
    for _ in range(random.randint(1, 3)):
        m = n + random.randrange(4)
        parts.append(f"{n:0{width}}" if m == n else f"{n:0{width}}-{m:0{width}}")
        n = m + random.randint(2, 9)
    return "[" + ",".join(parts) + "]"
def name():
    stem = random.choice(["gpu", "compute-permanent-node-", "a", "rack-1-n", "x9y"])
    return stem + random.choice(["", "7", ranges(), ranges() + "s" + ranges(), ranges() + "-ib"])
for _ in range(60):
    print(",".join(name() for _ in range(random.randint(1, 3))))
P
head_run sh -c 'cd /export/data; while read -r l; do scontrol show hostnames "$l" >theirs; job-env --expand "$l" >ours; cmp -s theirs ours && echo same || echo "$l"; done <lists' >"$E2E/lists"
is "sixty lists are read as scontrol reads them" "$(sort "$E2E/lists" | uniq -c | sed 's/^ *//')" '60 same'
exit $rc
