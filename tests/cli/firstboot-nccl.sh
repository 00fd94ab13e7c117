#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The nccl step as a program, with the real ncclbench on doubles of CUDA and NCCL: each of ncclbench's reasons becomes the step's
# code. Reasons that need several processes or another verb come from the real ncclbench in such a part.
#
# lane: clock
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
[[ $BUILD == /* ]] || node_build=$TOP/$BUILD/firstboot
doubles=$(realpath "$BUILD")/tests/nccl-double
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT "${!SLURM@}" "${!NCCL@}"

fresh() {
        node_end
        node_new
        mkdir -p "$NODE/usr/bin" "$NODE/etc/firstboot/shapes.d" "$NODE/run/firstboot/results"
        ln -s "$node_build/ncclbench/ncclbench" "$NODE/usr/bin/ncclbench"
        # A machine of four GPUs, gated at a size that the doubles are done with in no time.
        cat >"$NODE/etc/firstboot/shapes.d/test.json" <<'JSON'
{ "sources": { "t": "this test" }, "shapes": [
        { "name": "gated", "gpus": { "count": 4 }, "nccl": { "env": { "NCCL_FROM_SHAPE": "1" }, "source": "t" },
          "busbw": [ { "nodes": 1, "size": "4K", "gbps": 0.000001, "kind": "gate", "source": "t" } ] },
        { "name": "two", "gpus": { "count": 4 }, "busbw": [ { "nodes": 1, "size": "4K", "gbps": 0.000001, "kind": "gate", "source": "t" },
                { "nodes": 2, "size": "8K", "gbps": 100, "kind": "measured", "source": "t" } ] },
        { "name": "measured", "gpus": { "count": 4 }, "busbw": [ { "nodes": 1, "size": "4K", "gbps": 100, "kind": "measured", "source": "t" } ] },
        { "name": "nvls", "gpus": { "count": 4 }, "busbw": [ { "nodes": 1, "size": "4K", "gbps": 0.000001, "kind": "gate", "nvls": true, "source": "t" } ] },
        { "name": "bare", "gpus": { "count": 4 } }, { "name": "one", "gpus": { "count": 1 } }, { "name": "eight", "gpus": { "count": 8 } } ] }
JSON
}
# nccl SHAPE [KEYS]: runs the step on a machine of that shape ("" for an unknown one).
nccl() {
        config "{\"nccl\":{\"cuda_runtime_root\":\"${tree:-$NODE}\",\"cuda_library\":\"${cuda:-$doubles/libcuda.so.1}\",\"nccl_library\":\"${library:-$doubles/libnccl.so.2}\"${2:+,$2}},\"shape\":{${1:+\"name\":\"$1\",}\"unknown\":\"${unknown:-fail}\"}}"
        run_step
}
config() { echo "{\"config\":$1,\"instance\":{}}" >"$NODE/run/firstboot/config.json"; }
run_step() { rm -f "$NODE/run/firstboot/results/nccl.json"; timeout -s KILL 120 "$node_build/firstboot-step" nccl >"$NODE/agent.log" 2>&1; rc=$?; }
result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/nccl.json")); f=o.get("figures",{}); print(eval(sys.argv[2]))' "$NODE" "$1" 2>&1; }
verdict() { local got; got=$(result '" ".join(filter(None,[o.get("status"),o.get("code")]))'); [[ $got == "$1" ]] || { echo "# $got: $(result 'o.get("message")')"; return 1; }; }
message_has() { [[ $(result 'o.get("message")') == *"$1"* ]] || { echo "# $(result 'o.get("message")')"; return 1; }; }
ran() { grep -q -e "$1" "$NODE/agent.log"; }

NODE=
driven=()
# fault NAME REASON SECONDS [VARIABLE=VALUE…] [-- KEYS]: ncclbench's reason is the step's code, in time.
fault() {
        local name=$1 reason=$2 limit=$3 variables=() code start=$SECONDS
        shift 3
        while [[ $# -gt 0 && $1 != -- ]]; do variables+=("$1"); shift; done
        [[ $# -gt 0 ]] && shift
        code=$reason; [[ $code == *.* ]] || code=nccl.$code
        driven+=("$reason")
        config "{\"nccl\":{\"cuda_runtime_root\":\"${tree:-$NODE}\",\"cuda_library\":\"${cuda:-$doubles/libcuda.so.1}\",\"nccl_library\":\"${library:-$doubles/libnccl.so.2}\"${1:+,$1}},\"shape\":{\"name\":\"gated\"}}"
        rm -f "$NODE/run/firstboot/results/nccl.json"
        env "${variables[@]}" timeout -s KILL 120 "$node_build/firstboot-step" nccl >"$NODE/agent.log" 2>&1
        rc=$?
        [[ $(result 'o["status"], o["code"]') == "('failed', '$code')" && $((SECONDS - start)) -le $limit ]] &&
                [[ $(result 'len(o["message"]) > 5 and len(o["remedy"]) > 10') == True ]] &&
                "$node_build/firstboot-codes" markdown | grep -qxF "### \`$code\`"
        local r=$?
        [[ $r -eq 0 ]] || echo "# $(result 'o.get("status"), o.get("code"), o.get("message")') after $((SECONDS - start)) s"
        check "$name: $code" test $r = 0
}

# --- whom it concerns, and what a good node looks like ----------------------------------------------------------------
fresh
config '{}'; run_step
check "no nccl section: skipped" verdict "skipped"
config '{"nccl":{},"gpu":{"required":false}}'; run_step
check "no GPU and none required: skipped" verdict "skipped"
nccl gated
check "a node as its shape has it: done" verdict "done"
check "the shape's gate is what ncclbench is asked for" ran '--expect=4096:1e-06'
check "on all GPUs of the shape" ran '--ngpus=4'
check "with a limit" ran '--timeout=30'
check "ncclbench's table is in the log" ran '^  *# Verdict: pass'
check "the figures have bandwidth, limit and its source" test "$(result 'f["busbw"] > 0.000001 and (f["min_busbw"], f["min_busbw_source"], f["bytes"], f["n_ranks"], f["wrong"])')" = "(1e-06, 't', 4096, 4, 0)"
check "and NCCL's version, the GPUs, the shape" test "$(result 'f["nccl_version"], len(f["ranks"]), f["shape"]["name"], f["seconds"] > 0')" = "('2.28.9', 4, 'gated', True)"
check "no number for two nodes: no file for ncclbench pairs" test ! -e "$NODE/run/firstboot/pairs.json"
nccl two
check "the number for two nodes is left for ncclbench pairs" test "$(python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(d["shape"], d["bytes"], d["min_busbw"], d["source"])' "$NODE/run/firstboot/pairs.json")" = "two 8192 95.0 t"
check "where users can read it" test "$(stat -c %a "$NODE/run/firstboot/pairs.json")" = 644
nccl measured
check "and taken away where it holds no more" test ! -e "$NODE/run/firstboot/pairs.json"
check "a measured number must be reached to 95 %" ran '--expect=4096:95$\|--expect=4096:95 '
check "or the node is too slow" verdict "failed nccl.slow"
check "and that does not pass by itself" test "$rc" = 1
nccl measured '"measured_percent":50'
check "or to the part configured" ran '--expect=4096:50$\|--expect=4096:50 '
nccl bare '"size":4096'
check "no number to compare with: failed" verdict "failed nccl.no-limit"
check "with what was measured" message_has "busbw of 4 GPUs is "
nccl bare '"size":4096,"no_limit":"warn"'
check "or degraded, as configured" verdict "degraded nccl.no-limit"
nccl bare '"size":4096,"min_busbw":900000'
check "a limit from the configuration" verdict "failed nccl.slow"
nccl gated '"size":8192'
check "a number for another size does not count" verdict "failed nccl.no-limit"
CUDA_DOUBLE_DEVICES=1 nccl one '"size":4096'
check "one GPU: only its results are judged" verdict "done"
check "and that is said" message_has "no bandwidth between GPUs"
NCCL_DOUBLE_WRONG=0:1 CUDA_DOUBLE_DEVICES=1 nccl one '"size":4096'
check "one GPU with a wrong result" verdict "failed nccl.wrong-result"
nccl "" '"size":4096'
check "an unknown shape fails" verdict "failed shape.unknown"
check "after it was measured" test "$(result 'f["busbw"] > 0')" = True
unknown=warn nccl "" '"size":4096'
check "or degrades, as configured" verdict "degraded shape.unknown"
config "{\"gpu\":{\"count\":4},\"nccl\":{\"cuda_runtime\":\"off\",\"size\":4096,\"cuda_library\":\"$doubles/libcuda.so.1\",\"nccl_library\":\"$doubles/libnccl.so.2\"},\"shape\":{\"unknown\":\"fail\"}}"; run_step
check "where gpu.count says how many GPUs there are, only the limit is missing" verdict "failed nccl.no-limit"
check "and these GPUs are asked for" ran '--ngpus=4'
CUDA_DOUBLE_DEVICES=3 run_step
check "one less is seen" verdict "failed cuda.no-device"
nccl nosuch '"size":4096'
check "so does a name that is not in the table" verdict "failed shape.unknown"
CUDA_DOUBLE_DEVICES=7 nccl eight '"size":4096'
check "seven of eight GPUs" verdict "failed cuda.no-device"

# --- environment ------------------------------------------------------------------------------------------------------
fresh
rm "$NODE/usr/bin/ncclbench"
{ echo '#!/bin/bash'; echo "[[ \$1 == runtime ]] || env | grep -E '^(NCCL|SLURM|RANK)' | sort >$NODE/env"; echo "exec $node_build/ncclbench/ncclbench \"\$@\""; } >"$NODE/usr/bin/ncclbench"
chmod +x "$NODE/usr/bin/ncclbench"
SLURM_PROCID=3 RANK=1 nccl gated
check "the shape's environment is set" grep -qx NCCL_FROM_SHAPE=1 "$NODE/env"
check "what belongs to other runs is not" test "$(grep -cE '^(SLURM|RANK)' "$NODE/env")" = 0
check "NVLink multicast is left to NCCL" test "$(grep -c NVLS "$NODE/env")" = 0
echo NCCL_FROM_SHAPE=2 >"$NODE/etc/nccl.conf"
nccl gated
check "what /etc/nccl.conf says counts before the shape" test "$(grep -c NCCL_FROM_SHAPE "$NODE/env")" = 0
nccl gated '"nvls":"off"'
check "NVLink multicast off" grep -qx NCCL_NVLS_ENABLE=0 "$NODE/env"
nccl gated '"nvls":"on"'
check "NVLink multicast on" grep -qx NCCL_NVLS_ENABLE=1 "$NODE/env"
nccl nvls
check "a number that needs multicast holds with it" verdict "done"
nccl nvls '"nvls":"off","size":4096'
check "and not without" verdict "failed nccl.no-limit"
echo NCCL_NVLS_ENABLE=0 >"$NODE/etc/nccl.conf"
nccl nvls '"size":4096'
check "nor where nccl.conf switches it off" verdict "failed nccl.no-limit"
rm "$NODE/etc/nccl.conf"; mkdir "$NODE/etc/nccl.conf"
nccl gated
check "an nccl.conf that cannot be read: failed" verdict "failed rdma.nccl-conf"

# --- limits that are derived ------------------------------------------------------------------------------------------
# A program that says it measured what is asked for: the doubles are too slow for sizes that limits hold for.
program() { rm -f "$NODE/usr/bin/ncclbench"; { echo '#!/bin/bash'; echo "[[ \$1 == runtime ]] && exec $node_build/ncclbench/ncclbench \"\$@\""; echo 'for a; do case $a in --output-file=*) out=${a#*=} ;; --maxbytes=*) bytes=${a#*=} ;; --devices=*) ranks=2 ;; esac; done'
        echo "echo \"\$* \$(env | grep ^NCCL_ | sort | tr '\\n' ' ')\" >>$NODE/runs"; cat; } >"$NODE/usr/bin/ncclbench"; chmod +x "$NODE/usr/bin/ncclbench"; }
says() { program <<<'echo "{\"verdict\":{\"pass\":true},\"rows\":[{\"nominal\":$bytes,\"out_of_place\":{\"busbw\":'"$1"',\"wrong\":0}}],\"n_ranks\":${ranks:-4},\"wrong\":0}" >$out'; }
fresh
cat >"$NODE/etc/firstboot/shapes.d/more.json" <<'JSON'
{ "sources": { "t": "this test" }, "shapes": [ { "name": "linked", "gpus": { "count": 4 }, "nvlink": { "links": 18, "gbps": 50, "source": "t" } } ] }
JSON
says 640
nccl linked
check "without a number the links are the limit" verdict "done"
check "70 % of them, and that is said" test "$(result 'round(f["min_busbw"], 3), f["min_busbw_source"]')" = "(630.0, 'derived: 70 % of 18 NVLinks x 50 GB/s')"
check "at a size where the links count" ran '--expect=4294967296:630'
nccl linked '"derived_percent":50'
check "or the part configured" ran '--expect=4294967296:450'
says 400
echo '{"steps":[{"name":"gpu","result":{"figures":{"nvlink":{"links":18,"gbps":25.0,"complete":true}}}}]}' >"$NODE/run/firstboot/status.json"
nccl bare
check "of a shape that does not tell, the links that the gpu step found" ran '--expect=4294967296:315'
echo '{"steps":[{"name":"gpu","result":{"figures":{"nvlink":{"links":12,"gbps":25.0,"complete":false}}}}]}' >"$NODE/run/firstboot/status.json"
for i in 1 2 3 4; do d=$NODE/sys/bus/pci/devices/0000:0$i:00.0; mkdir -p "$d"; echo 0x10de >"$d/vendor"; echo 0x030200 >"$d/class"; echo '32.0 GT/s PCIe' >"$d/max_link_speed"; echo 16 >"$d/max_link_width"; done
nccl bare
check "GPUs that are not all tied by NVLink have PCIe as their limit" test "$(result 'f["min_busbw_source"]')" = "derived: 25 % of PCIe's 63.0 GB/s"
nccl "" ''
check "a derived limit makes no known shape of an unknown one" verdict "failed shape.unknown"
echo '{"config":{"nccl":{},"gpu":{"mig":"on"}},"instance":{}}' >"$NODE/run/firstboot/config.json"; run_step
check "divided GPUs are not joined by NCCL: skipped" verdict "skipped"

# --- over each RDMA port ----------------------------------------------------------------------------------------------
fresh
"$TOP/tests/fixtures/rdma-sysfs" "$NODE" mlx5_0 mlx5_1
echo 'NCCL_IB_HCA==mlx5_0,mlx5_1:1' >"$NODE/etc/nccl.conf"
says 20
nccl gated
check "ports that carry traffic: done" verdict "done"
check "each port alone, without NVLink and shared memory" bash -c '[[ $(grep -c "NCCL_IB_HCA==mlx5_0 .*NCCL_NET=IB .*NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1" "$1") == 1 && $(grep -c "NCCL_IB_HCA==mlx5_1:1 " "$1") == 1 ]]' - "$NODE/runs"
check "what they carried is in the figures" test "$(result 'f["loopback"]')" = "{'mlx5_0': 20.0, 'mlx5_1:1': 20.0}"
nccl gated '"size":268435456,"min_busbw":1'
check "half of what two GPUs on a port of 400 Gb/s can have is the limit" ran '--expect=268435456:12.5'
says 5
nccl gated '"size":268435456,"min_busbw":1'
check "a report below the limit is not believed" verdict "failed nccl.no-verdict"
# failing TEXT REASON PORT: only the run over this port fails.
failing() { program <<<'if [[ ${NCCL_IB_HCA:-} == ='"$3"' ]]; then echo "{\"verdict\":{\"pass\":false,\"reason\":\"'"$2"'\",\"text\":\"'"$1"'\"}}" >$out; exit 1; fi
echo "{\"verdict\":{\"pass\":true},\"rows\":[{\"nominal\":$bytes,\"out_of_place\":{\"busbw\":20,\"wrong\":0}}],\"n_ranks\":${ranks:-4},\"wrong\":0}" >$out'; }
failing "ibv_reg_mr failed" nccl.init-failed mlx5_1:1
nccl gated
check "a port that is up and carries nothing: rdma.traffic" verdict "failed rdma.traffic"
check "is named with the reason" message_has "NCCL over mlx5_1:1 alone: ibv_reg_mr failed"
failing "4 GB/s" nccl.slow mlx5_0
nccl gated
check "one that is slow: rdma.slow" verdict "failed rdma.slow"
failing "element 7" nccl.wrong-result mlx5_0
nccl gated
check "one that spoils data: nccl.wrong-result" verdict "failed nccl.wrong-result"
program <<<"[[ \${NCCL_IB_HCA:-} ]] && echo 5 >$NODE/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error; "'echo "{\"verdict\":{\"pass\":true},\"rows\":[{\"nominal\":$bytes,\"out_of_place\":{\"busbw\":20,\"wrong\":0}}],\"n_ranks\":${ranks:-4},\"wrong\":0}" >$out'
nccl gated
check "errors that come with the traffic: rdma.errors-grow" verdict "failed rdma.errors-grow"
says 20; echo 0 >"$NODE/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"; : >"$NODE/runs"
nccl gated '"loopback":false'
check "the ports need not be tried" test "$(grep -c IB_HCA "$NODE/runs")" = 0
mkdir -p "$NODE/proc/driver/nvidia"; echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15' >"$NODE/proc/driver/nvidia/version"
nccl gated
check "no way for GPUDirect: degraded" verdict "degraded rdma.no-gpudirect"
mkdir -p "$NODE/sys/module/nvidia_peermem"
nccl gated
check "with nvidia-peermem: done" verdict "done"
check "and that is said" test "$(result 'f["gpudirect"]')" = peermem

# --- every reason that a run on one node can give ---------------------------------------------------------------------
fresh
cuda=/nonexistent fault "no CUDA library" cuda.no-driver 30
cuda=$doubles/libnccl.so.2 fault "a CUDA library without its functions" driver.library-mismatch 30
library=/nonexistent fault "no NCCL library" nccl.no-library 30
library=$doubles/libcuda.so.1 fault "an NCCL library without its functions" nccl.too-old 30
fault "no GPU" cuda.no-device 30 CUDA_DOUBLE_DEVICES=0
fault "error 802" cuda.fabric-not-ready 30 CUDA_DOUBLE_INIT=802
check "the fabric may come up: tried again" test "$rc" = 75
fault "error 999" cuda.error 30 CUDA_DOUBLE_INIT=999
fault "no memory" cuda.out-of-memory 30 CUDA_DOUBLE_MEMORY=100
fault "cuInit hangs" cuda.timeout 60 CUDA_DOUBLE_HANG=1 -- '"limit":"1s"'
fault "cuInit hangs and ignores SIGTERM" cuda.timeout 60 CUDA_DOUBLE_HANG=stubborn -- '"limit":"1s"'
fault "the process crashes" worker.died 30 CUDA_DOUBLE_CRASH=1
fault "init error" nccl.init-failed 30 NCCL_DOUBLE_INIT=2
fault "two ranks on one GPU" nccl.duplicate-gpu 30 NCCL_DOUBLE_INIT=5 \
        "NCCL_DOUBLE_LAST_ERROR=Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60"
fault "the communicator is never ready" nccl.init-timeout 60 NCCL_DOUBLE_INIT=hang -- '"limit":"1s"'
fault "an operation never ends" nccl.timeout 60 NCCL_DOUBLE_HANG=stream -- '"limit":"1s"'
fault "the call for an operation never returns" nccl.timeout 60 NCCL_DOUBLE_HANG=call -- '"limit":"1s"'
check "what was late is tried again" test "$rc" = 75
fault "an asynchronous error" nccl.error 30 NCCL_DOUBLE_ERROR=6
fault "one wrong element" nccl.wrong-result 30 NCCL_DOUBLE_WRONG=2:17
check "what was wrong is not tried again" test "$rc" = 1
fault "a rank's data is missing" nccl.wrong-result 30 NCCL_DOUBLE_MISSING=3
fault "a slow link" nccl.slow 30 NCCL_DOUBLE_USEC=20000 -- '"size":4096,"min_busbw":1'

# --- the CUDA runtime that programs get ------------------------------------------------------------------------------
mkdir -p "$NODE/etc" "$NODE/usr/lib/cudart"
nccl gated
check "no runtime in the image: done" verdict "done"
nccl gated '"cuda_runtime":"required"'
check "unless it must have one" verdict "failed cuda.runtime-missing"
driven+=(cuda.runtime-missing)
cp "$doubles/libcudart.so.12" "$NODE/usr/lib/cudart/"; echo /usr/lib/cudart >"$NODE/etc/ld.so.conf"
/sbin/ldconfig -r "$NODE" -f /etc/ld.so.conf 2>/dev/null
nccl gated '"cuda_runtime":"required"'
check "a runtime that works: done" verdict "done"
check "runtime, driver and NCCL versions are figures" test "$(result '[x["version"] for x in f["cuda_runtimes"]], f["cuda_version"], f["nccl_version"]')" = "(['12.4'], '13.0', '2.28.9')"
fault "a runtime newer than the driver" cuda.runtime-too-new 30 CUDART_DOUBLE_VERSION=14000
fault "a runtime that does not work" cuda.runtime-error 30 CUDART_DOUBLE_WRONG=1
CUDART_DOUBLE_WRONG=1 nccl gated '"cuda_runtime":"off"'
check "that may be left out" verdict "done"
mkdir "$NODE/usr/lib/second"; cp "$doubles/libcudart.so.12" "$NODE/usr/lib/second/"; echo /usr/lib/second >>"$NODE/etc/ld.so.conf"
/sbin/ldconfig -r "$NODE" -f /etc/ld.so.conf 2>/dev/null
fault "a runtime that is there twice" cuda.runtime-doubled 30
rm -r "$NODE/usr/lib/cudart" "$NODE/usr/lib/second" "$NODE/etc/ld.so.cache"

# --- what a program says that is not ncclbench as it should be --------------------------------------------------------
bench() { rm -f "$NODE/usr/bin/ncclbench"; { echo '#!/bin/bash'; echo "[[ \$1 == runtime ]] && exec $node_build/ncclbench/ncclbench \"\$@\""; echo 'for a; do [[ $a == --output-file=* ]] && out=${a#*=}; done'; cat; } >"$NODE/usr/bin/ncclbench"; chmod +x "$NODE/usr/bin/ncclbench"; }
row='"rows":[{"nominal":4096,"out_of_place":{"busbw":1.0,"wrong":0}}],"n_ranks":4,"wrong":0'
# The reasons of a run over several nodes, and of ncclbench's other verbs: the real program in a part that the step does not give it.
real=$node_build/ncclbench/ncclbench
# Below the range of ports for outgoing connections.
new_port() { while :; do port=$((10000 + RANDOM % 20000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return; done; }
new_port
rank() { echo "exec $real \"\$@\" --rank=$1 --world-size=2 --master=127.0.0.1:$port --init-timeout=$2"; }
# other [VARIABLE=VALUE…]: process 1 of two, beside the step's.
other() { env "$@" timeout -s KILL 120 "$real" -b 4K -e 4K -n 1 --cuda-library="$doubles/libcuda.so.1" --nccl-library="$doubles/libnccl.so.2" --ngpus=4 \
                --rank=1 --world-size=2 --master=127.0.0.1:$port --init-timeout=${patience:-40} --timeout=60 >"$NODE/other.log" 2>&1 & }
export NCCLBENCH_SECRET=of-this-test-alone
bench <<<"$(rank 0 1)"
fault "nobody comes" rendezvous.timeout 60
patience=5 other NCCLBENCH_SECRET=of-another-cluster
bench <<<"$(rank 0 5)"
fault "the other has another secret" rendezvous.refused 60
wait $!
python3 -c 'import socket,sys,time; s=socket.socket(); s.bind(("127.0.0.1",int(sys.argv[1]))); s.listen(1); open(sys.argv[2],"w"); time.sleep(120)' "$port" "$NODE/taken" & holder=$!
until [[ -e $NODE/taken ]]; do sleep 0.05; done
bench <<<"$(rank 0 20)"
fault "the port is taken" rendezvous.error 60
kill $holder; wait $holder 2>/dev/null
new_port; other CUDA_DOUBLE_DEVICES=0
bench <<<"$(rank 0 40)"
fault "the other finds no GPU" peer.failed 60
wait $!
bench <<<"exec $real load --seconds=0.01 --matrix=128 -b 1M -e 1M --cuda-library=$doubles/libcuda.so.1 --output-file=\$out"
fault "a GPU that copies wrong" cuda.wrong-result 60 CUDA_DOUBLE_WRONG=copy:0
bench <<<"$real \"\$@\" & p=\$!; until grep -q . \$out.begun 2>/dev/null || ! kill -0 \$p; do sleep 0.1; pgrep -P \$p >\$out.begun; done; sleep 1; kill -TERM \$p; wait \$p"
fault "a signal" interrupted 60 NCCL_DOUBLE_HANG=stream
bench <<<"exec $real \"\$@\" --corrupt=9:0"
fault "what cannot be" internal.error 60
unset NCCLBENCH_SECRET
bench <<<"exec $TOP/tests/fixtures/unkillable $real \"\$@\""
fault "a measuring process that even SIGKILL does not end" worker.stuck 60 CUDA_DOUBLE_HANG=1 -- '"limit":"1s"'
check "it is tried again" test "$rc" = 75
# pairs' report is of all nodes; the verdict here is its word on the third, which sat out while the other two failed.
new_port
bench <<B
for i in 2 1 0; do
        SLURMD_NODENAME=node\$i NCCLBENCH_SECRET=of-these-three-alone CUDA_DOUBLE_DEVICES=1 NCCL_DOUBLE_WRONG=0:3 $real pairs --rounds=1 -b 1K -e 1K -n 1 -w 0 -c 1 -T 25 --init-timeout=20 \\
                --cuda-library=$doubles/libcuda.so.1 --nccl-library=$doubles/libnccl.so.2 --rank=\$i --world-size=3 --master=127.0.0.1:$port --json >\$out.\$i &
done
wait
python3 -c 'import json, sys
node = [n for n in json.load(open(sys.argv[1]))["nodes"] if n["busbw"] == 0 and "with" not in n][0]
json.dump({"verdict": dict(node, **{"pass": False, "text": node["node"] + " is " + node["verdict"], "advice": "run it on more nodes"})}, open(sys.argv[2], "w"))' \$out.0 \$out
exit 1
B
fault "no node passed" pairs.no-reference 60
all=$(sed -n '/reason_table\[_REASON_MAX\] = {/,/^};/p' firstboot/ncclbench/reason.c | sed -n 's/.*= { "\([a-z.-]*\)",.*/\1/p' | grep -vx ok | sort)
check "every reason that ncclbench has was driven" test "$(printf '%s\n' "${driven[@]}" | sort -u)" = "$all"

no_verdict() { nccl gated; check "$1" verdict "failed nccl.no-verdict"; }
bench <<<"echo '{\"verdict\":{\"pass\":false,\"reason\":\"new.reason\",\"text\":\"x\"}}' >\$out; exit 1"
no_verdict "a reason that is not in the table"
bench <<<"exit 1"
no_verdict "no report"
bench <<<"echo '{\"verdict\":' >\$out; exit 0"
no_verdict "half a report"
bench <<<"exit 0"
echo "{\"verdict\":{\"pass\":true},$row}" >"$NODE/run/firstboot/ncclbench.json"
no_verdict "a report from before is not taken for one"
bench <<<"echo '{\"verdict\":{\"pass\":true},$row}' >\$out; exit 1"
no_verdict "pass with exit code 1"
bench <<<"echo '{\"verdict\":{\"pass\":false,\"reason\":\"nccl.slow\"},$row}' >\$out; exit 0"
no_verdict "fail with exit code 0"
bench <<<"echo '{\"verdict\":{\"pass\":true},$row}' >\$out"
nccl gated
check "(the report itself is a good one)" verdict "done"
for change in 's/"nominal":4096/"nominal":8192/' 's/"busbw":1.0/"busbw":0.000000001/' 's/"busbw":1.0/"busbw":"x"/' 's/"wrong":0}}/"wrong":1}}/' 's/"wrong":0$/"wrong":1/' \
        's/,"wrong":0$//' 's/"n_ranks":4/"n_ranks":3/' 's/"rows":.*"n_ranks"/"n_ranks"/' 's/"out_of_place"/"other"/'; do
        bench <<<"echo '{\"verdict\":{\"pass\":true},$(sed "$change" <<<"$row")}' >\$out"
        no_verdict "a pass that does not show it: $change"
done
bench <<<'trap "" TERM; while :; do sleep 1; done'
start=$SECONDS
nccl gated '"limit":"1s"'
check "a program that never ends is killed" verdict "failed nccl.no-end"
check "within its limit" test $((SECONDS - start)) -le 60
rm "$NODE/usr/bin/ncclbench"
nccl gated
check "no ncclbench: failed" verdict "failed nccl.no-program"
[[ -z $failed ]]
