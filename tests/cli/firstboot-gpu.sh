#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The gpu step on doubles of NVML (tests/fixtures/nvml-double), CUDA and systemd's manager, a sysfs tree and a kernel log of
# its own: a machine with eight GPUs is well, then each fault alone gives its own reason code.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=

source tests/fixtures/gpu-node.bash

# measured: a healthy machine whose bandwidth is measured too.
measured() { machine; config ''; }

# --- well -----------------------------------------------------------------------------------------------------------
measured
run_step
check "eight healthy GPUs are done" verdict "done "
check "the services are started through systemd" bash -c 'grep -q "StartUnit nvidia-persistenced.service" "$1" && grep -q "StartUnit nvidia-fabricmanager.service" "$1"' - "$NODE/calls"
check "the figures have every GPU" test "$(result "len(o['figures']['gpus'])")" = 8
check "with the bandwidth measured" test "$(result "all(g['h2d'] > 40000 and g['d2h'] > 40000 for g in o['figures']['gpus'])")" = True
check "and the PCIe generation under load" test "$(result "o['figures']['gpus'][7]['pcie_generation_load']")" = 5

# --- not for GPUs ---------------------------------------------------------------------------------------------------
machine; rm -rf "$NODE/sys"; mkdir -p "$NODE/sys/bus/pci/devices"
run_step
check "a GPU node without a GPU fails" verdict "failed gpu.none"
config '"required":false'; run_step
check "unless it need not have one" verdict "skipped "
echo '{"config":{},"instance":{"id":"i"}}' >"$NODE/run/firstboot/config.json"; run_step
check "a node without GPU and without configuration skips the step" verdict "skipped "
machine; rm -r "$NODE/sys/module"
echo '{"config":{},"instance":{"id":"i"}}' >"$NODE/run/firstboot/config.json"; run_step
check "GPUs without driver on an image that has none are told of" verdict "degraded gpu.no-driver"
check "and nobody loads one" bash -c '! grep -q nvidia "$1"' - "$NODE/calls"
config '"bandwidth":false'; run_step
check "and fail a GPU node" only gpu.no-driver
tool modprobe <<<'mkdir -p "$FIRSTBOOT_ROOT/sys/module/nvidia"; echo 550.54.15 >"$FIRSTBOOT_ROOT/sys/module/nvidia/version"'
run_step
check "unless it can be loaded" verdict "done "
machine
echo '{"config":{},"instance":{"id":"i"}}' >"$NODE/run/firstboot/config.json"
echo '0.ecc=0' >"$NODE/nvml.conf"; run_step
check "GPUs with a driver are checked without configuration too" test "$(finding code)" = gpu.ecc-off

# --- libraries ------------------------------------------------------------------------------------------------------
machine; run_step LD_LIBRARY_PATH="$cuda"
check "NVML absent: gpu.library" only gpu.library
check "the message names the library" message libnvidia-ml.so.1
machine; run_step LD_LIBRARY_PATH="$doubles/no-count:$cuda"
check "NVML without a function that all needs: gpu.symbol" only gpu.symbol
check "the message names it" message nvmlDeviceGetCount_v2
machine; run_step LD_LIBRARY_PATH="$doubles/no-ecc:$cuda"
check "NVML without a function for one question: gpu.symbol" only gpu.symbol
check "on every GPU" test "$(result "len(o['figures']['findings'])")" = 8
measured; run_step LD_LIBRARY_PATH="$doubles"
check "CUDA absent: gpu.cuda" only gpu.cuda

# --- NVML as a whole ------------------------------------------------------------------------------------------------
fault "NVML does not start" gpu.nvml error.nvmlInit_v2=999
fault "NVML without driver" gpu.no-driver error.nvmlInit_v2=9
fault "library and kernel module differ" gpu.version error.nvmlInit_v2=18
fault "NVML is of another version" gpu.version library=12.535.104.05
fault "the loaded module is of another version" gpu.version driver=535.104.05 library=12.535.104.05
machine; echo hang=nvmlInit_v2 >"$NODE/nvml.conf"; config '"bandwidth":false,"timeout":"1s"'; run_step
check "NVML hangs at its start: gpu.timeout" only gpu.timeout
check "the message names the call" message nvmlInit_v2
machine; echo hang=nvmlDeviceGetTemperature >"$NODE/nvml.conf"; config '"bandwidth":false,"timeout":"1s"'; run_step
check "a GPU hangs: gpu.timeout" only gpu.timeout
check "the message names GPU and call" message "GPU 0 (GPU-00000000-0000-0000-0000-000000000000, serial 1650000000000, 0000:1b:00.0): nvmlDeviceGetTemperature"
machine; echo late.nvmlDeviceGetUUID=60000 >"$NODE/nvml.conf"; config '"bandwidth":false,"timeout":"2s"'; run_step
check "an answer comes too late: gpu.timeout" only gpu.timeout
fault "NVML crashes" gpu.crashed crash=nvmlDeviceGetSerial

# --- count ----------------------------------------------------------------------------------------------------------
fault "NVML shows fewer than PCI" gpu.count gpus=7
check "the finding has the PCI address" test "$(result "[f.get('pci') for f in o['figures']['findings']].count('0000:22:00.0')")" = 1
machine; rm -r "$NODE/sys/bus/pci/devices/0000:22:00.0"; echo gpus=7 >"$NODE/nvml.conf"; run_step
check "PCI shows fewer than the shape has: gpu.count" only gpu.count
machine; rm -r "$NODE/sys/bus/pci/devices/0000:22:00.0"; echo gpus=7 >"$NODE/nvml.conf"; config '"bandwidth":false,"count":7'; run_step
check "a count of the configuration's is as good" verdict "done "
machine; gpu 7 vfio-pci; echo gpus=7 >"$NODE/nvml.conf"; run_step
check "a GPU that another driver has: gpu.unbound" verdict "failed gpu.unbound"
machine; gpu 7 none; run_step
check "a GPU that no driver has: gpu.unbound" only gpu.unbound
fault "a GPU is lost" gpu.lost 5.error.nvmlDeviceGetTemperature=15
check "with index, UUID, serial and address" test "$(finding gpu) $(finding uuid) $(finding serial) $(finding pci)" = "5 GPU-00000000-0000-0000-0000-000000000005 1650000000005 0000:20:00.0"
check "and what to do" test "$(finding action)" = reboot
machine; echo 5.error.nvmlDeviceGetHandleByIndex_v2=15 >"$NODE/nvml.conf"; run_step
check "a GPU that cannot be opened: gpu.lost" verdict "failed gpu.lost"

# --- each fact ------------------------------------------------------------------------------------------------------
fault "an unknown error" gpu.nvml 2.error.nvmlDeviceGetEccMode=999
fault "ECC is off" gpu.ecc-off 3.ecc=0
check "with value and limit" test "$(finding value) $(finding limit)" = "0 1"
fault "ECC is not supported" gpu.not-supported 3.ecc=-3
fault "ECC counters are not supported" gpu.not-supported 3.ecc_volatile=-3
fault "volatile errors" gpu.ecc-errors 3.ecc_volatile=2
check "are to be reset" test "$(finding action)" = reset
machine; echo 3.ecc_aggregate=2 >"$NODE/nvml.conf"; config '"bandwidth":false,"ecc_aggregate_max":1'; run_step
check "aggregate errors beyond the limit: gpu.ecc-errors" only gpu.ecc-errors
check "are ground for an RMA" test "$(finding action)" = rma
fault "SRAM beyond the threshold" gpu.sram 3.sram_threshold=1
fault "a row waits to be remapped" gpu.remap-pending 1.remap_pending=1
fault "a row could not be remapped" gpu.remap-failed 1.remap_failed=1
fault "remapping is not supported" gpu.not-supported 1.remap_pending=-3
volta='architecture=5 remapped_correctable=-3 remapped_uncorrectable=-3 remap_pending=-3 remap_failed=-3 retired_single_bit=0 retired_double_bit=0 retired_pending=0 fabric_state=-3 pcie_generation=3 pcie_generation_max=3'
volta_machine() { machine; tr ' ' '\n' <<<"$volta" >"$NODE/nvml.conf"; printf '%s\n' "$@" >>"$NODE/nvml.conf"; run_step; }
volta_machine
check "a GPU that retires pages is well" verdict "done "
volta_machine 4.retired_pending=1
check "a page waits to be retired: gpu.pages-pending" only gpu.pages-pending
volta_machine 4.retired_double_bit=63
check "too many pages are retired: gpu.pages-retired" only gpu.pages-retired
fault "the driver asks for a reset" gpu.recovery 6.recovery_action=1
fault "PCIe has half its lanes" gpu.pcie-width 6.pcie_width=8
measured; echo 6.pcie_generation=4 >"$NODE/nvml.conf"; run_step
check "PCIe is at an older generation under load: gpu.pcie-generation" only gpu.pcie-generation
machine; echo 6.pcie_generation=1 >"$NODE/nvml.conf"; run_step
check "without load an older generation is none of a fault" verdict "done "
machine; config '"bandwidth":false,"pcie_generation":6'; run_step
check "PCIe is slower than configured: gpu.pcie-generation" only gpu.pcie-generation
machine; config '"bandwidth":false,"pcie_width":32'; run_step
check "PCIe is narrower than configured: gpu.pcie-width" only gpu.pcie-width
fault "an NVLink is down" gpu.nvlink-down 2.link.11.active=0
check "the message names it" message "17 NVLinks are active, 18 expected (down: 11)"
fault "all NVLinks are down" gpu.nvlink-down 2.link_active=0
fault "there are no NVLinks" gpu.nvlink-down links=0
machine; echo link_active=0 >"$NODE/nvml.conf"; config '"bandwidth":false,"count":8,"nvlinks":0,"fabric":"off"'; run_step
check "unless none are expected" verdict "done "
machine; echo 2.link.11.active=0 >"$NODE/nvml.conf"; config '"bandwidth":false,"count":8' '"shape":{"unknown":"warn"}'; sed -i '$a name=Unknown GPU' "$NODE/nvml.conf"; run_step
check "in an unknown shape the best GPU is the measure: gpu.nvlink-down" test "$codes" = gpu.nvlink-down
fault "a link replays" gpu.nvlink-errors 2.link.3.replay=1
fault "a link recovers" gpu.nvlink-errors 2.link.3.recovery=1
fault "a link has CRC errors" gpu.nvlink-errors 2.link.3.crc_flit=99999999999
machine; echo 2.link.3.crc_flit=130 >"$NODE/nvml.conf"; run_step
check "as many as links that carry data have are none" verdict "done "
fault "counters are not supported" gpu.not-supported 2.error.nvmlDeviceGetNvLinkErrorCounter=3
fault "a GPU is not in the fabric" gpu.fabric 4.fabric_state=0
fault "a GPU joins the fabric" gpu.fabric 4.fabric_state=2
check "which may pass" test "$rc" = 75
fault "joining the fabric failed" gpu.fabric 4.fabric_status=999
fault "the fabric's bandwidth is degraded" gpu.fabric 4.fabric_health=1
fault "the fabric is unhealthy" gpu.fabric fabric_v3=1 4.fabric_summary=2
fault "the fabric's state is not supported" gpu.not-supported 4.fabric_state=-3
for reason in 8 32 64 128; do fault "clocks are held down ($reason)" gpu.clocks 4.clock_reasons=$reason; done
check "which may pass, too" test "$rc" = 75
fault "clocks cannot be asked" gpu.not-supported 4.clock_reasons=-3
fault "a GPU is too hot" gpu.temperature 4.temperature_margin=0
fault "a GPU is at its own threshold" gpu.temperature error.nvmlDeviceGetMarginTemperature=3 temperature_slowdown=90 4.temperature=90
fault "persistence mode is off" gpu.persistence 4.persistence=0
machine; echo persistence=0 >"$NODE/nvml.conf"; config '"bandwidth":false,"persistence":false'; run_step
check "unless it need not be on" verdict "done "
check "and then nvidia-persistenced is not started" bash -c '! grep -q persistenced "$1"' - "$NODE/calls"
machine; echo ecc=-3 >"$NODE/nvml.conf"; config '"bandwidth":false,"ecc":"on-if-supported"'; run_step
check "a GPU without ECC passes where that is allowed" verdict "done "
machine; echo clock_reasons=-3 >"$NODE/nvml.conf"; config '"bandwidth":false,"allow_unsupported":["clock_reasons"]'; run_step
check "so does one without another feature" verdict "done "

# --- services -------------------------------------------------------------------------------------------------------
machine; echo nvidia-persistenced.service >"$NODE/fail"; run_step
check "nvidia-persistenced does not start: gpu.persistence" only gpu.persistence
machine; echo nvidia-persistenced.service >"$NODE/dies"; run_step
check "nvidia-persistenced ends again: gpu.persistence" only gpu.persistence
machine; echo nvidia-persistenced.service >"$NODE/absent"; run_step
check "without nvidia-persistenced the mode itself counts" verdict "done "
machine; echo nvidia-fabricmanager.service >"$NODE/fail"; run_step
check "the fabric manager does not start: gpu.fabric-manager" only gpu.fabric-manager
machine; echo nvidia-fabricmanager.service >"$NODE/dies"; run_step
check "the fabric manager ends again: gpu.fabric-manager" only gpu.fabric-manager
machine; echo nvidia-fabricmanager.service >"$NODE/absent"; run_step
check "the fabric manager is not installed: gpu.fabric-manager" only gpu.fabric-manager
machine; tool nv-fabricmanager <<<'echo "Fabric Manager version is : 535.104.05"'; run_step
check "the fabric manager is of another version: gpu.fabric-version" only gpu.fabric-version
machine; rm "$NODE/bin/nv-fabricmanager"; run_step
check "or of none that can be told: gpu.fabric-version" only gpu.fabric-version
machine; rm -r "$NODE"/sys/bus/pci/devices/0000:c?:00.0; run_step
check "switches that only links show need no fabric manager here if all GPUs have joined" verdict "done "
check "and it is not started" bash -c '! grep -q fabricmanager "$1"' - "$NODE/calls"
machine; rm -r "$NODE"/sys/bus/pci/devices/0000:c?:00.0; echo 4.fabric_state=1 >"$NODE/nvml.conf"; run_step
check "one that has not: gpu.fabric" only gpu.fabric
check "and the fabric manager is started" grep -q "StartUnit nvidia-fabricmanager.service" "$NODE/calls"

# --- bandwidth ------------------------------------------------------------------------------------------------------
measured; run_step CUDA_DOUBLE_H2D_GBPS=20
check "slow from the host: gpu.bandwidth" only gpu.bandwidth
measured; run_step CUDA_DOUBLE_D2H_GBPS=20
check "slow to the host: gpu.bandwidth" only gpu.bandwidth
check "against Azure's floor for PCIe 5.0" test "$(finding limit)" = 48000
measured; config '"h2d_min":15000,"d2h_min":15000'; run_step CUDA_DOUBLE_D2H_GBPS=20
check "unless the configuration asks less" verdict "done "
measured; config '"bandwidth":false'; run_step CUDA_DOUBLE_INIT=802
check "bandwidth need not be measured" verdict "done "
measured; run_step CUDA_DOUBLE_INIT=802
check "CUDA does not start: gpu.cuda" only gpu.cuda
check "with its error" test "$(finding value)" = 802
measured; run_step CUDA_DOUBLE_DEVICES=7
check "CUDA does not show a GPU: gpu.cuda" only gpu.cuda
measured; run_step CUDA_DOUBLE_TRANSFER=214
check "a copy fails: gpu.cuda" only gpu.cuda
measured; run_step CUDA_DOUBLE_CRASH=1
check "CUDA crashes: gpu.crashed" only gpu.crashed
measured; config '"timeout":"3s"'; run_step CUDA_DOUBLE_HANG=stubborn
check "CUDA hangs: gpu.timeout" only gpu.timeout
check "the message names the call" message cuInit
measured; run_step CUDA_VISIBLE_DEVICES=0
check "a variable that would hide GPUs is not heeded" verdict "done "

# --- kernel log -----------------------------------------------------------------------------------------------------
xid() { machine; kmsg "$@"; run_step; }
xid 'NVRM: Xid (PCI:0000:1d:00): 79, pid=1234, name=python3, GPU has fallen off the bus.'
check "an Xid: gpu.xid" only gpu.xid
check "names its GPU and number" test "$(finding gpu) $(finding value) $(finding action)" = "2 79 reboot"
xid 'NVRM: Xid (PCI:0000:1d:00): 13, pid=1234, Graphics Exception' 'NVRM: Xid (PCI:0000:1d:00): 43, pid=1234, Ch 00000008'
check "an application's errors pass" verdict "done "
xid 'nvidia-nvswitch0: SXid (PCI:0000:c0:00.0): 20034, Fatal, Link 60 LTSSM Fault Up'
check "a fatal SXid of a switch: gpu.xid" only gpu.xid
xid 'nvidia-nvswitch0: SXid (PCI:0000:c0:00.0): 11012, Non-fatal, Link 35 egress'
check "one that is not fatal passes" verdict "done "
machine; kmsg 'NVRM: Xid (PCI:0000:1d:00): 94, contained'; config '"bandwidth":false,"xid_ignore":["94"]'; run_step
check "Xids to pass over can be configured" verdict "done "
machine; echo '11,1,100,-;NVRM: Xid (PCI:0000:1d:00): 79, a program wrote this' >>"$NODE/dev/kmsg"; run_step
check "what a program writes into the log is no Xid" verdict "done "
machine; rm "$NODE/dev/kmsg"; run_step
check "the kernel log cannot be read: gpu.kernel-log" only gpu.kernel-log
machine; sed -i 1d "$NODE/dev/kmsg"; run_step
check "its beginning was overwritten: gpu.kernel-log" only gpu.kernel-log

# --- several --------------------------------------------------------------------------------------------------------
machine; printf '%s\n' 4.temperature_margin=0 2.remap_failed=1 2.ecc_volatile=5 >"$NODE/nvml.conf"; run_step
check "the most serious finding is the verdict" verdict "failed gpu.remap-failed"
check "the others are in the figures" test "$codes" = "gpu.ecc-errors gpu.remap-failed gpu.temperature"
check "and what does not pass by itself is not tried again" test "$rc" = 1
machine; echo 'name=Some GPU' >"$NODE/nvml.conf"; config '"bandwidth":false' '"shape":{}'; run_step
check "a shape that nobody knows: shape.unknown" verdict "failed shape.unknown"
echo 3.ecc=0 >>"$NODE/nvml.conf"; run_step
check "but what is wrong with a GPU says more" verdict "failed gpu.ecc-off"

# --- facts for people -----------------------------------------------------------------------------------------------
machine
facts() { env NVML_DOUBLE="$NODE/nvml.conf" LD_LIBRARY_PATH="$doubles:$cuda" CUDA_DOUBLE_DEVICES=8 "$@"; }
facts "$node_build/firstboot-gpu-facts" --findings >"$NODE/facts" 2>&1
check "the facts are printed" grep -q '^gpu.7.uuid=GPU-00000000-0000-0000-0000-000000000007$' "$NODE/facts"
check "every one of them" bash -c '[[ $(grep -c "^gpu.3.link.*.active=1$" "$1") == 18 ]] && ! grep -q "not read" "$1"' - "$NODE/facts"
echo 3.ecc=0 >"$NODE/nvml.conf"
facts "$node_build/firstboot-gpu-facts" --findings --no-bandwidth >"$NODE/facts" 2>&1
check "and the findings, with exit code 1" bash -c '[[ $1 == 1 ]] && grep -q "^finding=gpu.ecc-off reset GPU 3 (" "$2"' - $? "$NODE/facts"
facts "$step" --facts gpu >"$NODE/facts.json"
check "firstboot-step prints the facts as JSON, without firstbootd" python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["gpus"][3]["ecc"] == 0' "$NODE/facts.json"

# --- beside nvidia-smi ----------------------------------------------------------------------------------------------
machine
ln -s "$TOP/tests/fixtures/nvml-double/nvidia-smi" "$NODE/bin/nvidia-smi"
compared() { facts env PATH="$NODE/bin:$PATH" "$@" "$TOP/tests/device/compare-nvidia-smi" "$node_build/firstboot-gpu-facts" >"$NODE/compared" 2>&1; }
compared
check "what nvidia-smi says is the same, field by field" bash -c '[[ $1 == 0 ]] && grep -q "^8 GPUs, [0-9]* fields compared, 0 differ$" "$2" || { tail -n 5 "$2"; exit 1; }' - $? "$NODE/compared"
compared NVIDIA_SMI_DOUBLE='<current_ecc>Enabled=><current_ecc>Disabled'
check "a field that differs is told" bash -c '[[ $1 == 1 ]] && grep -q "^gpu 0  ecc .*DIFFERS$" "$2" && grep -q " 1 differ$" "$2"' - $? "$NODE/compared"
compared NVIDIA_SMI_DOUBLE='Link 3: 26.562 GB/s=>Link 3: <inactive>'
check "so is a link" bash -c '[[ $1 == 1 ]] && grep -q "^gpu 0  link.3.active .*DIFFERS$" "$2"' - $? "$NODE/compared"
node_end
[[ -z $failed ]]
