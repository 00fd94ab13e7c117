#!/bin/bash
# ncclbench pairs: names the bad node and clears its partner.
#
# long: yes
set -u
. "$TOP/tests/cli/ncclbench.bash"
# The doubles' speed varies with the load of this machine, so operations take 50 ms and the limit is wide; what is
# looked for is ten times as slow.
common=(pairs -b 1K -e 1K -n 1 -w 0 -c 1 -T 25 --init-timeout=20 --below-median=60)
export CUDA_DOUBLE_DEVICES=1 NCCL_DOUBLE_USEC=50000

verdicts() { awk '/^  / { print $1, $2 }' "$work/out.0" | sort | tr '\n' ' '; }

run_all 4 "${common[@]}"
[[ $(verdicts) == "node0 pass node1 pass node2 pass node3 pass " && $(cat "$work"/rc.*) == $'0\n0\n0\n0' ]]
check "four good nodes pass" $?

NCCL_DOUBLE_SLOW_NODE=node2 run_all 5 "${common[@]}"
[[ $(verdicts) == "node0 pass node1 pass node2 BAD node3 pass node4 pass " && $(cat "$work/rc.0") -eq 1 ]] &&
        grep -q 'node2 .* nccl.slow' "$work/out.0"
check "the slow one of five is named, its partner cleared" $?

NCCL_DOUBLE_DEAD_NODE=node1 run_all 4 "${common[@]}" -T 3
[[ $(verdicts) == "node0 pass node1 BAD node2 pass node3 pass " ]] && grep -q 'node1 .* nccl.timeout' "$work/out.0"
check "a node that hangs is named, its partner cleared" $?

NCCL_DOUBLE_WRONG=0:3 run_all 2 "${common[@]}"
[[ $(verdicts) == "node0 unproven node1 unproven " ]] && grep -q 'nccl.wrong-result' "$work/out.0"
check "two nodes alone prove nothing" $?

# Of three nodes one sits out the only round, and nobody is left who could clear it.
NCCL_DOUBLE_WRONG=0:3 run_all 3 "${common[@]}" --rounds=1 --json
[[ $(python3 -c 'import json,sys; print(sorted((n["verdict"], n["reason"], "with" in n) for n in json.load(open(sys.argv[1]))["nodes"]))' "$work/out.0") == \
        "[('unproven', 'nccl.wrong-result', True), ('unproven', 'nccl.wrong-result', True), ('unproven', 'pairs.no-reference', False)]" ]]
check "a node that was never measured, with nobody to clear it: pairs.no-reference" $?
[[ $rc -eq 0 ]] || cat "$work/out.0"

# All GPUs of both nodes take part: here the last one of the second node is the bad one.
CUDA_DOUBLE_DEVICES=4 NCCL_DOUBLE_WRONG=7:3 run_all 2 "${common[@]}"
grep -q 'rank 7, element 3' "$work/out.0" && [[ $(cat "$work/rc.0") -eq 1 ]]
check "every GPU of a node is tested" $?
CUDA_DOUBLE_DEVICES=4 run_all 2 "${common[@]}" --json
[[ $(python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print([n["ranks"] for n in d["nodes"]])' "$work/out.0") == "[8, 8]" ]]
check "and the report says how many" $?

# Nodes that are all slow alike, held to what two of their shape must reach.
echo '{ "shape": "test", "bytes": 2048, "min_busbw": 5, "source": "t" }' >"$work/pairs.json"
unsized=(pairs -n 1 -w 0 -c 1 -T 25 --init-timeout=20 --below-median=60)
run_all 4 "${unsized[@]}" --limits="$work/pairs.json"
[[ $(verdicts) == "node0 unproven node1 unproven node2 unproven node3 unproven " && $(cat "$work"/rc.*) == $'1\n1\n1\n1' ]] &&
        grep -q 'nccl.slow: busbw 0.00 GB/s, must be 5.00' "$work/out.0" && grep -q '^# absolute limit 5.00' "$work/out.0" &&
        grep -q ' 2048 bytes' "$work/out.0"
check "four nodes that are slow alike do not pass the shape's limit" $?
sed -i 's/"min_busbw": 5/"min_busbw": 0.000001/' "$work/pairs.json"
run_all 2 "${unsized[@]}" --limits="$work/pairs.json"
[[ $(cat "$work"/rc.*) == $'0\n0' ]]
check "and pass one that they reach" $?
run_all 2 "${common[@]}" --limits="$work/pairs.json"
grep -q 'no absolute limit is known' "$work/out.0"
check "a number for another size is no limit, and that is said" $?
echo '{ "bytes": 2048, "min_busbw": "x" }' >"$work/pairs.json"
run_all 2 "${common[@]}" --limits="$work/pairs.json"
[[ $(cat "$work"/rc.*) == $'1\n1' ]] && grep -q 'must be numbers above 0' "$work/out.0"
check "a broken file of limits is an error" $?

# A process that is gone altogether.
port=$(free_port)
for i in 0 1 2 3; do
        SLURMD_NODENAME=node$i timeout 100 "$bench" "${common[@]}" --rounds=2 -n 20 "${libraries[@]}" --rank=$i --world-size=4 \
                --master=127.0.0.1:"$port" >"$work/out.$i" 2>&1 &
        pids[i]=$!
done
joined "$port" 3
sleep 1 # in its midst
pkill -KILL -P "${pids[3]}"
wait
[[ $(verdicts) == "node0 pass node1 pass node2 pass node3 GONE " ]]
check "a node that goes away is reported as gone" $?
[[ $rc -eq 0 ]] || cat "$work/out.0"

run_all 4 "${common[@]}" --json
python3 - "$work/out.0" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d['bad'] == 0 and [n['node'] for n in d['nodes']] == ['node0', 'node1', 'node2', 'node3']
assert all(n['verdict'] == 'pass' and n['busbw'] > 0 and n['reason'] == 'ok' for n in d['nodes'])
PY
check "--json" $?

port=$(free_port)
for i in 0 1; do
        SLURMD_NODENAME=same timeout 180 "$bench" "${common[@]}" "${libraries[@]}" --rank=$i --world-size=2 \
                --master=127.0.0.1:"$port" >"$work/out.$i" 2>&1 &
done
wait
grep -q 'are both on same: start one a node' "$work/out.0"
check "two processes on one node are refused" $?

timeout 120 "$bench" pairs "${libraries[@]}" >"$work/out" 2>&1
[[ $? -eq 2 ]] && grep -q 'two nodes at least' "$work/out"
check "one node is a usage error" $?
exit $rc
