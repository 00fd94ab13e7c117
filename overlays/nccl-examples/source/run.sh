#!/bin/bash
# run.sh [PROCESSES]: the three examples, one after the other; by srun in a job, by mpirun else. Exit code 1 where one failed.
set -u
here=$(dirname "$(readlink -f "$0")")
failed=0
if [[ -n ${SLURM_JOB_ID:-} ]]; then start=(srun ${1:+-n "$1"}); else start=(mpirun -n "${1:-2}"); fi
example() { # TITLE COMMAND…
        echo "Example $1"
        "${@:2}" || failed=1
}
example '1: Single Process, Single Thread, Multiple Devices' "$here/one-process"
example '2: One Device Per Process' "${start[@]}" "$here/process-per-gpu"
example '3: Multiple Devices Per Process' "${start[@]}" "$here/gpus-per-process"
exit $failed
