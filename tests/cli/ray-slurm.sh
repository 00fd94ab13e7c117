#!/bin/bash
# ray-slurm's own work, on doubles of Ray and srun: what it says and how it ends. Neither is real here.
set -u
cd "$TOP" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; tail -n 8 "$work/out" | sed 's/^/# /'; fi; }
cp tests/fixtures/ray-double/* overlays/ml-ray/files/opt/ml/ray/bin/ray-slurm "$work/"
unset "${!SLURM@}" "${!RAY@}"
export PATH=$work:$PATH SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST='n[1-2]' RAY_DOUBLE_FOLDER=$work SLURM_MEM_PER_NODE=1000 SLURM_CPUS_PER_TASK=3
export http_proxy=http://10.9.9.9:1 no_proxy=mine RAY_ADDRESS=10.9.9.9:1

# ends CODE TEXT KIND ARGUMENT…: of ray-slurm; and no process, no folder of it is left.
ends() {
        rm -f "$work/calls"
        RAY_DOUBLE=$3 timeout 100 python3 "$work/ray-slurm" "${@:4}" >"$work/out" 2>&1
        local s=$?
        grep -qE -- "$2" "$work/out" && [[ $s -eq $1 ]] || { echo "# exit code $s"; return 1; }
        no_leftovers
}
no_leftovers() {
        local folder=''
        [[ ! -e $work/calls ]] || folder=$(sed -n 's/.*--temp-dir=\([^ ]*\).*/\1/p' "$work/calls")
        ! pgrep -af "$work/ra[y]" >"$work/left" && [[ -z $folder || ! -e $folder ]] || { echo "# left: $(cat "$work/left") $folder"; return 1; }
}
ends 5 '^at 127.0.0.1:[0-9]+ with 3 for a task, mine' '' sh -c 'echo "at $RAY_ADDRESS with $SLURM_CPUS_PER_TASK for a task, $no_proxy"; exit 5'
check "the command finds the cluster and what the job was told of tasks; its exit code is ray-slurm's" $?
[[ $(wc -l <"$work/calls") -eq 2 ]] && [[ $(grep -c 'num-cpus=4 .*--memory=629145600 --object-store-memory=314572800 .*no_proxy=mine,127.0.0.1,localhost,n1,n2.* auth=token64 address=none' "$work/calls") -eq 2 ]]
check "one head and one worker, with the job's share of the node, a token, no proxy, nobody else's cluster" $?
[[ $(sed -n 's/^n1 start --head .*--node-ip-address=\([^ ]*\) --port=\([0-9]*\) .*/\1:\2/p' "$work/calls") == "$(sed -n 's/^n2 start --address=\([^ ]*\) .*/\1/p' "$work/calls")" ]]
check "the worker joins where the head listens" $?
ends 1 '^ray-slurm: n1: Ray ended, exit code 3$' head-dies sh -c 'sleep 60'
check "a head that dies ends all, and is named, not the worker that noticed" $?
ends 1 '^ray-slurm: n2: Ray ended, exit code 4$' worker-dies sh -c 'sleep 60'
check "a worker that dies" $?
ends 1 'n1: not all of 2 nodes are in Ray.s cluster after 3 s' never-joins --wait 3 true
check "a worker that never joins: ended in the time of --wait" $?
ends 1 "the double's head refuses" no-head true && grep -q "n1: Ray's head does not start" "$work/out"
check "a head that does not start, with its own words" $?
ends 127 'nosuch: No such file or directory' '' nosuch
check "a command that is not there" $?
mv "$work/srun" "$work/srun.old"
printf '#!/bin/sh\nexit 9\n' >"$work/srun" && chmod +x "$work/srun"
ends 1 'srun ended with 9 before' '' true
check "srun that refuses" $?
mv "$work/srun.old" "$work/srun"
ends 2 'a command is missing' '' && ends 2 'a number of seconds' '' --wait 0 true && SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 ends 2 'without srun' '' true &&
        (unset SLURM_JOB_ID; ends 2 'there is no job here' '' true) && ends 0 'The exit code is' '' --help
check "mistakes of the command line, and --help" $?

python3 "$work/ray-slurm" sh -c "touch '$work/up'; sleep 60" >"$work/out" 2>&1 &
for ((i = 0; i < 600; i++)); do [[ -e $work/up ]] && break; sleep 0.1; done
kill -TERM $!
wait $!
[[ $? -eq 143 && -e $work/up ]] && no_leftovers
check "ended by a signal it ends all of it" $?
rm "$work/up"
setsid python3 "$work/ray-slurm" sh -c "touch '$work/up'; sleep 60" >"$work/out" 2>&1 &
middle=$!
for ((i = 0; i < 600; i++)); do [[ -e $work/up ]] && break; sleep 0.1; done
kill -KILL "$middle"
wait "$middle" 2>/dev/null
for ((i = 0; i < 600; i++)); do pgrep -f "$work/ra[y]" >/dev/null || break; sleep 0.1; done
[[ -e $work/up ]] && no_leftovers
check "killed, its tasks notice and end by themselves" $?
exit $rc
