#!/bin/bash
# A function is pickled, run by another process as a job's task would, and its result read back; one that fails is reported.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
said=$(/opt/ml/submitit/bin/python - 2>&1 <<'P'
import submitit

executor = submitit.LocalExecutor(folder="log")
executor.update_parameters(timeout_min=5)
job = executor.submit(int.__add__, 5, 7)
failing = executor.submit(int, "seven")
try:
    failing.result()
    print("no failure")
except submitit.core.utils.FailedJobError as error:
    print("ValueError" in str(error), job.result())
P
) || { echo "Submitit does not work: $(tail -n 1 <<<"$said")"; exit 1; }
[[ $(tail -n 1 <<<"$said") == 'True 12' ]] || { echo "Submitit gives wrong answers: $said"; exit 1; }
