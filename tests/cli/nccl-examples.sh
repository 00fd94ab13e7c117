#!/bin/bash
# The overlay nccl-examples' program without MPI, on doubles of CUDA and NCCL: what is right passes, and nothing else does. Those with
# MPI are made in a tree: e2e/19.
set -u
cd "$TOP" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; [[ ! -s $work/out ]] || tail -n 5 "$work/out" | sed 's/^/# /'; fi; }
source=overlays/nccl-examples/source
doubles=$(realpath "$BUILD")/tests/nccl-double
make -s -C "$source" BUILD="$work" LDFLAGS="-Wall -Werror -L$doubles -Wl,-rpath,$doubles" one-process >"$work/out" 2>&1
check "it compiles against the libraries alone, without headers of CUDA's and NCCL's" $?
one() { timeout 60 "$work/one-process" -n 10000 "$@" >"$work/out" 2>&1; }
ends() { # CODE TEXT [-- ARGUMENT…]
        one "${@:3}"
        local s=$?
        [[ $s -eq $1 ]] && grep -qF -- "$2" "$work/out"
}
ends 0 $'4 GPUs of one process' && grep -qx Success "$work/out"
check "all GPUs of the host" $?
ends 0 '3 GPUs of one process' -g 3
check "… or some" $?
ends 0 Success -n 1 && ends 0 Success -n 65537
check "one element, and a number that is no power of two" $?
NCCL_DOUBLE_WRONG=2:77 ends 1 'rank 2, GPU 2: element 77 is' && grep -q ': 1 elements are wrong' "$work/out" && ! grep -q Success "$work/out"
check "one element that is wrong on one GPU: told, and exit code 1" $?
NCCL_DOUBLE_MISSING=1 ends 1 ': 40000 elements are wrong'
check "a GPU whose numbers are missing in the sum" $?
NCCL_DOUBLE_UNWRITTEN=3 ends 1 'rank 3, GPU 3: element 0 is -1, not 10'
check "a GPU that got no result" $?
NCCL_DOUBLE_INIT=5 ends 1 'NCCL: ncclCommInitAll' && grep -q 'invalid usage. Double: planted error 5' "$work/out"
check "an error of NCCL's, with NCCL's own words" $?
CUDART_DOUBLE_FAIL=2 ends 1 'CUDA: cudaMalloc'
check "an error of CUDA's" $?
CUDA_DOUBLE_DEVICES=0 ends 1 'there is no GPU here'
check "no GPU" $?
ends 1 '-g 5, and there are 4 GPUs here' -g 5
check "more GPUs than there are" $?
NCCL_DOUBLE_HANG=stream ends 1 'no end in the time of -t' -t 1
check "what hangs ends in the time that it was given" $?
ends 2 'is no number from' -g x && ends 2 'it takes options alone' x && ends 2 'nothing to add up' -n 0 && ends 2 'is no number from' -n -3
check "mistakes of the command line" $?
ends 0 '-t SECONDS' --help && ends 0 '-t SECONDS' -h
check "--help" $?
exit $rc
