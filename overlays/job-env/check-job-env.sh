#!/bin/sh
# What slurmd would start before a task of a job says what it must, and slurm.conf's snippet names nothing that is not there.
set -eu
prolog=$(sed -n 's/^TaskProlog=//p' /etc/hpc-head/slurm.conf.d/50-job-env.conf)
for program in "$prolog" "$(sed -n 's/^TaskEpilog=//p' /etc/hpc-head/slurm.conf.d/50-job-env.conf)"; do
        if [ ! -x "$program" ]; then
                echo "slurm.conf would name '$program', which is no program here: every task would fail"
                exit 1
        fi
done
said=$(env -i PATH=/usr/bin:/bin SLURM_JOB_ID=10241 SLURM_STEP_ID=0 SLURM_JOB_NODELIST='a[1-4]' SLURM_STEP_NODELIST='a[2-3]' SLURM_STEP_TASKS_PER_NODE=2,1 \
        SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NODEID=1 "$prolog")
wanted='export JOB_ENV_STEP=10241.0
export MASTER_ADDR=a2
export MASTER_PORT=10241
export JOB_ENV_MASTER=a2:10241
export WORLD_SIZE=3
export RANK=2
export LOCAL_RANK=0
export LOCAL_WORLD_SIZE=1
export TF_CONFIG={"cluster": {"worker": ["a2:24592", "a2:24593", "a3:24592"]}, "task": {"type": "worker", "index": 2}}
export JOB_HOSTFILE=/tmp/job-env.10241.0.2'
if [ "$said" != "$wanted" ]; then
        echo "$prolog says for a task of a job: $said"
        exit 1
fi
