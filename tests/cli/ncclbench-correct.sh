#!/bin/bash
# Every operation, type and reduction gives the right result and is seen to, in one process and in several.
set -u
. "$TOP/tests/cli/ncclbench.bash"

for n in 1 2 3 5 8; do
        CUDA_DOUBLE_DEVICES=$n timeout 100 "$bench" all -b 1K -e 4K -f 4 -n 2 -d all -o all "${libraries[@]}" >"$work/out" 2>&1 &&
                [[ $(bad_rows "$work/out") == 0 ]] && grep -q '^# Verdict: pass$' "$work/out"
        check "$n GPUs in one process: all operations, types and reductions" $?
done

# The doubles really reduce and move, so a run has as many rows as there are combinations: 2 sizes of
# 3 × (12 types × 5 reductions − 2 averages of 8-bit floats) + 8 × 12.
[[ $(grep -cv '^#' "$work/out") -eq $((2 * (3 * 58 + 8 * 12))) ]]
check "no combination is left out" $?

run_all 4 all -b 1K -e 4K -f 4 -n 2 -d all -o all
[[ $(cat "$work"/rc.*) == $'0\n0\n0\n0' && $(bad_rows "$work/out.0") == 0 ]]
check "4 processes: all operations, types and reductions" $?
[[ ! -s $work/out.1 && ! -s $work/out.3 ]]
check "only process 0 speaks when all is well" $?

CUDA_DOUBLE_DEVICES=4 run_all 2 all_gather -g 2 -b 1K -e 4K -f 4 -n 2
[[ $(cat "$work"/rc.*) == $'0\n0' && $(bad_rows "$work/out.0") == 0 ]] && grep -q '^# 4 ranks in 2 processes' "$work/out.0"
check "2 processes of 2 GPUs" $?

libraries=(--cuda-library="$doubles/libcuda.so.1" --nccl-library="$doubles/libnccl-2.17.so.2")
timeout 100 "$bench" all -b 1K -e 4K -f 4 -n 2 "${libraries[@]}" >"$work/out" 2>&1 && [[ $(bad_rows "$work/out") == 0 ]]
check "an NCCL without ncclCommSplit and ncclAlltoAll" $?
run_all 3 all -b 1K -e 4K -f 4 -n 2
[[ $(cat "$work"/rc.*) == $'0\n0\n0' && $(bad_rows "$work/out.0") == 0 ]]
check "an NCCL without ncclCommSplit and ncclAlltoAll, 3 processes" $?
timeout 100 "$bench" -d all -b 1K -e 1K -n 2 "${libraries[@]}" >"$work/out" 2>&1 && ! grep -q f8e "$work/out"
check "-d all leaves out the types that an old NCCL lacks" $?
timeout 100 "$bench" -d f8e4m3 -b 1K -e 1K "${libraries[@]}" 2>&1 | grep -q 'FAIL nccl.too-old: f8e4m3 needs NCCL 2.24, this is 2.17'
check "a type asked for that this NCCL lacks is an error" $?
libraries=(--cuda-library="$doubles/libcuda.so.1" --nccl-library="$doubles/libnccl.so.2")

timeout 100 "$bench" -b 8 -e 1K -f 2 -n 600 "${libraries[@]}" >"$work/out" 2>&1
check "more operations than may be in flight" $?

# srun's and torchrun's environment.
port=$(free_port)
for i in 0 1; do
        SLURM_PROCID=$i SLURM_NTASKS=2 SLURM_LOCALID=$i SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_STEP_NODELIST=localhost \
                MASTER_PORT=$port timeout 180 "$bench" -b 1K -e 1K -n 2 "${libraries[@]}" >"$work/out.$i" 2>&1 &
done
wait
grep -q '^# 2 ranks in 2 processes (srun)' "$work/out.0" && grep -q '^# Verdict: pass' "$work/out.0"
check "started by srun" $?
port=$(free_port)
for i in 0 1; do
        RANK=$i WORLD_SIZE=2 LOCAL_RANK=$i MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
                timeout 180 "$bench" -b 1K -e 1K -n 2 "${libraries[@]}" >"$work/out.$i" 2>&1 &
done
wait
grep -q '^# 2 ranks in 2 processes (torchrun)' "$work/out.0" && grep -q '^# Verdict: pass' "$work/out.0"
check "started with torchrun's variables" $?

# Which GPUs a process takes.
timeout 180 "$bench" --devices=3,1 -b 1K -e 1K -n 1 "${libraries[@]}" >"$work/out" 2>&1
grep -q 'Rank  0 .* device  3 ' "$work/out" && grep -q 'Rank  1 .* device  1 ' "$work/out"
check "--devices names the GPUs in rank order" $?
CUDA_DOUBLE_DEVICES=1 run_all 2 -b 1K -e 1K -n 1
grep -q 'Rank  1 .* device  0 ' "$work/out.0"
check "a process that sees only its own GPU takes it" $?
CUDA_DOUBLE_DEVICES=3 run_all 4 -b 1K -e 1K -n 1 --init-timeout=10
grep -q 'cuda.no-device' "$work/out.3" && [[ $(cat "$work"/rc.*) == $'1\n1\n1\n1' ]]
check "more processes than GPUs is an error in all of them" $?

# JSON.
timeout 180 "$bench" all -b 1K -e 1K -n 1 --json "${libraries[@]}" >"$work/json" 2>"$work/err" &&
        python3 - "$work/json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d['verdict'] == {'pass': True, 'reason': 'ok'}, d['verdict']
assert len(d["rows"]) == 11 and len(d['ranks']) == 4
assert d['nccl_version'] == '2.28.9' and d['cuda_version'] == '13.0'
r = d['rows'][0]
assert r['size'] == 1024 and r['count'] == 256 and r['type'] == 'float' and r['out_of_place']['wrong'] == 0
n = 4
assert abs(r['out_of_place']['busbw'] / r['out_of_place']['algbw'] - 2 * (n - 1) / n) < 1e-9
assert abs(r['out_of_place']['algbw'] - 1024 / r['out_of_place']['time_us'] / 1000) < 1e-9
assert d['ranks'][3]['pci'] == '0000:1e:00.0' and d['ranks'][3]['device'] == 3
PY
check "--json is one JSON document with everything" $?
timeout 180 "$bench" -b 1K -e 1K -n 1 -J "$work/file.json" "${libraries[@]}" >"$work/out" && grep -q Verdict "$work/out" &&
        python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["verdict"]["pass"]' "$work/file.json"
check "-J writes the JSON beside the table" $?
timeout 180 "$bench" -b 1K -e 1K -n 1 -J /nonexistent/file.json "${libraries[@]}" >/dev/null 2>"$work/err"
[[ $? -eq 1 ]] && grep -q 'Cannot write the report' "$work/err"
check "a report that cannot be written is a failure" $?
exit $rc
