#!/bin/bash
# A published tutorial of pods with RDMA (docs/clusters/kubernetes-rdma.md) on a machine: recipe kubernetes-rdma baked whole, a disk of it that joins a real
# control plane, Multus and whereabouts as pods from the image's manifests, the tutorial's pod with a second network, its RDMA device moved into it, the counters
# that follow. Kubernetes is the version of KUBERNETES_SOURCE (tests/fixtures/kubernetes-build, which hands out CDI devices; 1.34 or newer), Multus, whereabouts
# and NVIDIA's container toolkit are compiled from their sources in SOURCES.
#
# Doubles: the vendor's packages, made of those programs; the card, soft-RoCE that may be moved (fixtures/kubernetes/rdma-moves.c), and the network
# card, one end of a cable within the machine; a device plugin; the containers' images, which are busybox and those programs; one rule of
# iptables in place of kube-proxy; GPUs for the agent (gpu-doubles.bash), and for nobody else. soak/kubernetes has bad luck of all kinds on one machine without any of it.
#
# Then the shipped cluster file, with one node: kubeadm init by hand on a machine of kubernetes-control, its programs as containers' images once more, and
# kubeadm join by hand on a node whose agent has been told of no cluster.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/cluster.bash"
source "$TOP/tests/e2e/kubernetes.bash"
source "$TOP/tests/e2e/gpu-doubles.bash"
multus=multus-cni-4.2.1 whereabouts=whereabouts-0.7.0

# go_build FOLDER OUT PACKAGE…: by the Go that Kubernetes was compiled with.
go_build() {
        local root
        root=$(echo "$K"/tools/usr/lib/go-*)
        (cd "$1" && env GOROOT="$root" GOCACHE="$K/gocache" GOTMPDIR="$K/gotmp" GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=vendor CGO_ENABLED=0 GO111MODULE=on \
                nice "$root/bin/go" build -trimpath -buildvcs=false -ldflags '-s -w' -o "$2" "${@:3}")
}
# image NAME TREE [WORD…]: one that the node has from the beginning, in which busybox is.
image() {
        install -D "$K/tools/bin/busybox" "$2/bin/busybox" || return 1
        for name in sh cat cp date mkdir touch chmod base64 tr sed sleep ls ip ping env; do ln -sf busybox "$2/bin/$name"; done
        mkdir -p "$2/tmp" "$2/etc"
        "$TOP/tests/fixtures/image-archive" "$@" >"$images/$(basename "${1%:*}").tar"
}
images() {
        local archive
        for archive in $multus $whereabouts; do
                rm -rf "$E2E/${archive:?}" && tar -C "$E2E" -xf "$(realpath "$SOURCES")/$archive.tar.gz" || return 1
        done
        mkdir -p "$E2E"/{multus,whereabouts,pytorch}
        go_build "$E2E/$multus" "$E2E/multus/" ./cmd/install_multus ./cmd/thin_entrypoint ./cmd/kubeconfig_generator || return 1
        mkdir -p "$E2E/multus/usr/src/multus-cni/bin"
        go_build "$E2E/$multus" "$E2E/multus/usr/src/multus-cni/bin/multus" ./cmd/multus || return 1
        go_build "$E2E/$multus" "$E2E/multus/usr/src/multus-cni/bin/passthru" ./cmd/passthru-cni || return 1
        go_build "$E2E/$whereabouts" "$E2E/whereabouts/" ./cmd/whereabouts.go || return 1
        go_build "$E2E/$whereabouts" "$E2E/whereabouts/ip-control-loop" ./cmd/controlloop || return 1
        cp "$E2E/$whereabouts/script/install-cni.sh" "$E2E/whereabouts/"
        image "ghcr.io/k8snetworkplumbingwg/multus-cni:v${multus##*-}" "$E2E/multus" /thin_entrypoint &&
                image "ghcr.io/k8snetworkplumbingwg/whereabouts:v${whereabouts##*-}" "$E2E/whereabouts" /install-cni.sh &&
                image nvcr.io/nvidia/pytorch:23.09-py3 "$E2E/pytorch" /bin/sh || return 1
        mkdir -p "$K/source/cmd/device-plugin-double"
        cp "$TOP/tests/fixtures/kubernetes/device-plugin.go" "$K/source/cmd/device-plugin-double/main.go"
        go_build "$K/source" "$PROJECT/overlays/card/files/usr/local/sbin/device-plugin" ./cmd/device-plugin-double
}
# What kubeadm init wants on the node. Debian's etcd is older than the one it would take by itself, and linked.
control_images() {
        local name images=$PROJECT/overlays/control-images/files/usr/share/kubernetes/images tree=$E2E/control
        mkdir -p "$images"
        echo '{ "description": "A control plane as images", "requires": ["kubernetes-node"] }' >"$PROJECT/overlays/control-images/overlay.json"
        for name in kube-apiserver kube-controller-manager kube-scheduler; do
                install -D "$K/bin/$name" "$tree/$name/usr/local/bin/$name" && image "registry.k8s.io/$name:$version" "$tree/$name" || return 1
        done
        install -D "$K/tools/usr/bin/etcd" "$tree/etcd/usr/local/bin/etcd" || return 1
        ldd "$K/tools/usr/bin/etcd" | grep -o '/lib[^ ]*' | while read -r name; do install -D "$(realpath "$name")" "$tree/etcd$name"; done
        pause_image "$E2E" registry.k8s.io/pause:3.10.1 && mv "$E2E/pause.tar" "$images/pause-of-kubeadm.tar" || return 1
        image registry.k8s.io/etcd:3.5.16-0 "$tree/etcd" && image "registry.k8s.io/kube-proxy:$version" "$E2E/pytorch" &&
                image registry.k8s.io/coredns/coredns:v1.12.1 "$E2E/pytorch"
}
# A card, its interface, and who hands both out.
card() {
        local overlay=$PROJECT/overlays/card
        mkdir -p "$overlay"/files/{etc/systemd/system,usr/local/sbin}
        cat >"$overlay/overlay.json" <<'O'
{ "description": "Doubles of a card for RDMA and of a device plugin",
  "requires": ["kubernetes-rdma"],
  "compile": [ { "packages": { "debian": ["linux-headers-${kernel}", "make"] }, "script": "compile.sh" } ],
  "services": { "enable": ["card.service", "device-plugin.service"] } }
O
        "$TOP/tests/fixtures/module-compile" "$TOP/tests/fixtures/kubernetes/rdma-moves.c" >"$overlay/compile.sh"
        unit_at_boot "$overlay" card
        cat >"$overlay/files/usr/local/sbin/card" <<'S'
#!/bin/sh -eux
modprobe rdma_rxe
rdma link add rxe0 type rxe netdev "$(ip route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)"
modprobe rdma_moves
ip link add ens192 type veth peer name wire
ip address add 10.100.100.6/29 dev wire
ip link set wire up
ip link set ens192 up
S
        printf '[Service]\nExecStart=/usr/local/sbin/device-plugin\nRestart=always\nRestartSec=2\n\n[Install]\nWantedBy=multi-user.target\n' \
                >"$overlay/files/etc/systemd/system/device-plugin.service"
        chmod +x "$overlay/compile.sh" "$overlay/files/usr/local/sbin/card"
}

if [[ -z ${HEAD_INSIDE:-} ]]; then
        [[ -n ${KUBERNETES_SOURCE:-} ]] || { echo "KUBERNETES_SOURCE, an archive of Kubernetes' own source (Debian's 1.20 does not hand out CDI devices)"; exit 77; }
        for archive in $multus.tar.gz $whereabouts.tar.gz nvidia-container-toolkit-1.20.0.tar.xz; do have_source "$archive" || exit 77; done
        make_key
        kubernetes_compiled "$E2E/kubernetes.log"
        own_project
        from_sources "$PROJECT" container-toolkit-source || exit 1
        W=$E2E/packages
        source "$TOP/tests/fixtures/control-plane.bash"
        source "$TOP/tests/fixtures/kubernetes-image.bash"
        kubernetes_overlay "$PROJECT" "$W" || { echo "not ok - the vendor's packages are made"; exit 1; }
        images=$PROJECT/overlays/kubernetes-node/files/usr/share/kubernetes/images
        gpu_doubles
        card && images >"$E2E/images.log" 2>&1
        s=$?
        check "Multus, whereabouts and a device plugin are compiled" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$E2E/images.log"; exit 1; }
        echo '{ "name": "pods", "extends": "kubernetes-rdma", "overlays": ["-container-toolkit", "container-toolkit-source", "gpu-doubles", "card"] }' >"$RECIPES/pods.json"
        control_images || { echo "not ok - the control plane's images are made"; exit 1; }
        sed -i 's/"overlays": \["kubernetes-node"\]/"overlays": ["control-images"]/' "$RECIPES/kubernetes-control.json"
        for name in pods:kubernetes-rdma kubernetes-control; do
                build "${name%:*}" --no-proof >"$E2E/build.log" 2>&1 # the boot is one
                s=$?
                check "${name#*:} passes every check and becomes a disk" $s
                [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
        done
fi
kubernetes_beside "$@"

VM_IMAGE=$OUT/pods/pods.qcow2
NVME=(--nvme 'count=2,size=1G' --memory 4G --cpus 2 --disk-size 10G)
vm_fresh
vm_config "{\"kubernetes\": {\"endpoint\": \"$api:6443\", \"ca_hashes\": [\"$pin\"], \"node_name\": \"gpu0\", \"token_file\": \"/etc/firstboot/token\"},
        \"scratch\": {\"required\": true, \"models\": [\"QEMU NVMe Ctrl\"]}, \"rdma\": {\"devices\": [\"rxe0\"], \"traffic\": \"off\"}, \"watch\": {\"calm\": \"5s\", \"interval\": \"10s\", \"healthy\": \"20s\"}}"
token | vm_file /etc/firstboot/token
vm_on multi-user || exit 1
[[ $(vm_settles 900) == ready ]]
check "the node is ready" $? || { vm 'firstbootctl status; systemctl --failed; firstbootctl log kubernetes | tail -n 20'; exit 1; }
node_is() { [[ $(kubectl get node gpu0 -o "jsonpath={.status.conditions[?(@.type==\"$1\")].status}") == "$2" ]]; }
limit=120 until_ node_is Ready True
node_is Ready True && node_is GPUNodeReady True && [[ $(kubectl get node gpu0 -o 'jsonpath={.status.nodeInfo.kubeletVersion}') == "$version" ]]
check "and Ready in its cluster, with kubelet $version" $?

# kube-proxy's part for the one service that there is, and the API server's way to kubelet.
vm 'iptables -t nat -A OUTPUT -d 10.96.0.1/32 -p tcp --dport 443 -j DNAT --to-destination 10.0.2.2:6443'
ip address add 10.0.2.15/32 dev lo
service kubelet-way ssh -N -q -i "$KEY" -p 2222 -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -L 10.0.2.15:10250:127.0.0.1:10250 root@127.0.0.1
mkdir -p "$VM/manifests"
vm 'tar -C /usr/share/kubernetes -c .' | tar -C "$VM/manifests" -x --wildcards '*.yaml'
cd "$VM/manifests" || exit 1
kubectl apply --validate=strict -f multus.yaml -f whereabouts.yaml -f runtimeclass-nvidia.yaml >"$VM/applied" 2>&1
check "the API server takes the image's manifests as they stand" $? || cat "$VM/applied"
until_ kubectl apply --validate=strict -f network-nic0.yaml && kubectl apply --validate=strict --dry-run=server -f rdma-cni.yaml >/dev/null
check "… and the network and RDMA CNI's" $?
pods_of() { [[ $(kubectl -n kube-system get pods -l "app=$1" -o 'jsonpath={.items[*].status.phase}{.items[*].status.containerStatuses[*].ready}') == Runningtrue ]]; }
for name in multus whereabouts; do
        limit=300 until_ pods_of $name
        pods_of $name
        check "$name runs, from an image that was on the node" $? || kubectl -n kube-system describe pods -l app=$name | tail -n 15
done
until_ vm 'ls /etc/cni/net.d/00-multus.conf /etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig'
check "both have set themselves up on the node" $?
offers() { [[ $(kubectl get node gpu0 -o 'jsonpath={.status.allocatable.nvidia\.com/gpu} {.status.allocatable.example\.org/rdma}') == "2 1" ]]; }
limit=120 until_ offers
offers
check "kubelet offers what the device plugin has" $?

# --- the tutorial's pod -----------------------------------------------------------------------------------------------------
running() { [[ $(kubectl get pod "$1" -o 'jsonpath={.status.phase}') == Running ]]; }
inside() { kubectl exec "$@" 2>&1; } # POD -- COMMAND…
kubectl apply --validate=strict -f gpu-pod.yaml >/dev/null
limit=300 until_ running gpu-pod0
running gpu-pod0
check "the tutorial's pod runs as the image has it" $? || kubectl describe pod gpu-pod0 | tail -n 15
inside gpu-pod0 -- ip -4 address show net1 | grep -q 'inet 10\.100\.100\.1/29'
check "host-device has moved its interface, with the first address of whereabouts" $? || inside gpu-pod0 -- ip address
vm 'ping -c 1 -W 5 10.100.100.1 >/dev/null && ! ip link show ens192 2>/dev/null'
check "which answers, and is the node's no more" $?
kubectl get pod gpu-pod0 -o 'jsonpath={.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}' | grep -q '"10.100.100.1"'
check "Multus tells of it in the pod's status" $?
inside gpu-pod0 -- cat /etc/nccl.conf | grep -q '^NCCL_IB_HCA==rxe0$'
check "what the node found for NCCL is in the pod" $? || inside gpu-pod0 -- cat /etc/nccl.conf

# Without the pod's privileges, by CDI and by the plugin's device files alone.
kubectl create -f - >/dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: { name: plain }
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
    - { name: main, image: "nvcr.io/nvidia/pytorch:23.09-py3", imagePullPolicy: Never, command: [sleep, infinity],
        resources: { limits: { nvidia.com/gpu: 1, example.org/rdma: 1 } } }
Y
limit=180 until_ running plain
inside plain -- env | grep -q '^NCCL_IB_HCA==rxe0$'
check "a pod gets the node's CDI device from kubelet" $? || kubectl describe pod plain | tail -n 15
[[ $(inside plain -- ls /dev/infiniband | sort | xargs) == "rdma_cm uverbs0" ]]
check "and of the RDMA devices what its plugin gave it" $? || inside plain -- ls -l /dev/infiniband
kubectl delete pod plain --wait=true --timeout=120s >/dev/null

# --- its RDMA device ---------------------------------------------------------------------------------------------------------
pid=$(vm 'for p in $(pgrep -x sleep); do grep -qz "^HOSTNAME=gpu-pod0$" /proc/$p/environ && echo $p && break; done')
vm "mkdir -p /var/run/netns; ln -s /proc/$pid/ns/net /var/run/netns/gpu-test && rdma dev set rxe0 netns gpu-test"
check "the tutorial's rdma dev set moves the device into the pod" $?
[[ $(vm 'ls /sys/class/infiniband') == '' && $(inside gpu-pod0 -- ls /sys/class/infiniband) == rxe0 ]]
check "it is in the pod's network, and there alone" $?
counter=$(inside gpu-pod0 -- cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts)
[[ $counter =~ ^[0-9]+$ ]]
check "the pod reads its counters as the tutorial does" $? || echo "# $counter"
scraped() { # node_exporter sorts labels
        vm 'python3 -c "import urllib.request; print(urllib.request.urlopen(\"http://localhost:9100/metrics\").read().decode())"' |
                grep -q '^rdma_port_hw_sent_pkts{container="pytorch",device="rxe0",namespace="default",pod="gpu-pod0",port="1"} '
}
limit=120 until_ scraped
scraped
check "node_exporter has them with pod, namespace and container" $? || vm '/usr/lib/firstboot/rdma-exporter /run/x.prom; head -n 5 /run/x.prom'
vm 'firstbootctl rerun rdma >/dev/null 2>&1; sleep 30'
[[ $(vm_settles 300) == ready ]] && node_is GPUNodeReady True
check "a device in a pod does not make the node not ready" $? || vm 'firstbootctl status'

# --- a fault, and the end ----------------------------------------------------------------------------------------------------
vm 'umount -l /mnt/localdisk'
held() { [[ $(kubectl get node gpu0 -o 'jsonpath={.status.conditions[?(@.type=="GPUNodeReady")].status}{.spec.unschedulable}') == Falsetrue ]]; }
limit=300 until_ held
held && running gpu-pod0
check "a fault holds the node back; the pod runs on" $?
vm 'firstbootctl rerun --wait scratch >/dev/null' # the step kubernetes may be at it
lifted() { [[ $(kubectl get node gpu0 -o 'jsonpath={.status.conditions[?(@.type=="GPUNodeReady")].status}{.spec.unschedulable}') == True ]]; }
limit=300 until_ lifted
lifted && running gpu-pod0
check "once it has been well for watch.healthy the node is back, without a word of ours" $? || vm 'firstbootctl status'
back() { [[ $(vm 'ls /sys/class/infiniband; ls -d /sys/class/net/ens192') == $'rxe0\n/sys/class/net/ens192' ]]; }
vm 'rm /var/run/netns/gpu-test'
kubectl delete pod gpu-pod0 --wait=true --timeout=180s >/dev/null
limit=60 until_ back
back
check "when the pod has ended, device and interface are the node's again" $?
[[ -z $(kubectl -n kube-system get ippools -o 'jsonpath={.items[*].spec.allocations.*}') ]]
check "and its address is free" $? || kubectl -n kube-system get ippools -o yaml | tail -n 20

# --- the cluster file, by hand ----------------------------------------------------------------------------------------------
stop_all
vm_off
cd "$TOP" || exit 1
cat >"$E2E/commands" <<C
set -u
say() { echo "== \$1"; }
cat >/root/init.yaml <<Y
apiVersion: kubeadm.k8s.io/$form
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: 10.78.0.1 }
---
apiVersion: kubeadm.k8s.io/$form
kind: ClusterConfiguration
kubernetesVersion: $version
etcd: { local: { imageTag: 3.5.16-0 } }
Y
say init; systemctl start kubernetes-images; kubeadm init --config /root/init.yaml --skip-phases=addon >/root/init.log 2>&1 && echo done || tail -n 20 /root/init.log
export KUBECONFIG=/etc/kubernetes/admin.conf
mkdir /run/join && kubeadm token create --print-join-command >/run/join/command
systemd-run -q --unit=join python3 -m http.server --directory /run/join 8000
nodes() { kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.kubeletVersion}{"\n"}{end}'; }
for i in \$(seq 300); do [ "\$(nodes | grep -c ' True ')" = 2 ] && break; sleep 1; done
say nodes; nodes
say agents; firstbootctl status | head -n 1 | cut -d ' ' -f 1-3
say end
C
cp "$TOP/images/clusters/no-gpu.yaml" "$E2E/node.yaml"
# The image of these nodes has GPUs that are doubles, and the node types what the control plane prints, as a reader does.
cat >>"$E2E/node.yaml" <<'Y'
runcmd:
  - - systemd-run
    - --unit=join
    - sh
    - -c
    - |
      firstbootctl status --wait >/dev/null
      systemctl enable kubelet
      until python3 -c 'import urllib.request; open("/run/join", "wb").write(urllib.request.urlopen("http://control:8000/command", timeout=5).read())'; do sleep 2; done
      sh -x /run/join
Y
sed -e 's/"image": "kubernetes-rdma"/"image": "pods"/; s/"count": 2/"count": 1/' -e "s,\"no-gpu.yaml\",\"$E2E/node.yaml\"," "$TOP/images/clusters/kubernetes-rdma.json" >"$E2E/cluster.json"
cluster_run "$E2E/cluster.json"
says "kubeadm init by hand, on an image of kubernetes-control" init 'done'
says "its agent, which has been told of no cluster, calls it ready" agents 'Node is ready'
says "a node that joined by hand, and the control plane, are Ready" nodes "control True $version"$'\n'"gpu1 True $version"
exit "$rc"
