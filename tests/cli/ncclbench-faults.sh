#!/bin/bash
# Each fault alone gives its own reason code and exit status 1, in time; in the table and in the JSON.
#
# lane: clock
set -u
. "$TOP/tests/cli/ncclbench.bash"

# fault NAME REASON SECONDS [VARIABLE=VALUE…] -- ARGUMENTS
fault() {
        local name=$1 reason=$2 limit=$3 variables=() start status
        shift 3
        while [[ $1 != -- ]]; do variables+=("$1"); shift; done
        shift
        start=$SECONDS
        env "${variables[@]}" timeout -s KILL 60 "$bench" -b 1K -e 1K -n 2 "${libraries[@]}" -J "$work/json" "$@" >"$work/out" 2>&1
        status=$?
        python3 - "$work/json" "$reason" <<'PY' >/dev/null 2>&1
import json, sys
v = json.load(open(sys.argv[1]))['verdict']
assert not v['pass'] and v['reason'] == sys.argv[2] and v['advice'] and v['text']
PY
        [[ $? -eq 0 && $status -eq 1 && $((SECONDS - start)) -le $limit ]] && grep -q "^# Verdict: FAIL $reason: " "$work/out"
        check "$name: $reason" $?
        [[ $rc -eq 0 ]] || tail -n 3 "$work/out"
        rm -f "$work/json"
}

fault "no CUDA library" cuda.no-driver 60 -- --cuda-library=/nonexistent
fault "a CUDA library without its functions" driver.library-mismatch 60 -- --cuda-library="$doubles/libnccl.so.2"
fault "no NCCL library" nccl.no-library 60 -- --nccl-library=/nonexistent
fault "an NCCL library without its functions" nccl.too-old 60 -- --nccl-library="$doubles/libcuda.so.1"
fault "no GPU" cuda.no-device 60 CUDA_DOUBLE_DEVICES=0 --
fault "error 100" cuda.no-device 60 CUDA_DOUBLE_INIT=100 --
fault "7 of 8 GPUs" cuda.no-device 60 CUDA_DOUBLE_DEVICES=7 -- -g 8
fault "error 802" cuda.fabric-not-ready 60 CUDA_DOUBLE_INIT=802 --
fault "error 803" driver.library-mismatch 60 CUDA_DOUBLE_INIT=803 --
fault "a driver too old for the kernels" driver.library-mismatch 60 CUDA_DOUBLE_PTX=222 --
fault "error 999" cuda.error 60 CUDA_DOUBLE_INIT=999 --
fault "no memory" cuda.out-of-memory 60 CUDA_DOUBLE_MEMORY=100 --
fault "an ECC error in a kernel" cuda.error 60 CUDA_DOUBLE_STREAM=214 --
fault "cuInit hangs" cuda.timeout 60 CUDA_DOUBLE_HANG=1 -- -T 1
fault "cuInit hangs and ignores SIGTERM" cuda.timeout 60 CUDA_DOUBLE_HANG=stubborn -- -T 1
fault "the process crashes" worker.died 60 CUDA_DOUBLE_CRASH=1 --
fault "init error" nccl.init-failed 60 NCCL_DOUBLE_INIT=2 --
fault "NCCL needs a newer driver" driver.library-mismatch 60 NCCL_DOUBLE_INIT=1 \
        "NCCL_DOUBLE_LAST_ERROR=Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'" --
fault "two ranks on one GPU" nccl.duplicate-gpu 60 NCCL_DOUBLE_INIT=5 \
        "NCCL_DOUBLE_LAST_ERROR=Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60" --
fault "the communicator is never ready" nccl.init-timeout 60 NCCL_DOUBLE_INIT=hang -- --init-timeout=1
fault "an operation never ends" nccl.timeout 60 NCCL_DOUBLE_HANG=stream -- -T 1.5
fault "the call for an operation never returns" nccl.timeout 60 NCCL_DOUBLE_HANG=call -- -T 1.5
fault "an asynchronous error" nccl.error 60 NCCL_DOUBLE_ERROR=6 --
fault "one wrong element" nccl.wrong-result 60 NCCL_DOUBLE_WRONG=2:17 --
grep -q '2 wrong elements; first: all_reduce float sum 1024 bytes out of place: rank 2, element 17 is ' "$work/out"
check "a wrong element is counted and named" $?
fault "one wrong element in place of a piece" nccl.wrong-result 60 NCCL_DOUBLE_WRONG=1:3 -- reduce_scatter
fault "a spoiled element of our own" nccl.wrong-result 60 -- --corrupt=3:255
fault "a rank's data is missing" nccl.wrong-result 60 NCCL_DOUBLE_MISSING=3 --
fault "ranks are swapped" nccl.wrong-result 60 NCCL_DOUBLE_SWAP=1 -- all_gather
fault "ranks are swapped" nccl.wrong-result 60 NCCL_DOUBLE_SWAP=1 -- alltoall
fault "pieces are swapped" nccl.wrong-result 60 NCCL_DOUBLE_SWAP=1 -- reduce_scatter
fault "a rank never receives" nccl.wrong-result 60 NCCL_DOUBLE_UNWRITTEN=1 -- broadcast
fault "a rank never receives" nccl.wrong-result 60 NCCL_DOUBLE_UNWRITTEN=0 -- sendrecv
fault "a slow link" nccl.slow 60 NCCL_DOUBLE_USEC=2000 -- --expect=1K:0.002
for type in int8 uint8 int32 uint32 int64 uint64 half double bfloat16 f8e4m3 f8e5m2; do
        fault "a missing rank in $type" nccl.wrong-result 60 NCCL_DOUBLE_MISSING=0 -- -d $type
        fault "one wrong element in $type" nccl.wrong-result 60 NCCL_DOUBLE_WRONG=0:1 -- -d $type
done
for op in prod min max avg; do
        fault "a missing rank in $op" nccl.wrong-result 60 NCCL_DOUBLE_MISSING=2 -- -o $op -d half
done

NCCL_DOUBLE_MISSING=3 timeout 120 "$bench" -b 1K -e 1K -n 2 -c 0 "${libraries[@]}" >"$work/out" 2>&1 && grep -q 'N/A' "$work/out"
check "-c 0 checks nothing and says so" $?

NCCL_DOUBLE_HANG=stream timeout -s KILL 180 "$bench" -b 1K -e 1K -T 100 "${libraries[@]}" >"$work/out" 2>&1 &
pid=$!
sleep 1
pkill -TERM -P $pid -x ncclbench || kill -TERM $pid
wait $pid
[[ $? -eq 1 ]] && grep -q '^# Verdict: FAIL interrupted: ' "$work/out"
check "a signal ends it with a verdict" $?

timeout 120 "$bench" --nonsense "${libraries[@]}" >/dev/null 2>"$work/err"
[[ $? -eq 2 ]] && grep -q 'unknown option --nonsense; see ncclbench --help' "$work/err"
check "a wrong option exits 2" $?

timeout 120 "$bench" allreduce "${libraries[@]}" >/dev/null 2>"$work/err"
[[ $? -eq 2 ]] && grep -q 'unknown operation allreduce; did you mean "all_reduce"?' "$work/err"
check "an operation that is none names the nearest" $?
exit $rc
