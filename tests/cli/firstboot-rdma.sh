#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The rdma step as a program, on trees of sysfs as tests/fixtures/rdma-sysfs writes them.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
sysfs() { "$TOP/tests/fixtures/rdma-sysfs" "$NODE" "$@"; }
config() { echo "{\"config\":$1,\"instance\":${2:-{\}}}" >"$NODE/run/firstboot/config.json"; }
# Short waits: nothing here comes up by itself.
rdma() { config "{\"rdma\":{\"watch\":\"0ms\",\"give_up\":\"0ms\"${1:+,$1}}}" "${2:-{\}}"; run_step; }
run_step() { rm -f "$NODE/run/firstboot/results/rdma.json"; timeout 180 "$node_build/firstboot-step" rdma >"$NODE/agent.log" 2>&1; rc=$?; }
result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/rdma.json")); f=o.get("figures",{}); print(eval(sys.argv[2]))' "$NODE" "$1" 2>&1; }
verdict() { local got; got=$(result '" ".join(filter(None,[o.get("status"),o.get("code")]))'); [[ $got == "$1" ]] || { echo "# $got: $(result 'o.get("message")')"; return 1; }; }
message_has() { [[ $(result 'o.get("message")') == *"$1"* ]] || { echo "# $(result 'o.get("message")')"; return 1; }; }
port() { echo "$NODE/sys/class/infiniband/$1/ports/${2:-1}"; }
conf() { grep -c "^$1\$" "$NODE/etc/nccl.conf" 2>/dev/null | grep -qx 1 || { echo "# nccl.conf:"; sed 's/^/# /' "$NODE/etc/nccl.conf"; return 1; }; }
no_conf() { ! grep -q "^$1=" "$NODE/etc/nccl.conf"; }
fresh() {
        node_end
        node_new
        mkdir -p "$NODE/proc/net" "$NODE/etc"
        printf 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\nens9\t00000000\t0100000A\t0003\t0\t0\t200\t00000000\t0\t0\t0\nens5\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\nens5\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n' >"$NODE/proc/net/route"
}
NODE=

# --- whom it concerns -------------------------------------------------------------------------------------------------
fresh
config '{}'
run_step
check "no rdma section and no shape that has RDMA: skipped" verdict "skipped"
check "and nccl.conf is not made" test ! -e "$NODE/etc/nccl.conf"
config '{}' '{"shape":"BM.GPU3.8"}'
run_step
check "a shape without RDMA: skipped" verdict "skipped"
rdma '"ports":0'
check "ports 0: skipped" verdict "skipped"
config '{"rdma":{"watch":"0ms","give_up":"0ms"}}' '{"shape":"BM.GPU.H200.8"}'
run_step
check "a shape with RDMA, and none there: failed" verdict "failed rdma.no-device"
check "what is expected is named" message_has "should be 8 ports"
check "and it is tried again, for a driver may be late" test "$rc" = 75
rdma
check "a section without a number asks for one port" verdict "failed rdma.no-device"
echo '{' >"$NODE/etc/firstboot/shapes.d/x.json" 2>/dev/null || { mkdir -p "$NODE/etc/firstboot/shapes.d"; echo '{' >"$NODE/etc/firstboot/shapes.d/x.json"; }
rdma
check "a faulty file in shapes.d: failed" verdict "failed shape.invalid"

# --- all is well ------------------------------------------------------------------------------------------------------
h200=(mlx5_0 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_9 mlx5_10 mlx5_11)
good() { fresh; sysfs "${h200[@]}"; sysfs mlx5_1 --rate "100 Gb/sec (4X EDR)"; }
shape='{"shape":"BM.GPU.H200.8"}'
good
rdma '' "$shape"
check "eight ports of the shape: done" verdict "done"
check "they are in the figures" test "$(result '[p["device"] for p in f["ports"]]')" = "$(printf "['%s'" "${h200[0]}"; printf ", '%s'" "${h200[@]:1}"; echo ])"
check "with rate, firmware, PCI address, interface" test "$(result '[f["ports"][0][k] for k in ("rate","firmware","pci","netdev","pcie_width")]')" = "['400 Gb/sec (4X NDR)', '28.39.1002', '0000:10:00.0', 'rdma0', 16]"
check "nccl.conf: the devices by their exact names" conf "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"
check "nccl.conf: the GID index found" conf "NCCL_IB_GID_INDEX=3"
check "nccl.conf: queue pairs of the shape" conf "NCCL_IB_QPS_PER_CONNECTION=1"
check "nccl.conf: the interface of the default route with the lowest metric" conf "NCCL_SOCKET_IFNAME==ens5"
check "nccl.conf: the shape's environment" conf "NCCL_IB_TC=41"
# The same for containers.
edits() { python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert (o["cdiVersion"], o["kind"]) == ("0.3.0", "imgbuild.org/nccl"), o
print(" ".join(next(d for d in o["devices"] if d["name"] == sys.argv[2])["containerEdits"]["env"]))' "$NODE/run/cdi/imgbuild-nccl.json" "$1"; }
there() { grep -v '^#' "$NODE/etc/nccl.conf" | xargs; }
check "a CDI device says in a container with the host's network what nccl.conf says here" test "$(edits host)" = "$(there)"
check "one for pods leaves out what is another in their namespace" test "$(edits pod)" = "$(there | sed 's/NCCL_IB_GID_INDEX=[^ ]* //; s/ NCCL_SOCKET_IFNAME=[^ ]*//')"
check "… and has the devices" grep -q '^NCCL_IB_HCA==mlx5_0,mlx5_3,' <(edits pod)
check "so has the file that a pod may mount" test "$(grep -v '^#' "$NODE/run/firstboot/nccl-pod.conf" | xargs)" = "$(edits pod)"
printf 'NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\nLD_PRELOAD x=1\n not=1\n' >>"$NODE/etc/nccl.conf"
rdma '' "$shape"
check "an admin's line comes along, the first of two, and no line that NCCL would not take" bash -c '[[ " $1 " == *" NCCL_DEBUG=WARN "* && $1 != *INFO* && $1 != *x=1* && $1 != *not=* ]]' - "$(edits pod)"
sed -i '/DEBUG\|x=1\|not=1/d' "$NODE/etc/nccl.conf"
# What auditors ask: docs/clusters/audit.md.
tuned=$(grep -v '^#' "$NODE/etc/nccl.conf" | grep -E '^NCCL_(ALGO|PROTO|NTHREADS|BUFFSIZE|.*CHANNELS|.*CTAS|P2P_LEVEL|NET_GDR_LEVEL|TUNER.*)=')
check "nccl.conf: no algorithm, protocol, level or number of channels" test -z "$tuned"
cp "$NODE/etc/nccl.conf" "$NODE/before"; touch -d 2020-01-01 "$NODE/etc/nccl.conf"
rdma '' "$shape"
check "a second run writes nothing" test "$(date -r "$NODE/etc/nccl.conf" +%Y)" = 2020
{ echo '# ours'; echo 'NCCL_DEBUG=WARN'; echo 'NCCL_IB_GID_INDEX=7'; echo 'NCCL_IB_TC=106'; echo; cat "$NODE/before"; } >"$NODE/etc/nccl.conf"
rdma '"qps":4,"socket_interface":"eth0"' "$shape"
check "others' lines and comments stay" bash -c '[[ $(head -n 2 "$1") == $'"'# ours\nNCCL_DEBUG=WARN'"' ]]' - "$NODE/etc/nccl.conf"
check "a key of ours is replaced wherever it was" conf "NCCL_IB_GID_INDEX=3"
check "somebody's value for a key of the shape's environment counts" conf "NCCL_IB_TC=.*"
check "it is theirs" conf "NCCL_IB_TC=106"
check "configured queue pairs" conf "NCCL_IB_QPS_PER_CONNECTION=4"
check "configured interface" conf "NCCL_SOCKET_IFNAME==eth0"
check "mode of nccl.conf" test "$(stat -c %a "$NODE/etc/nccl.conf")" = 644
good
sed -i '/00000000\t0100/d' "$NODE/proc/net/route"
rdma '"nccl_conf":false' "$shape"
check "nccl_conf false writes nothing" test ! -e "$NODE/etc/nccl.conf"
rdma '' "$shape"
check "no default route: no interface" no_conf NCCL_SOCKET_IFNAME
mkdir "$NODE/blocked"; rm "$NODE/etc/nccl.conf"; mkdir "$NODE/etc/nccl.conf"
rdma '' "$shape"
check "a file that cannot be read: failed" verdict "failed rdma.nccl-conf"

# --- each fault alone -------------------------------------------------------------------------------------------------
good
echo '1: DOWN' >"$(port mlx5_9)/state"; echo '2: Polling' >"$(port mlx5_9)/phys_state"
rdma '' "$shape"
check "a port that is down" verdict "failed rdma.port-down"
check "is named with its state" message_has "mlx5_9 port 1: 1: DOWN, 2: Polling, should be 4: ACTIVE"
check "every finding has device, port, value, limit, code, remedy" test "$(result 'sorted(f["findings"][0])')" = "['code', 'device', 'fails', 'limit', 'port', 'remedy', 'value']"
check "nothing is written for a faulty fabric" test ! -e "$NODE/etc/nccl.conf"
check "a link may still come up: tried again" test "$rc" = 75
good
echo '200 Gb/sec (2X NDR)' >"$(port mlx5_3)/rate"
rdma '' "$shape"
check "a slow port" verdict "failed rdma.rate"
check "is named with both rates" message_has "mlx5_3 port 1: 200 Gb/sec (2X NDR), should be 400 Gb/sec"
good
echo InfiniBand >"$(port mlx5_3)/link_layer"
rdma '' "$shape"
check "the wrong link layer" verdict "failed rdma.link-layer"
good
rm "$NODE/sys/class/infiniband/mlx5_10"
rdma '' "$shape"
check "a missing device" verdict "failed rdma.device-missing"
check "is named" message_has "mlx5_10"
good
echo 28.38.1000 >"$NODE/sys/class/infiniband/mlx5_4/fw_ver"
rdma '' "$shape"
check "another firmware" verdict "failed rdma.firmware"
check "the odd one is named" message_has "mlx5_4: 28.38.1000, should be 28.39.1002, as 7 others have"
check "that does not pass by itself" test "$rc" = 1
rdma '"firmware":"28.39.1002"' "$shape"
check "a firmware that is asked for" message_has "mlx5_4: 28.38.1000, should be 28.39.1002"
echo 28.40.1 >"$NODE/sys/class/infiniband/mlx5_1/fw_ver"; echo 28.39.1002 >"$NODE/sys/class/infiniband/mlx5_4/fw_ver"
rdma '' "$shape"
check "a device that is none of these may have what it likes" verdict "done"
echo 8 >"$NODE/sys/class/infiniband/mlx5_5/device/current_link_width"
rdma '' "$shape"
check "fewer PCIe lanes" verdict "failed rdma.pcie"
check "with both widths" message_has "mlx5_5: PCIe x8, should be x16"
rdma '"pcie":"warn"' "$shape"
check "pcie warn: degraded" verdict "degraded rdma.pcie"
check "and nccl.conf is written" conf "NCCL_IB_GID_INDEX=3"
echo 8 >"$NODE/sys/class/infiniband/mlx5_5/device/../max_link_width"
rdma '' "$shape"
check "a slot that has no more lanes is no fault" verdict "done"
echo '16.0 GT/s PCIe' >"$NODE/sys/class/infiniband/mlx5_6/device/current_link_speed"
rdma '' "$shape"
check "slower PCIe lanes" message_has "mlx5_6: PCIe 16 GT/s, should be 32 GT/s"
good
for f in current max; do echo 0 >"$NODE/sys/class/infiniband/mlx5_6/device/${f}_link_width"; echo Unknown >"$NODE/sys/class/infiniband/mlx5_6/device/${f}_link_speed"; done
rdma '' "$shape"
check "a virtual function shows no PCIe link, and that is no fault" verdict "done"
echo 5 >"$(port mlx5_0)/counters/local_link_integrity_errors"
rdma '' "$shape"
check "an error counter above its limit" verdict "failed rdma.errors"
check "with counter, value and limit" message_has "mlx5_0 port 1: counters/local_link_integrity_errors is 5, should be 0"
rdma '"counter_limits":{"local_link_integrity_errors":5}' "$shape"
check "a limit of one's own" verdict "done"
rdma '"counter_limits":{"local_link_integrity_errors":-1}' "$shape"
check "a counter that is not looked at" verdict "done"
echo 0 >"$(port mlx5_0)/counters/local_link_integrity_errors"; echo 9 >"$(port mlx5_11)/hw_counters/out_of_sequence"
rdma '"counter_limits":{"out_of_sequence":8}' "$shape"
check "a hw_counter of the driver's own" message_has "mlx5_11 port 1: hw_counters/out_of_sequence is 9, should be 8"
echo nonsense >"$(port mlx5_11)/counters/symbol_error"
rdma '' "$shape"
check "a counter that cannot be read" verdict "failed rdma.unreadable"
good
rm -r "$(port mlx5_11)/counters" "$(port mlx5_11)/hw_counters"
rdma '' "$shape"
check "a port without counters" verdict "failed rdma.unreadable"
good
for f in "$(port mlx5_11)"/counters/*; do echo 'N/A (no PMA)' >"$f"; done
rdma '' "$shape"
check "a driver that does not count errors of the link, but others" verdict "done"
rm -r "$(port mlx5_11)/hw_counters"
rdma '' "$shape"
check "and one that counts nothing at all" verdict "failed rdma.unreadable"
good
rm "$(port mlx5_11)/state"
rdma '' "$shape"
check "a port without a state" verdict "failed rdma.unreadable"
good
(n=0; while :; do n=$((n + 1)); echo $n >"$NODE/next" && mv "$NODE/next" "$(port mlx5_4)/counters/symbol_error"; sleep 0.02; done) & writer=$!
config '{"rdma":{"watch":"2s","give_up":"0ms"}}' "$shape"; run_step
kill $writer; wait $writer 2>/dev/null
check "an error counter that grows" verdict "failed rdma.errors-grow"
check "is named" message_has "mlx5_4 port 1: counters/symbol_error grew from "

good
echo 1500 >"$NODE/sys/class/net/rdma3/mtu"
rdma '' "$shape"
check "an interface with another MTU" verdict "failed rdma.mtu"
check "is named" message_has "mlx5_5 port 1: MTU 1500 of rdma3, should be 4220"
echo 4220 >"$NODE/sys/class/net/rdma3/mtu"
rdma '"mtu":9000' "$shape"
check "an MTU that is asked for" verdict "failed rdma.mtu"
echo 11 >"$NODE/sys/class/net/rdma3/carrier_down_count"
rdma '' "$shape"
check "a link that went down again and again" verdict "failed rdma.errors"
check "with how often" message_has "mlx5_5 port 1: netdev/carrier_down_count is 11, should be 10"
# acs CONTROL: the bridge above mlx5_5 gets this control register of ACS, behind another capability; a switch is above it.
good
bridge=$(realpath "$NODE/sys/class/infiniband/mlx5_5/device/..")
acs() { python3 -c 'import sys; c = bytearray(4096); c[0x100:0x104] = (0x2001 << 16 | 1).to_bytes(4, "little"); c[0x103] = 0x20; c[0x102] = 0x01; c[0x200:0x204] = (0x0001000d).to_bytes(4, "little"); c[0x206] = int(sys.argv[1], 16); sys.stdout.buffer.write(c)' "$1" >"$bridge/config"; }
acs 1d
rdma '' "$shape"
check "what a root port redirects is none of a fault" verdict "done"
mkdir -p "$NODE/sys/devices/pci0000:00/0000:00:30.0"; mv "$bridge" "$NODE/sys/devices/pci0000:00/0000:00:30.0/"; bridge=$NODE/sys/devices/pci0000:00/0000:00:30.0/${bridge##*/}
ln -sfn "$(ls -d "$bridge"/0000:*/infiniband/mlx5_5)" "$NODE/sys/class/infiniband/mlx5_5"
rdma '' "$shape"
check "a switch that redirects between cards: degraded" verdict "degraded rdma.acs"
rdma '"acs":"fail"' "$shape"
check "or failed, as configured" verdict "failed rdma.acs"
acs 11
rdma '' "$shape"
check "one that only checks the sender is well" verdict "done"
head -c 64 /dev/zero >"$bridge/config"
rdma '' "$shape"
check "a configuration space that cannot be read whole is none of a fault" verdict "done"

# --- nobody says what there must be -----------------------------------------------------------------------------------
fresh; sysfs mlx5_0 mlx5_1
config '{}'; run_step
check "RDMA ports on a machine without GPUs: skipped" verdict "skipped"
mkdir -p "$NODE/sys/bus/pci/devices/0000:99:00.0"; echo 0x10de >"$NODE/sys/bus/pci/devices/0000:99:00.0/vendor"; echo 0x030200 >"$NODE/sys/bus/pci/devices/0000:99:00.0/class"
config '{}'; run_step
check "beside GPUs they are looked at" verdict "done"
check "and NCCL is told of them" conf "NCCL_IB_HCA==mlx5_0,mlx5_1"
for d in mlx5_0 mlx5_1; do echo '1: DOWN' >"$(port $d)/state"; done
echo '{"config":{"rdma":{"give_up":"0ms"}},"instance":{}}' >"$NODE/run/firstboot/config.json"; run_step
check "all of them down: failed" verdict "failed rdma.too-few-ports"

# --- GIDs -------------------------------------------------------------------------------------------------------------
fresh; sysfs mlx5_0 mlx5_1 --gid-gap 2
rdma
check "the GID index is found, not assumed" conf "NCCL_IB_GID_INDEX=5"
fresh; sysfs mlx5_0 mlx5_1; sysfs mlx5_2 --gid-gap 2
rdma
check "without an IPv4-mapped GID of one index on all, another RoCE v2 one" conf "NCCL_IB_GID_INDEX=1"
for d in mlx5_0 mlx5_1 mlx5_2; do echo 'IB/RoCE v1' >"$(port $d)/gid_attrs/types/1"; done
echo 'IB/RoCE v1' >"$(port mlx5_2)/gid_attrs/types/3"
rdma
check "no index that fits all" verdict "failed rdma.gid-differs"
mkdir -p "$NODE/usr/lib/x86_64-linux-gnu"; : >"$NODE/usr/lib/x86_64-linux-gnu/libnccl.so.2.20.5"; ln -s libnccl.so.2.20.5 "$NODE/usr/lib/x86_64-linux-gnu/libnccl.so.2"
rdma
check "nor for an NCCL before 2.21" verdict "failed rdma.gid-differs"
: >"$NODE/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9"; ln -sf libnccl.so.2.28.9 "$NODE/usr/lib/x86_64-linux-gnu/libnccl.so.2"
rdma
check "a newer one finds the GID of each device" verdict "done"
check "and is told none" no_conf NCCL_IB_GID_INDEX
for t in 3 5; do echo 'IB/RoCE v1' >"$(port mlx5_2)/gid_attrs/types/$t"; done
rdma
check "no RoCE v2 at all" verdict "failed rdma.no-gid"
check "on the port named" message_has "mlx5_2 port 1"
fresh; sysfs mlx5_ib0 mlx5_ib1 --layer InfiniBand
echo 'NCCL_IB_GID_INDEX=3' >"$NODE/etc/nccl.conf"
rdma '"ports":2,"link_layer":"InfiniBand","rate_gbps":400'
check "InfiniBand needs no GID index" verdict "done"
check "and an old one is taken out" no_conf NCCL_IB_GID_INDEX
fresh; sysfs rdmap0 rdmap1 --layer Unknown --rate "100 Gb/sec (4X EDR)"
rdma '"ports":2'
check "EFA: done by number and state" verdict "done"
check "EFA: no HCA for NCCL's verbs" no_conf NCCL_IB_HCA
fresh; sysfs mlx5_0 --ports 2
rdma '"ports":2'
check "two ports of a device are named with their numbers" conf "NCCL_IB_HCA==mlx5_0:1,mlx5_0:2"

# --- without names ----------------------------------------------------------------------------------------------------
fresh; sysfs rocep1 rocep2 rocep3 rocep4 rocep5 rocep6 rocep7 rocep8; sysfs ens9 --rate "100 Gb/sec (4X EDR)"
rdma '' "$shape"
check "devices that udev renamed are found by kind" verdict "done"
check "the slower one is none of them" bash -c '! grep -q ens9 "$1"' - "$NODE/etc/nccl.conf"
echo '1: DOWN' >"$(port rocep3)/state"
rdma '' "$shape"
check "one of them is down" verdict "failed rdma.too-few-ports"
check "the others are told" message_has "7 usable ports (not among them: ens9:1 4: ACTIVE, Ethernet, 100 Gb/sec (4X EDR); rocep3:1 1: DOWN"
rdma '"devices":["mlx5_0"]' "$shape"
check "configured names must be there" verdict "failed rdma.device-missing"
(sleep 1; echo '4: ACTIVE' >"$NODE/next"; mv "$NODE/next" "$(port rocep3)/state") &
config '{"rdma":{"watch":"0ms","give_up":"50s"}}' "$shape"; run_step
check "a link that comes up is waited for" verdict "done"
wait
[[ -z $failed ]]
