#!/bin/bash
# Slurm loads the plugin, it stands before Pyxis, and what it would set for a task is right.
set -euo pipefail
fail() { echo "$1"; exit 1; }

[[ $(grep -v '^#' /etc/slurm/plugstack.conf | head -n 1) == 'optional spank_job_env.so' ]] ||
        fail "spank_job_env.so is not the first line of /etc/slurm/plugstack.conf: behind Pyxis it would run inside of the container"

# Slurm says when it cannot load one, and goes on.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'required spank_job_env.so' >"$work/plugstack.conf"
printf 'ClusterName=check\nSlurmctldHost=localhost\nPlugStackConfig=%s/plugstack.conf\n' "$work" >"$work/slurm.conf"
said=$(SLURM_CONF=$work/slurm.conf srun --help 2>&1) || true
! grep -iE 'spank|plugin' <<<"$said" | grep -qi 'error' || fail "Slurm does not load spank_job_env.so: $(grep -m 1 -iE 'error' <<<"$said")"

said=$(env -i PATH=/usr/bin:/bin SLURM_JOB_ID=10241 SLURM_STEP_ID=0 SLURM_JOB_NODELIST='a[1-4]' SLURM_STEP_NODELIST='a[2-3]' SLURM_STEP_TASKS_PER_NODE=2,1 \
        SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NODEID=1 /usr/bin/job-env --task 10241.0)
wanted='JOB_ENV_STEP=10241.0
MASTER_ADDR=a2
MASTER_PORT=10241
JOB_ENV_MASTER=a2:10241
WORLD_SIZE=3
RANK=2
LOCAL_RANK=0
LOCAL_WORLD_SIZE=1
TF_CONFIG={"cluster": {"worker": ["a2:24592", "a2:24593", "a3:24592"]}, "task": {"type": "worker", "index": 2}}

a2 slots=2
a3 slots=1'
[[ $said == "$wanted" ]] || fail "/usr/bin/job-env says for a task of a job: $said"
