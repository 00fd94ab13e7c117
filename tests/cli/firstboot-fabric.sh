#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The shipped rdma and nccl steps under the agent: a node is ready only when fabric and NCCL say so.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
[[ $BUILD == /* ]] && node_build=$BUILD/firstboot
ctl=$node_build/firstbootctl
doubles=$(realpath "$BUILD")/tests/nccl-double
NODE=
unset RANK WORLD_SIZE LOCAL_RANK "${!SLURM@}" "${!NCCL@}"

# A node of two RDMA ports and four GPUs, with the step files as they are shipped; the other steps are left out.
fresh() {
        node_end
        node_new
        mkdir -p "$NODE/usr/bin" "$NODE/etc/firstboot/shapes.d" "$NODE/proc/net"
        cp firstboot/steps/*/*.json firstboot/steps/*.json "$NODE/usr/lib/firstboot/steps.d/"
        rm "$NODE/usr/lib/firstboot/steps.d/shapes.json"
        ln -s "$node_build/ncclbench/ncclbench" "$NODE/usr/bin/ncclbench"
        ln -s "$node_build/firstboot-step" "$NODE/exec/rdma"; ln -s "$node_build/firstboot-step" "$NODE/exec/nccl"
        "$TOP/tests/fixtures/rdma-sysfs" "$NODE" mlx5_0 mlx5_1
        echo '{"sources":{"t":"this test"},"shapes":[{"name":"box","gpus":{"count":4},
                "rdma":{"ports":2,"rate_gbps":400,"link_layer":"Ethernet","devices":["mlx5_0","mlx5_1"],"source":"t"},
                "busbw":[{"size":"4K","gbps":0.000001,"kind":"gate","source":"t"}]}]}' >"$NODE/etc/firstboot/shapes.d/box.json"
        local s off=
        for s in "$NODE"/usr/lib/firstboot/steps.d/*.json; do
                s=$(basename "$s" .json)
                [[ $s == rdma || $s == nccl ]] || off+="\"$s\":{\"enabled\":false},"
        done
        echo "{\"shape\":{\"name\":\"box\"},\"rdma\":{\"watch\":\"0ms\",\"give_up\":\"0ms\"},
                \"nccl\":{\"cuda_runtime\":\"off\",\"cuda_library\":\"$doubles/libcuda.so.1\",\"nccl_library\":\"$doubles/libnccl.so.2\"},
                \"steps\":{$off\"rdma\":{\"retries\":0},\"nccl\":{\"retries\":0}}}" >"$NODE/etc/firstboot/node.json"
}

# Waits for the verdict, whatever it is; one that is not the one expected is known at once.
settles() {
        for _ in $(seq 600); do
                [[ $(node_json 'o["node"]') =~ ^(ready|degraded|failed)$ ]] && break
                sleep 0.2
        done
        is 'o["node"]' "$1"
}

fresh
node_boot
check "fabric and NCCL as they should be: ready" settles ready
check "nccl comes after rdma" is 'o["step"]["nccl"]["attempts"][0]["started_usec"] >= o["step"]["rdma"]["attempts"][0]["finished_usec"]' True
check "NCCL's configuration is there when it starts" grep -qx 'NCCL_IB_HCA==mlx5_0,mlx5_1' "$NODE/etc/nccl.conf"
check "status says what was measured" bash -c '"$1" status | grep -q "nccl .*results of 4 GPUs are right, busbw"' - "$ctl"

fresh
echo '1: DOWN' >"$NODE/sys/class/infiniband/mlx5_1/ports/1/state"
node_boot
check "a port that is down: the node is not ready" settles failed
check "the reason is the step's" is 'o["step"]["rdma"]["result"]["code"]' rdma.port-down
check "nccl is held back" is 'o["step"]["nccl"]["status"]' blocked
check "explain says which port, and what to do" bash -c '"$1" explain | grep -q "mlx5_1 port 1" && "$1" explain | grep -q "cable"' - "$ctl"
echo '4: ACTIVE' >"$NODE/sys/class/infiniband/mlx5_1/ports/1/state"
"$ctl" rerun --wait rdma >/dev/null
check "repaired and run again: ready" settles ready

fresh
export NCCL_DOUBLE_WRONG=1:5
node_boot
check "a wrong element: the node is not ready" settles failed
check "with NCCL's reason" is 'o["step"]["nccl"]["result"]["code"]' nccl.wrong-result
check "explain has ncclbench's advice" bash -c '"$1" explain | grep -q "dcgmi diag"' - "$ctl"
check "node-ready.target is not started" bash -c '! grep -q "^StartUnit node-ready" "$1"' - "$NODE/calls"
unset NCCL_DOUBLE_WRONG

fresh
sed -i 's/"nccl":{"cuda_library[^}]*},//; s/"shape":{"name":"box"},//' "$NODE/etc/firstboot/node.json"
python3 - "$NODE/etc/firstboot/node.json" <<'PY'
import json, sys
o = json.load(open(sys.argv[1]))
for k in ("rdma", "nccl", "shape"):
    o.pop(k, None)
json.dump(o, open(sys.argv[1], "w"))
PY
node_boot
check "a node of which nothing of this is asked is ready" settles ready
check "its steps are skipped" is 'o["step"]["rdma"]["status"] + " " + o["step"]["nccl"]["status"]' 'skipped skipped'
[[ -z $failed ]]
