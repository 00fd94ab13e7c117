#!/bin/bash
# Several processes, and one of them in trouble: all end, soon, and process 0 names who and why.
set -u
. "$TOP/tests/cli/ncclbench.bash"

# One process of $n whose environment has something else; others as run_all.
run_with_one() { # INDEX VARIABLE=VALUE N ARGUMENTS
        local odd=$1 variable=$2 n=$3 port i
        rm -f "$work"/out.* "$work"/rc.*
        shift 3
        port=$(free_port)
        started=$SECONDS
        for ((i = 0; i < n; i++)); do
                (
                        [[ $i -eq $odd ]] && export "${variable?}"
                        timeout -s KILL 60 "$bench" -b 1K -e 1K -n 2 "${libraries[@]}" "$@" --rank=$i --world-size="$n" \
                                --master=127.0.0.1:"$port" >"$work/out.$i" 2>&1
                        echo $? >"$work/rc.$i"
                ) &
        done
        wait
        took=$((SECONDS - started))
}

run_with_one 2 CUDA_DOUBLE_DEVICES=0 4
[[ $(cat "$work"/rc.*) == $'1\n1\n1\n1' && $took -le 50 ]] &&
        grep -q 'FAIL peer.failed: process 2 (.*): cuda.no-device' "$work/out.0" && grep -q 'cuda.no-device' "$work/out.2"
check "a process without a GPU" $?

run_with_one 0 CUDA_DOUBLE_INIT=802 3
[[ $(cat "$work"/rc.*) == $'1\n1\n1' && $took -le 50 ]] &&
        grep -q 'FAIL cuda.fabric-not-ready' "$work/out.0" && grep -q 'process 0 (.*): cuda.fabric-not-ready' "$work/out.1"
check "process 0 itself without its fabric" $?

run_with_one 1 CUDA_DOUBLE_CRASH=1 3 --init-timeout=10
[[ $(cat "$work"/rc.*) == $'1\n1\n1' && $took -le 50 ]] && grep -q 'FAIL rendezvous.timeout: 2 of 3 .*missing: 1' "$work/out.0"
check "a process that crashes before it joins" $?

run_with_one 1 NCCL_DOUBLE_ERROR=3 3 -T 20
[[ $(cat "$work"/rc.*) == $'1\n1\n1' && $took -le 50 ]] && grep -q 'FAIL peer.failed: process 1 (.*): nccl.error' "$work/out.0"
check "an NCCL error in one process aborts all at once" $?

run_with_one 1 NCCL_DOUBLE_WRONG=1:5 2
[[ $(cat "$work/rc.0") -eq 1 ]] && grep -q 'FAIL nccl.wrong-result: 2 wrong elements; first: .*rank 1, element 5 ' "$work/out.0"
check "a wrong element in another process is named by process 0" $?

run_with_one 1 NCCLBENCH_SECRET=another-secret-altogether 2 --init-timeout=10
grep -q 'FAIL rendezvous.refused' "$work/out.0" && grep -q 'rendezvous.refused' "$work/out.1"
check "another secret is refused" $?

run_with_one 1 NCCLBENCH_SECRET=short 2 --init-timeout=1
[[ $(cat "$work/rc.1") -eq 2 ]] && grep -q 'the shared secret has 5 bytes' "$work/out.1"
check "a short secret is a usage error" $?

(unset NCCLBENCH_SECRET; timeout 120 "$bench" --rank=0 --world-size=2 --master=127.0.0.1:9 "${libraries[@]}") >"$work/out" 2>&1
[[ $? -eq 2 ]] && grep -q 'export NCCLBENCH_SECRET' "$work/out"
check "no secret is a usage error that says what to do" $?

echo a-secret-from-a-file >"$work/secret"
(unset NCCLBENCH_SECRET; run_all 2 -b 1K -e 1K -n 1 --secret-file="$work/secret")
[[ $(cat "$work"/rc.*) == $'0\n0' ]]
check "the secret may come from a file" $?

# Killed in the middle of a long run.
port=$(free_port)
NCCL_DOUBLE_USEC=20000 timeout 180 "$bench" -b 1K -e 1K -n 20000 "${libraries[@]}" --rank=0 --world-size=2 --master=127.0.0.1:"$port" >"$work/out" 2>&1 &
first=$!
NCCL_DOUBLE_USEC=20000 "$bench" -b 1K -e 1K -n 20000 "${libraries[@]}" --rank=1 --world-size=2 --master=127.0.0.1:"$port" >/dev/null 2>&1 &
victim=$!
joined "$port" 1
sleep 1 # in its midst
started=$SECONDS
kill -KILL $victim
wait $first
[[ $? -eq 1 && $((SECONDS - started)) -le 60 ]] && grep -q 'FAIL peer.failed: process 1' "$work/out"
check "a process killed in the middle ends the others in seconds" $?
exit $rc
