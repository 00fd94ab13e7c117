#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# RDMA counters of devices in other network namespaces: real namespaces, entered for real; what each has of RDMA, kubelet's folders and
# the processes' cgroups are files in the node's folder.
#
# lane: wait
set -u
source tests/fixtures/node.bash
unshare -n true 2>/dev/null || { echo "skip - RDMA counters of pods: network namespaces cannot be made here"; exit 77; }
sleepers=()
end() { local p; for p in "${sleepers[@]}"; do kill "$p" 2>/dev/null; done; node_end; }
trap end EXIT
failed=
exporter=$node_build/rdma-exporter
[[ $BUILD == /* ]] && exporter=$BUILD/firstboot/rdma-exporter
out() { "$TOP/tests/fixtures/prometheus-text" "$file" "$@"; }
is_out() { local got; got=$(out "$1"); [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }; }
labels() { out "sorted(dict(k[1]).items() for k in m if k[0] == 'rdma_port_active' and ('device', '$1') in k[1])" | sed 's/dict_items//'; }
mode() { mkdir -p "$NODE/sys/module/ib_core/parameters"; echo "$1" >"$NODE/sys/module/ib_core/parameters/netns_mode"; }

# A process in a network namespace of its own: $pid, $inode. It is in the node's /proc.
own=$(readlink /proc/self/ns/net)
space() {
        unshare -n sleep 1000 & pid=$!
        sleepers+=("$pid")
        while [[ $(readlink "/proc/$pid/ns/net") == "$own" ]]; do kill -0 "$pid" || exit 1; sleep 0.01; done
        inode=$(readlink "/proc/$pid/ns/net"); inode=${inode//[^0-9]/}
        process "$pid" "$pid" "$1"
}
# The node's process $1 is the real one $2, in the cgroup $3.
process() { mkdir -p "$NODE/proc/$1/ns"; ln -sfn "/proc/$2/ns/net" "$NODE/proc/$1/ns/net"; echo "0::$3" >"$NODE/proc/$1/cgroup"; }
device() { local where=$1; shift; "$TOP/tests/fixtures/rdma-sysfs" "$NODE/netns/$where" "$@"; }
container_id() { printf '%064x' "$1"; }
pod_uid() { printf '0f1e2d3c-4b5a-6978-8796-%012x' "$1"; }
slice() { local u; u=$(pod_uid "$1"); echo "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${u//-/_}.slice/cri-containerd-$(container_id "$2").scope"; }
pod() { mkdir -p "$NODE/var/log/pods/$2_$3_$(pod_uid "$1")" "$NODE/var/log/containers"; }
container() { ln -sfn /dev/null "$NODE/var/log/containers/$3_$2_$4-$(container_id "$1").log"; }

node_new; file=$NODE/var/lib/prometheus/node-exporter/firstboot-rdma.prom; mkdir -p "${file%/*}" "$NODE/proc"
"$TOP/tests/fixtures/rdma-sysfs" "$NODE" mlx5_0

# gpu-pod0 as it runs on a node: the process that holds the namespace, and the one container.
space "$(slice 1 100)"; first=$inode first_pid=$pid
process 2000001 "$pid" "$(slice 1 101)"
device "$first" irdma0
echo 141075419 >"$NODE/netns/$first/sys/class/infiniband/irdma0/ports/1/hw_counters/iwInRdmaWrites"
pod 1 default gpu-pod0; container 101 default gpu-pod0 pytorch

mode Y; "$exporter"
check "shared mode: no other namespace is entered, for every device is seen here" is_out "sorted({dict(k[1])['device'] for k in m if k[0] == 'rdma_port_active'})" "['mlx5_0']"
rm -r "$NODE/sys/module"; "$exporter"
check "nor where the kernel does not say" is_out "sorted({dict(k[1])['device'] for k in m if k[0] == 'rdma_port_active'})" "['mlx5_0']"
mode N; "$exporter"
check "exclusive mode: right by the format" out
check "a device's counters follow it into its pod" is_out 's("rdma_port_hw_iwInRdmaWrites", device="irdma0", port="1", pod="gpu-pod0", namespace="default", container="pytorch")' 141075419.0
check "a device that stayed has no pod" is_out 's("rdma_port_active", device="mlx5_0", port="1")' 1.0
check "nothing was left out" is_out 's("rdma_exporter_skipped_namespaces")' 0.0

process 2000002 "$first_pid" "$(slice 1 102)"; container 102 default gpu-pod0 sidecar; "$exporter"
check "two containers in a pod: neither is named" is_out 's("rdma_port_active", device="irdma0", port="1", pod="gpu-pod0", namespace="default")' 1.0
rm -r "$NODE/proc/2000002"
process 1 "$first_pid" /system.slice/cni.service; "$exporter"
check "a process of the host in a pod's namespace changes nothing" is_out 's("rdma_port_active", device="irdma0", port="1", pod="gpu-pod0", namespace="default", container="pytorch")' 1.0
rm -r "$NODE/proc/1"
process 2000003 "$first_pid" "$(slice 9 109)"; pod 9 default guest; container 109 default guest guest; "$exporter"
check "nor does a process of another pod" is_out 's("rdma_port_active", device="irdma0", port="1", pod="gpu-pod0", namespace="default", container="pytorch")' 1.0
rm -r "$NODE/proc/2000003"

# The document's device, moved by hand into a namespace with a name.
space /user.slice/user-0.slice/session-1.scope; device "$inode" irdma1
"$exporter"
check "a namespace that is no pod's, by its number" is_out "s('rdma_port_active', device='irdma1', port='1', netns='net:[$inode]')" 1.0
mkdir -p "$NODE/run/netns"; ln -s "/proc/$pid/ns/net" "$NODE/run/netns/gpu-test"
ln -s /proc/4194399/ns/net "$NODE/run/netns/dangling"; ln -s /proc/self/ns/mnt "$NODE/run/netns/other-kind"; : >"$NODE/run/netns/a-file"; mkfifo "$NODE/run/netns/a-fifo"
"$exporter"
check "or by its name" is_out 's("rdma_port_active", device="irdma1", port="1", netns="gpu-test")' 1.0
rm -r "$NODE/proc/$pid"; "$exporter"
check "a name is enough, without a process" is_out 's("rdma_port_active", device="irdma1", port="1", netns="gpu-test")' 1.0

# The step's own check: what a pod has is no card that went missing.
step_says() {
        echo "{\"config\":{\"rdma\":{\"watch\":\"0ms\",\"give_up\":\"0ms\",$1}}}" >"$NODE/run/firstboot/config.json"
        rm -f "$NODE/run/firstboot/results/rdma.json"
        timeout 180 "$node_build/firstboot-step" rdma >"$NODE/agent.log" 2>&1
        local got; got=$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["status"], o.get("code", ""))' "$NODE/run/firstboot/results/rdma.json" | xargs)
        [[ $got == "$2" ]] || { echo "# $got"; cat "$NODE/agent.log"; return 1; }
}
check "the step counts a port that is in a pod" step_says '"ports":3' "done"
check "and tells whose it is not" bash -c '[[ $(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))[\"figures\"][\"away\"])" "$1") == "['"'irdma0', 'irdma1'"']" ]]' - "$NODE/run/firstboot/results/rdma.json"
check "and a device by its name" step_says '"devices":["mlx5_0","irdma0"]' "done"
check "but no more than there are" step_says '"ports":4' "failed rdma.too-few-ports"
check "nor a name that is nowhere" step_says '"devices":["mlx5_0","irdma7"]' "failed rdma.device-missing"
mv "$NODE/sys/class/infiniband/mlx5_0" "$NODE/"
check "all devices in pods: all is well" step_says '"ports":2' "done"
mode Y
check "in shared mode nobody looks there" step_says '"ports":2' "failed rdma.no-device"
mode N; mv "$NODE/mlx5_0" "$NODE/sys/class/infiniband/"

# Drivers, classes and names as others have them.
space "/kubepods/burstable/pod$(pod_uid 3)/$(container_id 103)"; device "$inode" mlx5_3; pod 3 kube-system static-node0; container 103 kube-system static-node0 exporter
space "$(slice 4 104)"; device "$inode" mlx5_4
space "$(slice 5 105)"; device "$inode" mlx5_5
mkdir -p "$NODE/var/log/pods/"$'ev"il_na\\me\n# TYPE x counter_'"$(pod_uid 5)"; ln -s /dev/null "$NODE/var/log/containers/"$'na\xffme_ev"il_con"\nt-'"$(container_id 105).log"
mkdir -p "$NODE/var/log/pods/"{no-uid,__,_,"_$(pod_uid 4)x","$(pod_uid 4)"}
"$exporter"
check "odd names: right by the format" out
check "cgroupfs' cgroups" is_out 's("rdma_port_active", device="mlx5_3", port="1", pod="static-node0", namespace="kube-system", container="exporter")' 1.0
check "a pod without folder is known by its UID" is_out "s('rdma_port_active', device='mlx5_4', port='1', pod_uid='$(pod_uid 4)')" 1.0
check "quotes, backslashes and line breaks in names are escaped" is_out "[dict(k[1])['pod'] for k in m if k[0] == 'rdma_port_active' and ('device', 'mlx5_5') in k[1]]" "['na\\\\me\\n# TYPE x counter']"

# What a pod does to itself: nothing of it is looked at.
unshare -nm bash -c 'mount --make-rprivate /; mount -t tmpfs odd /sys; mkdir -p /sys/class/infiniband; ln -s /dev/zero /sys/class/infiniband/mlx5_9; exec sleep 1000' & pid=$!; sleepers+=("$pid")
while [[ $(cat "/proc/$pid/comm") != sleep ]]; do sleep 0.01; done
process "$pid" "$pid" "$(slice 6 106)"; "$exporter"
check "what a pod mounts over its /sys is not read" is_out "sorted({dict(k[1])['device'] for k in m if k[0] == 'rdma_port_active'})" "['irdma0', 'irdma1', 'mlx5_0', 'mlx5_3', 'mlx5_4', 'mlx5_5']"

# Processes that end while they are looked at.
(for i in {1..60}; do unshare -n true & process $((3000000 + i)) $! "$(slice 7 107)"; wait $!; done) & churn=$!
whole=0
while kill -0 $churn 2>/dev/null; do "$exporter" && out >"$NODE/parsed" && grep -q 'pod="gpu-pod0"' "$file" || { whole=1; cat "$NODE/parsed"; }; done
check "processes that end meanwhile: every file is whole" test $whole = 0
rm -r "$NODE"/proc/3000*

# A user with very many namespaces, which were there first, and a pod that came last.
python3 - "$NODE" <<'PY' & crowd=$!
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
for i in range(530):
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if libc.unshare(0x40000000):
            os._exit(1)
        me = f"{sys.argv[1]}/proc/{os.getpid()}"
        os.makedirs(me + "/ns")
        os.symlink(f"/proc/{os.getpid()}/ns/net", me + "/ns/net")
        with open(me + "/cgroup", "w") as f:
            f.write("0::/user.slice/user-1000.slice/user@1000.service/app.slice\n")
        signal.pause()
open(sys.argv[1] + "/crowd", "w").close()
signal.pause()
PY
sleepers+=("$crowd")
while [[ ! -e $NODE/crowd ]] || (($(find "$NODE/proc" -name cgroup | wc -l) < 530)); do kill -0 "$crowd" || exit 1; sleep 0.05; done
space "$(slice 8 108)"; device "$inode" mlx5_8; pod 8 default late; container 108 default late main
(ulimit -n 32; exec "$exporter")
check "hundreds of namespaces with few descriptors: the pod that came last has its turn" is_out 's("rdma_port_active", device="mlx5_8", port="1", pod="late", namespace="default", container="main")' 1.0
check "and what was left out is counted" is_out 's("rdma_exporter_skipped_namespaces") > 0' True
check "so are the others" is_out 's("rdma_port_active", device="irdma0", port="1", pod="gpu-pod0", namespace="default", container="pytorch")' 1.0
# Where nobody else's mounts come and go.
check "no mount is left" unshare -m --propagation private bash -c 'before=$(cat /proc/self/mountinfo); "$1" && [[ $(cat /proc/self/mountinfo) == "$before" ]]' - "$exporter"
kill "$crowd"

# The pods end, their devices are somewhere else.
rm -r "$NODE/sys/class/infiniband"; mkdir "$NODE/sys/class/infiniband"; rm -r "$NODE/proc" "$NODE/run/netns"; mkdir "$NODE/proc"; "$exporter"
check "no device anywhere: old numbers are removed" test ! -e "$file"
rm -r "$NODE/sys/class/infiniband"
space "$(slice 1 101)"; device "$inode" irdma0; "$exporter"
check "a device in a pod alone keeps the file" is_out 's("rdma_port_active", device="irdma0", port="1", pod="gpu-pod0", namespace="default", container="pytorch")' 1.0
[[ -z $failed ]]
