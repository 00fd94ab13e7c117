#!/bin/bash
# PyTorch over two booted machines, the whole way once: boot, ready, a user from the directory, home on the head's disk, scratch, Slurm, a job of
# docs/clusters/ml-cluster.md (chapter 7, by torchrun) with the head of the guide's script. Recipes ml-cluster-head and ml-cluster with ml-torch-cpu.
# Then the plug of a node is pulled in the middle of a job: it goes on from its checkpoint, and the node comes back. That node is a machine of its
# own on the cluster's network, as a cluster ends with the first of its machines.
#
# lane: machine
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/trained.bash"
project
make_key
cat >"$RECIPES/ml-machines-head.json" <<'R'
{ "name": "ml-machines-head", "extends": "ml-cluster-head", "overlays": ["ml-torch-cpu"] }
R
cat >"$RECIPES/ml-machines-node.json" <<'R'
{ "name": "ml-machines-node", "extends": "ml-cluster", "overlays": ["ml-torch-cpu"],
  "node": { "scratch": { "required": true, "models": ["QEMU NVMe Ctrl"] } } }
R
for name in ml-machines-head ml-machines-node; do
        build "$name" >"$E2E/build.log" 2>&1
        s=$?
        check "$name builds" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
done

# --- the machines ---------------------------------------------------------------------------------------
state=$E2E/state link=/run/imgbuild/link/cluster
ends() {
        [[ -z ${node2_pid:-} ]] || kill -KILL "$node2_pid"
        [[ -z ${cluster_pid:-} ]] || { kill -INT "$cluster_pid"; wait "$cluster_pid"; }
        umount "$link" && rmdir "$link"
        rm -rf "$state"
} 2>/dev/null
trap ends EXIT
rm -rf "$state" "$E2E/save"
# Where machines of the cluster meet, and where those of `imgbuild boot` do.
mkdir -p "$state/links/cluster" "$link"
mount --bind "$state/links/cluster" "$link"
cat >"$E2E/user-data" <<'Y'
#cloud-config
bootcmd:
- |
  for line in '10.77.0.1 head' '10.77.0.2 node1' '10.77.0.3 node2'; do grep -qxF "$line" /etc/hosts || echo "$line" >>/etc/hosts; done
Y
cat >"$E2E/cluster.json" <<R
{ "name": "ml", "network": "10.77.0.0/24", "machines": [
  { "name": "head", "image": "ml-machines-head", "memory": "1536M", "user_data": "$E2E/user-data" },
  { "name": "node1", "image": "ml-machines-node", "memory": "2G", "nvme": ["count=2,size=1G"], "user_data": "$E2E/user-data" } ] }
R
# From the project: its lock of the tools tree is the one that the images were made with.
node2_on() {
        : >"$E2E/node2.log" # before it runs: what an earlier start said is no answer
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/ml-machines-node/ml-machines-node.qcow2" --cache "$CACHE" --offline --progress plain --hostname node2 \
                --link cluster=10.77.0.3/24 --state "$state/node2" --save "$E2E/save/node2" --user-data "$E2E/user-data" --ssh-key "$KEY.pub" \
                --nvme count=2,size=1G --cpus 1 --memory 2G --until ready --timeout 1800 --keep) >"$E2E/node2.log" 2>&1 &
        node2_pid=$!
}
# The plug is pulled.
node2_off() {
        local i
        kill -KILL "$node2_pid"
        wait "$node2_pid" 2>/dev/null
        node2_pid=
        for ((i = 0; i < 300; i++)); do flock -n "$state/node2" true 2>/dev/null && return 0; sleep 0.1; done
        return 1
}
up() { # PID LOG LINE: a machine that runs said it
        while kill -0 "$1" 2>/dev/null; do grep -q "$3" "$2" && return 0; sleep 0.5; done
        tail -n 20 "$2" | sed 's/^/# /'
        return 1
}
begun=$SECONDS
(cd "$PROJECT" && exec env --default-signal=INT "$IMGBUILD" cluster "$E2E/cluster.json" --cache "$CACHE" --output "$OUT" --offline --progress plain \
        --state "$state" --save "$E2E/save") >"$E2E/cluster.log" 2>&1 &
cluster_pid=$!
node2_on
up "$cluster_pid" "$E2E/cluster.log" 'Running until Ctrl-C' && up "$node2_pid" "$E2E/node2.log" 'Running; ssh'
check "a head and two nodes boot and are ready" $?
[[ $rc -eq 0 ]] || exit 1
echo "# after $((SECONDS - begun)) s"

head_run() { ssh -F "$state/ssh-config" head "$1" </dev/null; }
alice() { head_run "su - alice -c $(printf '%q' "$1")"; }
put() { ssh -F "$state/ssh-config" head "cat >/home/alice/$1 && chown alice: /home/alice/$1"; } # NAME, from standard input
within() { # SECONDS COMMAND…
        local end=$((SECONDS + $1))
        until "${@:2}"; do [[ $SECONDS -lt $end ]] || return 1; sleep 2; done
}
says() { # WHAT EXPECTED GOT
        [[ $3 == "$2" ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || sed 's/^/# /' <<<"$3"
}
told() { # WHAT STATUS
        check "$1" "$2"
        [[ $2 -eq 0 ]] || { cat "$E2E/said"; head_run 'sinfo -N -l; squeue; sacct -X; journalctl -u slurmctld -n 20'; } 2>&1 | tail -n 60 | sed 's/^/# /'
}
both_idle() { [[ $(head_run 'sinfo -h -N -o "%N %T"') == $'node1 idle\nnode2 idle' ]]; }
within 120 both_idle
check "both nodes are in service" $?
head_run 'cluster user add alice --gid 9876' >"$E2E/said" 2>&1
says "a user from the directory, at home on the head's disk, with scratch on local disks" $'alice nfs xfs\nalice nfs xfs' \
        "$(alice "srun -N 2 sh -c 'echo \$(id -un) \$(stat -f -c %T /home) \$(stat -f -c %T /mnt/localdisk)'")"
says "a check of each node passes" $'well\nwell' \
        "$(head_run "srun -N 2 sh -c 'firstbootctl check >/run/check 2>&1 && echo well || cat /run/check'" 2>&1)"

# --- a job ----------------------------------------------------------------------------------------------
put train.py <"$TOP/tests/fixtures/train.py"
head -c 65536 /dev/urandom | put data
job() { # PROCESSES [OPTION…]: of a node; the guide's header, then our lines
        printf '%s\n' '#!/bin/bash -l' '#SBATCH -J PytorchDDP' '#SBATCH -p compute' '#SBATCH --nodes=2' '#SBATCH --ntasks-per-node=1' '#SBATCH --comment pytorch' \
                '#SBATCH --time 10:00:0' '#SBATCH -o %x.o%j' '#SBATCH -e %x.e%j' "${@:2}" "processes=$1"
        cat <<'B'

module purge
module load torch
export DATA=/mnt/localdisk/data.$SLURM_JOB_ID
srun cp data "$DATA"
srun -K torchrun --nnodes 2 --nproc-per-node "$processes" --rdzv-backend c10d \
        --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" train.py ddp
B
}
said() { alice 'cat PytorchDDP.[oe]* 2>/dev/null' >"$E2E/said"; }
job 2 | put ddp.sh
# Submitted as `ssh head sbatch` does it, by a shell that knows no `module`: the guide's -l in the script's first line is what brings it.
submitted=$(head_run "su alice -c 'cd && date +%s.%N; timeout 900 sbatch -W ddp.sh >sbatch.said 2>&1'" | head -n 1)
said
trained "$E2E/said" 4 2
told "DDP by torchrun over two machines: the loss falls, and all ranks have the same weights" $?
first_step "$E2E/said" "$submitted"

# --- a checkpoint, and a node whose plug is pulled ------------------------------------------------------
head_run 'rm -f /home/alice/PytorchDDP.*'
job 1 '#SBATCH --requeue --open-mode=append' | put resume.sh
number=$(alice 'sbatch --parsable --export=ALL,CHECKPOINT=/home/alice/state.pt,STEPS=80,SLOW=0.5 resume.sh')
saved() { head_run 'test -s /home/alice/state.pt' && [[ $(head_run "squeue -h -j $number -o %T") == RUNNING ]]; }
within 600 saved && sleep 5
told "a job that writes checkpoints into the home folder runs" $?
pulled=$SECONDS
node2_off && node2_on && up "$node2_pid" "$E2E/node2.log" 'Running; ssh'
check "the plug of a node is pulled; switched on again it is ready" $?
echo "# after $((SECONDS - pulled)) s"
ended() { [[ -z $(head_run "squeue -h -j $number -o %T" 2>/dev/null) ]]; }
within 1200 ended
told "… and the job comes to an end" $?
echo "# $((SECONDS - pulled)) s after that"
said
trained "$E2E/said" 2 2 && [[ $(grep -c 'resumes at step [1-9]' "$E2E/said") -ge 2 && $(head_run "sacct -n -X -P -j $number -o State") == COMPLETED ]]
told "… by itself, from its checkpoint, on both nodes again" $?
within 300 both_idle
told "both nodes are in service again" $?
says "no process of the user's is left" $'0\n0' "$(head_run "srun -N 2 sh -c 'pgrep -c -u alice'" 2>/dev/null)"
exit $rc
