#!/bin/bash
# A node joins a real cluster: etcd, API server, controller manager, scheduler, kubeadm and kubelet of Kubernetes 1.20 (compiled from Debian's source
# by tests/fixtures/kubernetes-build), or of the newer version whose source KUBERNETES_SOURCE names, Debian's containerd, runc and CNI plugins; the real agent and the real step. The node and the control plane are
# network namespaces of this machine, joined by a cable. Doubles: systemd's manager (fixtures/fake-systemd; systemctl and crictl are scripts here, for
# kubeadm asks for them), and an image "pause" of our own. cli/firstboot-kubernetes is the cheap test, on doubles of all of it.
#
# AWAY=SECONDS  how long the API server is away (300)
# KEEP=FOLDER   gets all logs at the end
set -u
if [[ -z ${KUBERNETES_INSIDE:-} ]]; then
        [[ $EUID -eq 0 ]] || { echo "skip - Kubernetes: needs root"; exit 77; }
        folder=$TOP/$BUILD/kubernetes
        [[ $BUILD != /* ]] || folder=$BUILD/kubernetes
        mkdir -p "$folder"
        source "$TOP/tests/e2e/kubernetes.bash"
        kubernetes_compiled "$folder/log"
        # Whatever runs inside ends with its first process; what kubelet made of cgroups and mounts stays until then.
        TMPDIR=$(mktemp -d)
        export TMPDIR
        trap 'find /sys/fs/cgroup -depth -type d -path "*/kubepods*" -exec rmdir {} + 2>/dev/null; rm -rf "$TMPDIR"' EXIT
        trap 'kill "$inside"' TERM INT
        KUBERNETES_INSIDE=1 unshare --mount --net --pid --fork --kill-child --mount-proc --propagation slave "$0" "$@" & inside=$!
        wait "$inside"
        exit
fi
source "$TOP/tests/fixtures/node.bash"
failed=
ctl=$node_build/firstbootctl
api=10.78.0.1

# --- two machines ----------------------------------------------------------------------------------------------------------
W=$(mktemp -d "${TMPDIR:-/tmp}/firstboot-kubernetes.XXXXXX")
mount --make-rshared /
node_new
trap 'stop_all; node_down; [[ -z ${KEEP:-} ]] || cp -a "$W/control" "$NODE" "$KEEP/"' EXIT
mkdir -p "$W"/{etc,etc.work,lib,lib.work,log,log.work,containerd,control,pki,cni} "$NODE"/{bin,dev,credentials,usr/bin,etc/kubernetes,var/lib/kubelet}
mount -t tmpfs run /run
mkdir -p /run/netns /run/containerd
for d in etc lib log; do
        where=/etc; [[ $d == etc ]] || where=/var/$d
        mount -t overlay -o "lowerdir=$where,upperdir=$W/$d,workdir=$W/$d.work" "$d" "$where"
done
mkdir -p /etc/kubernetes /var/lib/{kubelet,containerd} /var/log/pods /var/log/containers
mount --bind "$NODE/etc/kubernetes" /etc/kubernetes
mount --bind "$NODE/var/lib/kubelet" /var/lib/kubelet
mount --bind "$W/containerd" /var/lib/containerd
ln -s /proc "$NODE/proc"
: >/run/netns/control
unshare --net=/run/netns/control true
there=(nsenter --net=/run/netns/control)
control() { "${there[@]}" "$@"; }
ip link set lo up
ip link add cable type veth peer name cable netns control
ip address add 10.78.0.2/24 dev cable && ip link set cable up && ip route add default via $api
control ip link set lo up; control ip address add $api/24 dev cable; control ip link set cable up
echo 1 >/proc/sys/net/ipv4/ip_forward

source "$TOP/tests/fixtures/control-plane.bash"
export LD_LIBRARY_PATH=$K/tools/usr/lib/x86_64-linux-gnu XTABLES_LIBDIR=$K/tools/usr/lib/x86_64-linux-gnu/xtables
control_certificates
check "kubeadm makes certificates" test -s "$KUBECONFIG" -a -s "$W/control/scheduler.conf"
control_server
check "etcd and the API server run" test "$(kubectl get --raw /readyz)" = ok
control_rest
check "kubeadm puts its configuration and a first token into the cluster" test $? = 0
sed -n '/^```yaml/,/^```/p' "$TOP/docs/steps.md" | sed '/^```/d' | awk '/kind: ServiceAccount/ { on = 1 } { print }' >"$W/control/verdict.yaml"
check "the document's service account may be made" bash -c 'kubectl apply -f "$1" >/dev/null' - "$W/control/verdict.yaml"

# --- the node ----------------------------------------------------------------------------------------------------------------
printf '{"cniVersion":"0.4.0","name":"pods","type":"ptp","ipam":{"type":"host-local","subnet":"10.79.0.0/24"}}' >"$W/cni/10-pods.conf"
cat >"$W/containerd.toml" <<T
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.2"
  restrict_oom_score_adj = true # lower needs CAP_SYS_RESOURCE, which not every virtual machine has
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$K/tools/usr/lib/cni"
    conf_dir = "$W/cni"
T
service containerd containerd -c "$W/containerd.toml"
until_ ctr version
check "containerd runs" bash -c 'ctr version >/dev/null'
pause_image "$W" registry.k8s.io/pause:3.2
ctr -n k8s.io images import "$W/pause.tar" >/dev/null

tool() { { echo '#!/bin/bash'; cat; } >"$NODE/$1"; chmod +x "$NODE/$1"; }
tool bin/crictl <<'S'
# kubeadm asks whether the runtime answers: crictl -r SOCKET info
[[ ${*: -1} == info ]] && exec ctr -a "${2#unix://}" version
S
tool bin/systemctl <<'S'
manager() { busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager "$@"; }
echo "systemctl $*" >>"$FIRSTBOOT_ROOT/tools"
unit=${2%.service}.service
case $1 in
start) manager StartUnit ss "$unit" replace ;;
stop) manager StopUnit ss "$unit" replace ;;
restart) manager StopUnit ss "$unit" replace && manager StartUnit ss "$unit" replace ;;
is-active | is-enabled | status | daemon-reload | enable) exit 0 ;;
*) exit 1 ;;
esac >/dev/null
S
# As kubeadm's unit has it, and the agent's drop-in: Restart=always, AssertPathExists.
tool exec/kubelet.service <<'S'
echo "kubelet $1" >>$FIRSTBOOT_ROOT/tools
if [[ -e $FIRSTBOOT_ROOT/kubelet.pid ]]; then kill -- -$(<$FIRSTBOOT_ROOT/kubelet.pid); rm $FIRSTBOOT_ROOT/kubelet.pid; for i in {1..50}; do pgrep -x kubelet >/dev/null || break; sleep 0.1; done; fi
[[ $1 == start ]] || exit 0
[[ -e $FIRSTBOOT_ROOT/run/firstboot/kubelet-permit ]] || exit 1
setsid bash -c 'echo $$ >$FIRSTBOOT_ROOT/kubelet.pid
        while :; do . /var/lib/kubelet/kubeadm-flags.env
                kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
                echo "kubelet ended: $?"; sleep 2; done' </dev/null >>$FIRSTBOOT_ROOT/kubelet.log 2>&1 &
for i in {1..50}; do [[ -s $FIRSTBOOT_ROOT/kubelet.pid ]] && exit 0; sleep 0.1; done
exit 1
S
echo '5,0,0,-;Linux version 6.12.0' >"$NODE/dev/kmsg"
cp "$TOP/firstboot/steps/kubernetes/kubernetes.json" "$NODE/usr/lib/firstboot/steps.d/"
tool exec/kubernetes <<<"PATH=\$FIRSTBOOT_ROOT/bin:\$PATH exec env \${CLOCK:+LD_PRELOAD=$K/tools/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 FAKETIME=\$CLOCK} \"$node_build/firstboot-step\" kubernetes >>\$FIRSTBOOT_ROOT/agent.log 2>&1"
tool exec/firstboot-check <<<"PATH=\$FIRSTBOOT_ROOT/bin:\$PATH $ctl check --\$1 --probes --json >\$FIRSTBOOT_ROOT/run/firstboot/check/\$1.json; [ \$? -le 1 ]"
tool exec/probe <<'S'
[[ -e $FIRSTBOOT_ROOT/bad ]] || exit 0
echo '{"status":"failed","code":"probe.bad","message":"GPU 3 is gone"}' >"$FIRSTBOOT_RESULT"; exit 1
S
echo "{\"check\":true,\"exec\":[\"$NODE/exec/probe\"]}" >"$NODE/etc/firstboot/steps.d/probe.json"
ln -sf "$ctl" "$NODE/usr/bin/firstbootctl"
export CREDENTIALS_DIRECTORY=$NODE/credentials
# configure [KEYS]
configure() {
        section="{\"endpoint\":\"$api:6443\",\"ca_hashes\":[\"${hash:-$pin}\"],\"node_name\":\"gpu0\",\"labels\":{\"example.org/rack\":\"r1\"},\"give_up\":\"${give_up:-240s}\"${1-}}"
        echo "{\"watch\":{\"calm\":\"1s\",\"interval\":\"2s\",\"healthy\":\"2s\"},\"kubernetes\":$section}" >"$NODE/etc/firstboot/node.json"
        echo "{\"config\":{\"kubernetes\":$section},\"instance\":{\"id\":\"i\"}}" >"$NODE/config.step"
}
# what_is EXPRESSION VALUE: of the real Node object.
what_is() {
        local got
        got=$(kubectl get node gpu0 -o json | python3 -c '
import json, sys
n = json.load(sys.stdin)
c = {c["type"]: c for c in n["status"]["conditions"]}
print(eval(sys.argv[1], {"n": n, "s": n["spec"], "a": n["metadata"].get("annotations", {}), "l": n["metadata"]["labels"], "c": c, "sorted": sorted, "len": len}))' "$1" 2>&1)
        [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }
}
held='(c["GPUNodeReady"]["status"], c["GPUNodeReady"]["reason"], s.get("unschedulable"), "imgbuild.org/cordoned" in a)'
step_is() { [[ "$(node_json 'o["step"]["kubernetes"]["result"]["code"]')" == "$1" ]] || { echo "# $(node_json 'o["step"]["kubernetes"]')"; return 1; }; }
never() { ! grep -rqs -- "$@"; }
pod() { # NAME
        kubectl create -f - >/dev/null <<<"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"$1\"},\"spec\":{\"terminationGracePeriodSeconds\":1,\"automountServiceAccountToken\":false,\"containers\":[{\"name\":\"main\",\"image\":\"registry.k8s.io/pause:3.2\",\"imagePullPolicy\":\"Never\"}]}}"
}
pod_is() { [[ $(kubectl get pod "$1" -o 'jsonpath={.status.phase} {.spec.nodeName} {.status.containerStatuses[0].restartCount}') == "$2" ]]; }

# --- a node with a fault does not join; once it is well it does --------------------------------------------------------------
secret=$(token)
echo "$secret" >"$NODE/credentials/firstboot.kubernetes.token"
configure
touch "$NODE/bad"
node_boot
check "a node with a fault does not join" node_wait failed
check "neither kubeadm nor kubelet has run" test ! -e "$NODE/tools"
check "and the cluster has no such node" bash -c '! kubectl get node gpu0 >/dev/null 2>&1'
rm "$NODE/bad"
from=$SECONDS
"$ctl" rerun probe >/dev/null 2>&1
limit=300 until_ node_is ready
check "once it is well it joins, by the real kubeadm, and is ready" node_is ready
echo "# joined and ready after $((SECONDS - from)) s"
check "the real API server shows it Ready, with our condition and its label" what_is '(c["Ready"]["status"], c["GPUNodeReady"]["status"], l["example.org/rack"], "unschedulable" in s)' "('True', 'True', 'r1', False)"
check "kubelet has a certificate of the node's own" bash -c '[[ $(openssl x509 -in /var/lib/kubelet/pki/kubelet-client-current.pem -noout -subject) == *"O = system:nodes, CN = system:node:gpu0"* ]]'
check "the token's secret is in no log, status, state or call" never "${secret#*.}" "$NODE"/{agent.log,kubelet.log,calls,tools,run/firstboot/status.json,run/firstboot/results,var/lib/firstboot}
pod one
limit=120 until_ pod_is one "Running gpu0 0"
check "the scheduler sends a pod there, and it runs" pod_is one "Running gpu0 0"
inode=$(stat -Lc %i "/proc/$(pgrep -x pause | tail -n 1)/ns/net")
mkdir -p "$NODE/sys/module/ib_core/parameters" "$NODE/var/lib/prometheus/node-exporter" "$NODE/netns"; echo N >"$NODE/sys/module/ib_core/parameters/netns_mode"
ln -s /var/log "$NODE/var/log"
"$TOP/tests/fixtures/rdma-sysfs" "$NODE/netns/$inode" irdma0
"$node_build/rdma-exporter" "$W/rdma.prom"
check "the exporter names this kubelet's pod, namespace and container" grep -q '^rdma_port_active{device="irdma0",port="1",namespace="default",pod="one",container="main"} 1$' "$W/rdma.prom"

# --- a fault: told, held back, lifted ----------------------------------------------------------------------------------------
from=$SECONDS
touch "$NODE/bad"
check "a fault ends ready" node_wait failed
until_ what_is "$held" "('False', 'probe.bad', True, True)"
check "the cluster has our reason, and the cordon" what_is "$held" "('False', 'probe.bad', True, True)"
echo "# told after $((SECONDS - from)) s"
check "kubelet's own condition is untouched" what_is 'c["Ready"]["status"]' True
check "NodeRestriction refuses the taint, which is no failure" bash -c 'grep -q "The taint is not ours to change" "$1"' - "$NODE/agent.log"
sleep 10
check "the pod runs on" pod_is one "Running gpu0 0"
check "condition and cordon stay while kubelet tells of itself" what_is "$held" "('False', 'probe.bad', True, True)"
pod two
sleep 5
check "a new pod does not come" pod_is two "Pending  "
rm "$NODE/bad"
limit=240 until_ node_is ready
until_ what_is "$held" "('True', 'Ready', None, False)"
check "well again: the hold is lifted" what_is "$held" "('True', 'Ready', None, False)"
limit=60 until_ pod_is two "Running gpu0 0"
check "and the pod that waited comes" pod_is two "Running gpu0 0"

# --- with a service account's token: the taint -------------------------------------------------------------------------------
verdict=$(account_token firstboot-verdict)
run_step() { # STATUS-DOCUMENT: the step by itself, beside the agent
        mkdir -p "$NODE/alone/run/firstboot/results"
        cp "$NODE/config.step" "$NODE/alone/run/firstboot/config.json"
        echo "$1" >"$NODE/alone/run/firstboot/status.json"
        for d in etc var usr proc bin exec; do ln -sfn "$NODE/$d" "$NODE/alone/$d"; done
        env FIRSTBOOT_ROOT="$NODE/alone" PATH="$NODE/bin:$PATH" ${CLOCK:+LD_PRELOAD=$K/tools/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 FAKETIME="$CLOCK"} \
                timeout 600 "$node_build/firstboot-step" kubernetes >>"$NODE/alone/log" 2>&1
        result=$(python3 -c 'import json,sys; o=json.load(open(sys.argv[1])); print(o["status"], o.get("code", "")); print("# " + o.get("message", ""), file=sys.stderr)' "$NODE/alone/run/firstboot/results/kubernetes.json" 2>"$NODE/alone/message")
        cat "$NODE/alone/message"
}
well='{"node":"starting","steps":[]}'
sick='{"node":"failed","steps":[{"name":"gpu","status":"failed","required":true,"result":{"code":"gpu.missing","message":"GPU 3 is gone"}}]}'
verdict_is() { [[ $result == "$1" ]] || { echo "# $result"; tail -n 20 "$NODE/alone/log"; return 1; }; }
echo "$verdict" >"$NODE/etc/verdict"
configure ',"verdict_token_file":"/etc/verdict"'
our_taint='[(t["key"], t["value"], t["effect"]) for t in s.get("taints", []) if t["key"].startswith("imgbuild")]'
run_step "$sick"
check "with the document's service account the taint is set" what_is "$our_taint" "[('imgbuild.org/not-ready', 'gpu.missing', 'NoSchedule')]"
check "the step says so" verdict_is "degraded kubernetes.held-by-firstboot"
check "the token is in no log" never "$verdict" "$NODE/alone/log" "$NODE/agent.log"
kubectl taint node gpu0 admin/own=x:NoSchedule >/dev/null
run_step "$well"
check "well again: ours is gone, the admin's stays" what_is '[t["key"] for t in s["taints"]]' "['admin/own']"
check "and the step is done" verdict_is "done "
kubectl taint node gpu0 admin/own- >/dev/null

# --- an admin's cordon ---------------------------------------------------------------------------------------------------------
configure
kubectl cordon gpu0 >/dev/null
run_step "$well"
check "an admin's cordon is told, and left" verdict_is "degraded kubernetes.cordoned"
run_step "$sick"
run_step "$well"
check "after a fault, too" what_is '(s.get("unschedulable"), "imgbuild.org/cordoned" in a)' "(True, False)"
kubectl uncordon gpu0 >/dev/null
run_step "$sick"
kubectl annotate node gpu0 imgbuild.org/cordoned- >/dev/null
run_step "$well"
check "a cordon of ours that an admin has taken over stays" what_is 's.get("unschedulable")' True
kubectl uncordon gpu0 >/dev/null
run_step "$well"
check "until he lifts it" verdict_is "done "

# --- the API server is away --------------------------------------------------------------------------------------------------
end_service apiserver KILL
check "the API server is away" bash -c '! kubectl get --raw /readyz >/dev/null 2>&1'
touch "$NODE/bad"
check "the API server is away: a fault ends ready all the same" node_wait failed
sleep "${AWAY:-300}"
# Sooner than that it is still trying.
((${AWAY:-300} < 300)) || check "after ${AWAY:-300} s the step says that nobody answers" step_is kubernetes.hold-failed
check "pods run on" bash -c '(($(pgrep -xc pause) >= 4))'
check "kubelet runs on" bash -c 'pgrep -x kubelet >/dev/null'
from=$SECONDS
server
limit=400 until_ what_is "$held" "('False', 'probe.bad', True, True)"
check "it comes back: the verdict follows by itself" what_is "$held" "('False', 'probe.bad', True, True)"
echo "# $((SECONDS - from)) s after the API server was back"
rm "$NODE/bad"
limit=400 until_ node_is ready
until_ what_is "$held" "('True', 'Ready', None, False)"
check "and is lifted by itself" what_is "$held" "('True', 'Ready', None, False)"
kill -STOP "${pid[apiserver]}"
give_up=15s configure
run_step "$sick"
kill -CONT "${pid[apiserver]}"
check "an API server that hangs is told" verdict_is "failed kubernetes.hold-failed"
until_ kubectl get --raw /readyz
configure
run_step "$well"
check "afterwards all is well" verdict_is "done "

# --- new to the cluster, and what is wrong with it ---------------------------------------------------------------------------
node_down
"$NODE/exec/kubelet.service" stop
ctr -n k8s.io tasks ls -q | while read -r t; do ctr -n k8s.io tasks kill -s KILL "$t"; done 2>/dev/null
bus_start && manager_start
# The agent, which says whether the node is well before anything is lifted, does not run any more.
rm "$NODE/usr/bin/firstbootctl"
tool usr/bin/firstbootctl <<<'exit 0'
forget() { "$NODE/exec/kubelet.service" stop; rm -rf "$NODE"/etc/kubernetes/* "$NODE"/var/lib/kubelet/{config.yaml,kubeadm-flags.env,pki}; : >"$NODE/tools"; }
asked() { ! grep -q 'systemctl' "$NODE/tools"; }
good=$(token)
limit=30 until_ bash -c 'kubectl -n kube-public get cm cluster-info -o yaml | grep -q "$1"' - "${good%.*}"
forget
configure ",\"token\":\"$good\""
run_step "$well"
check "a node of that name that was Ready a moment ago, in the words of the real kubeadm" verdict_is "failed kubernetes.name-taken"
kubectl delete node gpu0 >/dev/null
forget
old=$(token --ttl 2s)
limit=60 until_ bash -c '! kubectl -n kube-public get cm cluster-info -o yaml | grep -q "$1"' - "${old%.*}"
configure ",\"token\":\"$old\""
run_step "$well"
check "a token that has run out" verdict_is "failed kubernetes.token-expired"
wrong=${good%.*}.0123456789abcdef
configure ",\"token\":\"$wrong\""
run_step "$well"
check "a token with another secret: in the words of the real kubeadm" verdict_is "failed kubernetes.token-refused"
check "… whose words are told without it" bash -c 'grep -q "\*\*\*\|JWS" "$1/message" && ! grep -q 0123456789abcdef "$1/message" "$1/log"' - "$NODE/alone"
check "… and kubelet is not left running" bash -c '! pgrep -x kubelet'
hash=sha256:$(head -c 32 /dev/zero | sha256sum | cut -d' ' -f1) configure ",\"token\":\"$good\""
: >"$NODE/tools"
run_step "$well"
check "another CA than the pinned one" verdict_is "failed kubernetes.wrong-ca"
give_up=10s configure ",\"token\":\"$good\""
CLOCK=-1d run_step "$well"
check "a clock a day behind, before which no certificate was valid" verdict_is "failed kubernetes.clock-skew"
CLOCK=+2h run_step "$well"
check "a clock two hours ahead" verdict_is "failed kubernetes.clock-skew"
check "kubeadm never ran for any of these" asked
end_service apiserver KILL
give_up=5s configure ",\"token\":\"$good\""
run_step "$well"
check "nobody at the endpoint" verdict_is "failed kubernetes.unreachable"
server
configure ",\"token\":\"$good\",\"register_on_failure\":true"
run_step "$sick"
check "a node with a fault that may register joins held back" what_is "$held" "('False', 'gpu.missing', True, True)"
give_up=10s configure
CLOCK=+2h run_step "$well"
check "a member whose clock is ahead is told" verdict_is "failed kubernetes.clock-skew"
run_step "$well"
configure
run_step "$well"
check "and with the right clock in service" verdict_is "done "
kubectl delete node gpu0 >/dev/null
give_up=10s configure
run_step "$well"
check "a Node object that was deleted does not come again by itself: told, with what to do" verdict_is "failed kubernetes.not-registered"
"$NODE/exec/kubelet.service" stop
"$NODE/exec/kubelet.service" start
configure
run_step "$well"
check "once kubelet has started anew it is there" verdict_is "done "
"$NODE/exec/kubelet.service" stop
[[ -z $failed ]]
