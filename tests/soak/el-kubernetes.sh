#!/bin/bash
# A node of family el joins a real cluster: a disk of overlay kubernetes-node on the EL-like distribution, booted, and by the agent's step a member of a control
# plane beside it. Kubernetes is Debian's 1.20, compiled from its source, or the version of KUBERNETES_SOURCE (tests/fixtures/kubernetes-build), as the RPMs that
# the vendor would have; containerd, runc and CNI's plugins are Debian's. Then a fault, and a power cut.
#
# SELINUX_POLICY=FOLDER  as in soak/el-disk
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/el.bash"
source "$TOP/tests/e2e/kubernetes.bash"

if [[ -z ${HEAD_INSIDE:-} ]]; then
        make_key
        kubernetes_compiled "$E2E/kubernetes.log"
        el_project el-pods-parts
        source "$TOP/tests/fixtures/control-plane.bash"
        source "$TOP/tests/fixtures/kubernetes-image.bash"
        el_vendors kubernetes_programs "$W/vendor/packages"
        el_from_here containerd kubernetes-node monitoring
        kubernetes_pods "$PROJECT" "$W" || { echo "not ok - the pause image is made"; exit 1; }
        # As rocky-9-kubernetes has it, without NFS.
        el_recipe el-join selinux-policy-targeted libselinux-utils policycoreutils <<R
        "kernel": { "package": "kernel", "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check security=selinux", "options": ["OVERLAY_FS", "BRIDGE_NETFILTER", "VETH", "VXLAN", "NF_CONNTRACK"] },
        "overlays": ["node-base", "storage", "firstboot", "kubernetes-node", "monitoring", "slim"],
        "node": { "host": { "firewall": "off" } },
        "disk": { "filesystem": "xfs", "formats": ["qcow2"] }
R
        build el-join --no-proof >"$W/build.log" 2>&1 # the boot is one
        s=$?
        check "a disk of a Kubernetes node is baked with the real programs, every check passed" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$W/build.log"; exit 1; }
fi
kubernetes_beside "$@"

VM_IMAGE=$OUT/el-join/el-join.qcow2
NVME=(--nvme 'count=2,size=1G' --memory 3G --cpus 2 --disk-size 10G)
vm_fresh
vm_config "{\"kubernetes\": {\"endpoint\": \"$api:6443\", \"ca_hashes\": [\"$pin\"], \"node_name\": \"el0\", \"labels\": {\"example.org/rack\": \"r1\"}, \"token_file\": \"/etc/firstboot/token\"},
        \"scratch\": {\"required\": true, \"models\": [\"QEMU NVMe Ctrl\"]}, \"watch\": {\"calm\": \"5s\", \"interval\": \"10s\", \"healthy\": \"20s\"}}"
secret=$(token)
vm_file /etc/firstboot/token <<<"$secret"
of_node() { kubectl get node el0 -o "jsonpath=$1"; }
condition() { of_node "{.status.conditions[?(@.type==\"$1\")].status}"; }
both_true() { [[ $(condition Ready) == True && $(condition GPUNodeReady) == True ]]; }
pod_is() { [[ $(kubectl get pod one -o 'jsonpath={.status.phase} {.spec.nodeName}') == "$1" ]]; }
# told TEXT STATUS: and what the machine says where it failed
told() { check "$1" "$2" || vm 'firstbootctl status; systemctl --failed; firstbootctl log kubernetes | tail -n 20; journalctl -u kubelet -n 20 --no-pager' | sed 's/^/# /'; }
enforced() {
        [[ -n ${SELINUX_POLICY:-} ]] || return 0
        vm 'getenforce; ps -eo label=,comm= | grep -E "kubelet$|containerd$|pause$" | awk "{ split(\$1, l, \":\"); print \$2, l[3] }" | sort -u' >"$VM/said"
        [[ $(<"$VM/said") == $'Enforcing\ncontainerd container_runtime_t\nkubelet kubelet_t\npause spc_t' ]]
        check "… with SELinux enforcing, by EL's own policy" $? || sed 's/^/# /' "$VM/said"
        not_denied < <(vm "journalctl -b -o cat -g 'avc: +denied'")
}

vm_on multi-user || exit 1
[[ $(vm_settles 900) == ready ]]
told "the node is ready" $?
limit=180 until_ both_true
both_true && [[ $(of_node '{.status.nodeInfo.kubeletVersion} {.metadata.labels.example\.org/rack}') == "$version r1" ]]
told "and Ready in its cluster, with kubelet $version and its label" $?
[[ $(of_node '{.status.nodeInfo.osImage}') == EL-like* && $(of_node '{.status.nodeInfo.containerRuntimeVersion}') == containerd://* ]]
check "the cluster knows its distribution and its runtime" $? || of_node '{.status.nodeInfo}{"\n"}'
vm 'for u in kubelet containerd; do echo $u $(systemctl is-active $u) $(systemctl is-enabled $u); done; systemctl --failed --plain --no-legend; rpm -q kubelet | cut -d- -f1' >"$VM/said"
[[ $(<"$VM/said") == $'kubelet active disabled\ncontainerd active enabled\nkubelet' ]]
check "the agent has started kubelet, which would not start by itself; no unit has failed" $? || cat "$VM/said"
vm "cat /run/firstboot/status.json /var/lib/firstboot/* /var/log/firstboot* 2>/dev/null; journalctl -b --no-pager" >"$VM/all" 2>/dev/null
[[ -s $VM/all ]] && ! grep -qF "${secret#*.}" "$VM/all"
check "the token's secret is in no journal and no state" $?

kubectl create -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: { name: one }
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers: [ { name: main, image: "registry.k8s.io/pause:3.10", imagePullPolicy: Never } ]
Y
limit=240 until_ pod_is "Running el0"
pod_is "Running el0"
check "a pod runs there, of an image that came with the disk" $? || kubectl describe pod one | tail -n 15
address=$(kubectl get pod one -o 'jsonpath={.status.podIP}')
[[ $address == 10.79.0.* ]] && vm "ping -c 1 -W 10 $address >/dev/null"
check "… with an address of CNI's plugins, and the node reaches it" $? || echo "# $address"
vm "find /sys/fs/cgroup/kubepods.slice -name 'cri-containerd-*.scope' | wc -l" >"$VM/said"
[[ $(<"$VM/said") -ge 2 ]]
check "… in systemd's cgroups" $? || cat "$VM/said"

held() { [[ $(condition GPUNodeReady)$(of_node '{.spec.unschedulable}') == Falsetrue ]]; }
lifted() { [[ $(condition GPUNodeReady)$(of_node '{.spec.unschedulable}') == True ]]; }
vm 'umount -l /mnt/localdisk'
limit=300 until_ held
held && pod_is "Running el0"
told "a fault holds the node back; the pod runs on" $?
vm 'firstbootctl rerun --wait scratch >/dev/null'
limit=300 until_ lifted
lifted
told "once it is well again the node is back" $?
enforced

# The plug, in the middle of a pod's life.
serial() { vm 'openssl x509 -in /var/lib/kubelet/pki/kubelet-client-current.pem -noout -subject -serial'; }
before=$(serial)
vm_off
vm_on multi-user || exit 1
[[ $(vm_settles 900) == ready ]]
told "after a power cut the node is ready again" $?
again() { both_true && [[ $(kubectl get pod one -o 'jsonpath={.status.phase} {.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}') == "Running true "[1-9]* ]]; }
limit=300 until_ again
again
told "… and Ready, the same member: its pod runs once more" $?
[[ $(vm 'systemctl is-active kubelet; journalctl -b -u kubelet --no-pager | grep -c "bootstrap-kubelet.conf.*no such"') == $'active\n0' && $before == *system:node:el0*serial=* && $(serial) == "$before" && $(kubectl get nodes -o 'jsonpath={.items[*].metadata.name}') == el0 ]]
check "… with the certificate it had" $? || { echo "# $before"; serial; }
enforced
exit "$rc"
