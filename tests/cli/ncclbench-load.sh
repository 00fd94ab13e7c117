#!/bin/bash
# ncclbench load: every GPU and every way between two is measured and looked at.
set -u
. "$TOP/tests/cli/ncclbench.bash"
common=(load -e 64K --matrix=128 --seconds=0.01 --cuda-library="$doubles/libcuda.so.1")
export CUDA_DOUBLE_DEVICES=3 CUDA_DOUBLE_TFLOPS=0.001 # the double multiplies with one processor
of() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/json" "$1" 2>&1; }
is() { local got; got=$(of "$2"); [[ $got == "$3" ]]; check "$1" $?; [[ $rc -eq 0 ]] || echo "# $got"; }
# shellcheck disable=SC2120 # often without arguments
load() { "$bench" "${common[@]}" --json "$@" >"$work/json" 2>"$work/err"; }

load
check "a good node passes" $?
is "each GPU is in the report" '[x["index"] for x in d["devices"]]' '[0, 1, 2]'
is "with its address" 'd["devices"][2]["pci"]' '0000:1d:00.0'
is "and each way between two" '[(x["from"], x["to"]) for x in d["p2p"]]' '[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]'
is "memory bandwidth counts both directions" 'all(2900 < x["hbm_gbs"] < 3100 for x in d["devices"])' True
is "the product is 2 n³ operations" 'all(0.0009 < x["gemm_tflops"] < 0.0011 for x in d["devices"])' True
is "GB/s between GPUs" 'all(360 < x["gbs"] < 380 and x["peer"] for x in d["p2p"])' True

CUDA_DOUBLE_SLOW_GPU=1 load
check "a slow GPU is the reader's to judge" $?
is "and is seen" '[x["hbm_gbs"] < 400 and x["gemm_tflops"] < 0.0002 for x in d["devices"]]' '[False, True, False]'
is "its ways out too" '[(x["from"], x["to"]) for x in d["p2p"] if x["gbs"] < 50]' '[(1, 0), (1, 2)]'
CUDA_DOUBLE_PEER=0 load
is "ways through the host are marked" 'any(x["peer"] for x in d["p2p"])' False
for what in copy multiply; do
        CUDA_DOUBLE_WRONG=$what:2 load
        [[ $? -eq 1 && $(of 'd["verdict"]["reason"], [x["wrong"] for x in d["devices"]]') == "('cuda.wrong-result', [0, 0, 1])" ]]
        check "one wrong bit after $what" $?
done
CUDA_DOUBLE_WRONG=peer:1 load
[[ $? -eq 1 && $(of 'd["verdict"]["reason"], [(x["from"], x["to"]) for x in d["p2p"] if x["wrong"]]') == "('cuda.wrong-result', [(1, 0), (1, 2)])" ]]
check "one wrong bit on the way from a GPU" $?
CUDA_DOUBLE_STREAM=214 load
[[ $? -eq 1 && $(of 'd["verdict"]["reason"]') == cuda.error ]]
check "an ECC error under load" $?
CUDA_DOUBLE_MEMORY=50000 load
[[ $? -eq 1 && $(of 'd["verdict"]["reason"]') == cuda.out-of-memory ]]
check "no memory" $?
"$bench" load --matrix=200 >"$work/out" 2>&1
[[ $? -eq 2 ]] && grep -q 'multiple of 128' "$work/out"
check "a matrix that does not fit the kernel is a usage error" $?
exit $rc
