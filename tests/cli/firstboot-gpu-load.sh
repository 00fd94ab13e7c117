#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The gpu step under load, by a double of `ncclbench load`; GPUs that are no whole GPUs of a data centre; the machine's shape by
# what is built in; Xids and the resets that cure them.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
source tests/fixtures/gpu-node.bash

# bench [LINE…]: an ncclbench whose load says that all is well, after these lines of shell.
bench() {
        mkdir -p "$NODE/usr/bin"
        { echo '#!/bin/bash'; echo "[[ \"\$1 \$2\" == 'load --json' ]] || { echo \"unknown operation \$1\" >&2; exit 2; }"
          printf '%s\n' "$@"; echo 'echo "looking at 8 GPUs" >&2; sleep 0.5'
          echo "cat $NODE/report"; } >"$NODE/usr/bin/ncclbench"
        chmod +x "$NODE/usr/bin/ncclbench"
        report
}
# report [PYTHON]: what the load prints; the statement may change it (o).
report() {
        python3 - "${1:-pass}" >"$NODE/report" <<'PY'
import json, sys
o = {"devices": [{"index": i, "hbm_gbs": 3000.0, "gemm_tflops": 700.0} for i in range(8)],
     "p2p": [{"from": i, "to": k, "gbs": 370.0} for i in range(8) for k in range(8) if i != k]}
exec(sys.argv[1])
print(json.dumps(o))
PY
}
# loaded NAME CODE LINE…: during the load these lines of shell are run; the step fails with this code alone ("": is done).
loaded() {
        local name=$1 want=$2
        shift 2
        machine; bench "$@"; run_step
        if [[ $want ]]; then check "$name: $want" only "$want"; else check "$name" verdict "done "; fi
}
set_nvml='echo'
nvml() { echo "$set_nvml '$1' >>$NODE/nvml.conf"; }

# --- load -----------------------------------------------------------------------------------------------------------
loaded "a healthy load is done" ""
check "what it measured is in the figures" test "$(result "o['figures']['gpus'][7]['hbm_gbps'], o['figures']['gpus'][7]['clock_load']")" = "(3000.0, 1980)"
loaded "an Xid under load" gpu.xid "echo '3,90,100,-;NVRM: Xid (PCI:0000:1d:00): 95, uncontained' >>$NODE/dev/kmsg"
loaded "an ECC error under load" gpu.ecc-errors "$(nvml 3.ecc_volatile=1)"
machine; config '"bandwidth":false,"ecc_volatile_max":100'; bench "$(nvml 3.ecc_volatile=1)"; run_step
check "even where old ones are let pass: gpu.ecc-errors" only gpu.ecc-errors
loaded "PCIe replays under load" gpu.pcie-errors "$(nvml 3.pcie_replays=9)"
machine; echo 3.pcie_replays=5000 >"$NODE/nvml.conf"; bench; run_step
check "old ones are none of a fault" verdict "done "
loaded "an NVLink that replays under load" gpu.nvlink-errors "$(nvml 3.link.4.replay=1)"
loaded "a GPU that is lost under load" gpu.lost "$(nvml 3.error.nvmlDeviceGetEccMode=15)"
machine; echo 3.clock=600 >"$NODE/nvml.conf"; bench; run_step
check "clocks locked low: gpu.clocks-locked" only gpu.clocks-locked
check "the message has both" message "600 MHz of 1980"
machine; printf '%s\n' 3.clock=1300 3.clock_reasons=4 >"$NODE/nvml.conf"; bench; run_step
check "clocks that the power limit holds down pass" verdict "done "
fault "a lowered power limit" gpu.power-limit 3.power_limit=400000
machine; bench; report 'o["devices"][2]["gemm_tflops"] = 300'; run_step
check "a slow GPU: gpu.slow" only gpu.slow
machine; bench; report 'o["p2p"][5]["gbs"] = 20'; run_step
check "a slow pair: gpu.slow" only gpu.slow
machine; bench; report 'o["devices"].pop()'; run_step
check "a GPU that was left out: gpu.load" only gpu.load
machine; bench; report 'o["devices"][2]["index"] = 77'; run_step
check "a report of other GPUs: gpu.load" only gpu.load
machine; bench; report 'o["p2p"][9]["wrong"] = 3'; run_step
check "a wrong result: gpu.load" only gpu.load
check "names the GPU" message "GPU 1: 3 results are wrong"
machine; bench; echo '{"devices":[' >"$NODE/report"; run_step
check "half a report: gpu.load" only gpu.load
loaded "a load that fails" gpu.load 'echo "GPU 3: CUDA error 719"' 'exit 1'
check "with its last words" message "GPU 3: CUDA error 719"
loaded "a load that reports why it failed" gpu.load "echo '{\"devices\":[],\"verdict\":{\"pass\":false,\"text\":\"GPU 5: out of memory\"}}'" 'exit 1'
check "with that reason" message "GPU 5: out of memory"
machine; bench 'trap "" TERM; sleep 60'; config '"bandwidth":false,"timeout":"2s"'; run_step
check "a load that does not end: gpu.load" verdict "failed gpu.load"
machine; bench "$(nvml hang=nvmlDeviceGetEccMode)"; config '"bandwidth":false,"timeout":"3s"'; run_step
check "a GPU that hangs after the load: gpu.timeout" verdict "failed gpu.timeout"
machine; bench 'exit 2'; run_step
check "an ncclbench without a load is none of a fault" verdict "done "
machine; bench "touch $NODE/ran"; config '"bandwidth":false,"load":false'; run_step
check "the load can be left out" test ! -e "$NODE/ran"
rm -f "$NODE/usr/bin/ncclbench"

# --- what is no whole GPU of a data centre --------------------------------------------------------------------------
fault "an uncorrectable error of the SRAM" gpu.sram 3.sram_aggregate=1
fault "no spare row is left" gpu.remapped-rows 3.remapped_correctable=512
fault "a divided GPU" gpu.mig 3.mig=1 3.mig_pending=1 3.mig_devices=7
fault "a GPU that will be divided" gpu.mig 3.mig_pending=1
machine; printf '%s\n' mig=1 mig_pending=1 mig_devices=7 remap_pending=-3 >"$NODE/nvml.conf"; config '"bandwidth":false,"mig":"on"'; run_step
check "divided as configured" verdict "done "
fault "a vGPU" gpu.vgpu virtualization=2 ecc=-3 pcie_width=-3
machine; printf '%s\n' virtualization=2 ecc=-3 pcie_width=-3 >"$NODE/nvml.conf"; config '"bandwidth":false,"vgpu":"allow"'; run_step
check "unless they are allowed" verdict "done "
fault "a consumer's GPU" gpu.consumer brand=5 ecc=-3
fault "GPUs of an NVLink domain without IMEX" gpu.imex cluster=7
machine; echo cluster=7 >"$NODE/nvml.conf"; mkdir -p "$NODE/dev/nvidia-caps-imex-channels"; : >"$NODE/dev/nvidia-caps-imex-channels/channel0"; run_step
check "with IMEX and a channel they are well" verdict "done "
machine; printf '%s\n' cluster=7 3.cluster=8 >"$NODE/nvml.conf"; mkdir -p "$NODE/dev/nvidia-caps-imex-channels"; : >"$NODE/dev/nvidia-caps-imex-channels/channel0"; run_step
check "in two domains: gpu.fabric" only gpu.fabric

# --- shape ----------------------------------------------------------------------------------------------------------
# half: GPUs 4 to 7 are gone, and nothing names the machine.
half() { machine; rm -r "$NODE"/sys/bus/pci/devices/0000:{1f,20,21,22}:00.0; echo gpus=4 >"$NODE/nvml.conf"; config '"bandwidth":false' '"shape":{}'; }
half; run_step
check "four of eight GPUs are no machine of four: gpu.count" only gpu.count
check "the NVSwitches tell" test "$(result "o['figures']['shape']['name']")" = 8xH100
half; rm -r "$NODE"/sys/bus/pci/devices/0000:c?:00.0; run_step
check "without the switches on PCI the links tell: shape.unknown" verdict "failed shape.unknown"
half; rm -r "$NODE"/sys/bus/pci/devices/0000:c?:00.0; echo link_remote=1 >>"$NODE/nvml.conf"; run_step
check "four GPUs that are tied to one another are a machine of four" verdict "done "
half; rm -r "$NODE"/sys/bus/pci/devices/0000:c?:00.0; printf '%s\n' link_remote=1 remote_gpus=8 >>"$NODE/nvml.conf"; run_step
check "but not if their links lead to others: shape.unknown" verdict "failed shape.unknown"

# --- Xids and resets ------------------------------------------------------------------------------------------------
xid() { machine; kmsg "$@"; run_step; }
asks='NVRM: Xid (PCI:0000:1d:00): 154, GPU recovery action changed from 0x0 (None) to'
xid 'NVRM: Xid (PCI:0000:1d:00): 119, Timeout' 'nvidia 0000:1d:00.0: reset done'
check "an Xid that a reset cured is over" verdict "done "
xid 'nvidia 0000:1d:00.0: reset done' 'NVRM: Xid (PCI:0000:1d:00): 119, Timeout'
check "one after the reset is not: gpu.xid" only gpu.xid
xid 'NVRM: Xid (PCI:0000:1d:00): 119, Timeout' "$asks 0x1 (GPU Reset Required)"
check "a reset that was asked for, and is no more, has been" verdict "done "
xid 'NVRM: Xid (PCI:0000:1d:00): 79, off the bus' "$asks 0x2 (Node Reboot Required)" 'nvidia 0000:1d:00.0: reset done'
check "a reboot that is asked for is not over by a reset: gpu.xid" only gpu.xid
check "and is what to do" test "$(finding action)" = reboot
[[ -z $failed ]]
