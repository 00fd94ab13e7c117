#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The kubernetes step: joined by kubeadm, kubelet let run, the verdict on the Node object. Real agent, real step, real
# TLS; doubles of the API server (fixtures/kubernetes-double), of kubeadm and of kubelet.
#
# lane: clock
set -u
source tests/fixtures/node.bash
failed=
server_pid=
end_all() { server_down; node_end; [[ -n ${P:-} ]] && rm -rf "$P"; }
trap end_all EXIT

token=abcdef.0123456789abcdef
secret=${token#*.}
verdict=eyJhbGciOiJSUzI1NiJ9.verdict-of-the-fleet

# --- certificates, once: the cluster's CA, another one, and a server of each ---------------------------------------------
P=$(mktemp -d "${TMPDIR:-/tmp}/firstboot-pki.XXXXXX")
ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$P/$1.key" -out "$P/$1.crt" -days 2 -subj "/CN=$1" 2>/dev/null; }
# signed CA CN FILE [EXTENSION]: certificate and key in one file.
signed() {
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$P/key" -out "$P/csr" -subj "/O=system:nodes/CN=$2" 2>/dev/null
        openssl x509 -req -in "$P/csr" -CA "$P/$1.crt" -CAkey "$P/$1.key" -CAcreateserial -days 2 -out "$P/crt" -extfile <(echo "${4:-subjectAltName=DNS:node}") 2>/dev/null
        cat "$P/crt" "$P/key" >"$3"
}
pin() { echo "sha256:$(openssl x509 -in "$P/$1.crt" -pubkey -noout | openssl pkey -pubin -outform der | sha256sum | cut -d' ' -f1)"; }
ca cluster && ca other
signed cluster kube-apiserver "$P/server.pem" subjectAltName=IP:127.0.0.1
signed other kube-apiserver "$P/other.pem" subjectAltName=IP:127.0.0.1
signed cluster system:node:n1 "$P/n1.pem"
signed cluster system:node:n2 "$P/n2.pem"
[[ -s $P/n2.pem && -s $P/other.pem ]]
check "openssl makes the test's certificates" test $? = 0

# --- the doubles -----------------------------------------------------------------------------------------------------------
server_up() {
        rm -f "$A/port"
        tests/fixtures/kubernetes-double "$A" "$A/port" "${port:-0}" 2>>"$A/errors" &
        server_pid=$!
        local end=$((SECONDS + 120))
        while ((SECONDS < end)); do [[ -s $A/port ]] && { port=$(<"$A/port"); return; }; sleep 0.05; done
        return 1
}
server_down() { [[ -n $server_pid ]] && kill "$server_pid" 2>/dev/null && wait "$server_pid" 2>/dev/null; server_pid=; return 0; }

tool() { { echo '#!/bin/bash'; echo 'echo "$(basename "$0") $*" >>$FIRSTBOOT_ROOT/tools'; cat; } >"$NODE/bin/$1"; chmod +x "$NODE/bin/$1"; }

# fresh: an empty node with a cluster that it does not know yet.
fresh() {
        server_down
        node_end 2>/dev/null
        node_new
        A=$NODE/api port=
        mkdir -p "$NODE"/{bin,api,proc/sys/kernel/random,proc/self,usr/bin,etc/kubernetes}
        cp "$P/cluster.crt" "$A/ca.crt"; cp "$P/server.pem" "$A/server.pem"
        echo "${token%.*}" >"$A/token-id"
        echo 11111111-2222-3333-4444-555555555555 >"$NODE/proc/sys/kernel/random/boot_id"
        echo v1.28.9 >"$NODE/kubeadm-version"
        echo '{"node":"starting","steps":[]}' >"$NODE/run/firstboot/status.json"
        printf '#!/bin/bash\n[[ ! -e $FIRSTBOOT_ROOT/sick ]] || { echo "gpu.missing: one is gone"; exit 1; }\n' >"$NODE/usr/bin/firstbootctl"
        tool kubelet </dev/null
        cat >"$NODE/exec/kubelet.service" <<'K'
#!/bin/bash
echo "kubelet $1" >>$FIRSTBOOT_ROOT/tools
[[ $1 == start ]] || exit 0
[[ -e $FIRSTBOOT_ROOT/run/firstboot/kubelet-permit ]] || exit 1 # the unit's AssertPathExists
[[ ! -e $FIRSTBOOT_ROOT/kubelet.mute ]] || exit 0
echo "n1 $(<$FIRSTBOOT_ROOT/proc/sys/kernel/random/boot_id)" >$FIRSTBOOT_ROOT/api/register
K
        tool kubeadm <<'K'
[[ $1 == version ]] && { cat "$FIRSTBOOT_ROOT/kubeadm-version"; exit; }
[[ "$1 $2" == "join --config" ]] || exit 2
[[ $(stat -c %a "$3") == 600 ]] || { echo "error: the configuration can be read by others"; exit 1; }
cp "$3" "$FIRSTBOOT_ROOT/join.seen"
cd "$FIRSTBOOT_ROOT/etc/kubernetes" || exit
[[ ! -e pki/ca.crt && ! -e bootstrap-kubelet.conf ]] || { echo "error execution phase preflight: [ERROR FileAvailable--etc-kubernetes-pki-ca.crt]: it already exists"; exit 1; }
mkdir -p pki ../../var/lib/kubelet/pki
cp "$FIRSTBOOT_ROOT/api/ca.crt" pki/
[[ ! -e $FIRSTBOOT_ROOT/kubeadm.says ]] || { cat "$FIRSTBOOT_ROOT/kubeadm.says"; echo "To see the stack trace of this error execute with --v=5 or higher"; exit 1; }
cp "$P/n1.pem" ../../var/lib/kubelet/pki/kubelet-client-current.pem
printf 'apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: %s\n    server: https://127.0.0.1:%s\n  name: default-cluster\nusers:\n- name: default-auth\n  user:\n    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem\n' \
        "$(base64 -w0 pki/ca.crt)" "$(<"$FIRSTBOOT_ROOT/api/port")" >kubelet.conf
busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartUnit ss kubelet.service replace >/dev/null
echo "This node has joined the cluster:"
K
        chmod +x "$NODE/exec/kubelet.service" "$NODE/usr/bin/firstbootctl"
        server_up || check "the double of the API server starts" false
}
export P

# configure [KEYS]: the section, with the token unless told otherwise.
configure() {
        section="{\"endpoint\":\"127.0.0.1:$port\",\"ca_hashes\":[\"${hash:-$(pin cluster)}\"],\"node_name\":\"${name:-n1}\",\"give_up\":\"${give_up:-2s}\",\"cri_socket\":\"unix:///run/containerd/containerd.sock\"${1-,\"token\":\"$token\"}}"
        echo "{\"config\":{\"kubernetes\":$section},\"instance\":{\"id\":\"i\"}}" >"$NODE/run/firstboot/config.json"
}
run_step() { PATH=$NODE/bin:$PATH timeout 180 "$node_build/firstboot-step" kubernetes >>"$NODE/agent.log" 2>&1; rc=$?; }
with_bus() { bus_start && manager_start; }
result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/kubernetes.json")); print(o.get(sys.argv[2],""))' "$NODE" "$1"; }
verdict() { [[ "$(result status) $(result code)" == "$1" ]] || { echo "# $(result status) $(result code): $(result message)"; return 1; }; }
# fault [CODE]: how the other steps went.
fault() {
        if [[ -n ${1:-} ]]; then
                echo "{\"node\":\"failed\",\"steps\":[{\"name\":\"gpu\",\"status\":\"failed\",\"required\":true,\"result\":{\"code\":\"$1\",\"message\":\"GPU 3 is gone\"}}]}"
        else
                echo '{"node":"starting","steps":[]}'
        fi >"$NODE/run/firstboot/status.json"
}
# node EXPRESSION VALUE: what python makes of the Node object.
node() {
        local got
        got=$(python3 -c '
import json, sys
n = json.load(open(sys.argv[1] + "/node.json"))
s, m = n["spec"], n["metadata"]
c = {c["type"]: c for c in n["status"]["conditions"]}
print(eval(sys.argv[2], {"n": n, "s": s, "a": m["annotations"], "m": m, "c": c, "sorted": sorted, "len": len}))' "$A" "$1" 2>&1)
        [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }
}
edit() { python3 -c '
import json, sys
n = json.load(open(sys.argv[1] + "/node.json"))
exec(sys.argv[2], {"n": n, "s": n["spec"], "a": n["metadata"]["annotations"]})
json.dump(n, open(sys.argv[1] + "/node.json", "w"))' "$A" "$1"; }
called() { grep -q "$1" "$NODE/tools"; }
never() { ! grep -q "$1" "$2"; }
taints='sorted((t["key"], t.get("value", ""), t["effect"]) for t in s.get("taints", []))'
next_boot() { echo "99999999-2222-3333-4444-55555555555$1" >"$NODE/proc/sys/kernel/random/boot_id"; busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss kubelet.service replace >/dev/null; rm -f "$NODE/run/firstboot/kubelet-permit"; : >"$NODE/tools"; : >"$A/log"; }

# --- join, and the second boot -------------------------------------------------------------------------------------------
fresh
with_bus
echo '{"config":{"kubernetes":{"cri_socket":"unix:///x"}},"instance":{"id":"i"}}' >"$NODE/run/firstboot/config.json"
run_step
check "without an endpoint there is nothing to do" verdict "skipped "
configure ",\"token\":\"$token\",\"labels\":{\"example.org/rack\":\"r1\"},\"kubelet_args\":{\"node-ip\":\"10.0.0.5\"}"
run_step
check "a node joins" verdict "done "
check "by kubeadm, with a file" called "^kubeadm join --config .*/run/firstboot/kubeadm-join.json$"
check "which is gone afterwards" test ! -e "$NODE/run/firstboot/kubeadm-join.json"
check "the file says what the configuration says" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert o["apiVersion"] == "kubeadm.k8s.io/v1beta3", o
b = o["discovery"]["bootstrapToken"]
assert b["token"] == sys.argv[2] and b["caCertHashes"] == [sys.argv[3]] and b["apiServerEndpoint"] == "127.0.0.1:" + sys.argv[4]
r = o["nodeRegistration"]
assert r["name"] == "n1" and r["criSocket"] == "unix:///run/containerd/containerd.sock"
assert r["kubeletExtraArgs"] == {"node-labels": "example.org/rack=r1", "node-ip": "10.0.0.5"}' "$NODE/join.seen" "$token" "$(pin cluster)" "$port"
check "kubelet has its permit" test -e "$NODE/run/firstboot/kubelet-permit"
check "the cluster has the verdict" node '(c["GPUNodeReady"]["status"], c["GPUNodeReady"]["reason"])' "('True', 'Ready')"
check "and nothing else of ours" node '(s, sorted(a))' "({'podCIDR': '10.0.0.0/24'}, ['somebody.example/note'])"
check "the token is nowhere in the log" never "$secret" "$NODE/agent.log"
check "nor among arguments" never "$secret" "$NODE/tools"
check "nor in the verdict" never "$secret" "$NODE/run/firstboot/results/kubernetes.json"

next_boot 1
configure ''
run_step
check "at the next boot it needs no token" verdict "done "
check "and does not join again" never "kubeadm join" "$NODE/tools"
check "kubelet is started" called "^kubelet start"
check "nothing is written that stands there already" never PATCH "$A/log"
: >"$NODE/tools"
run_step
check "once more: kubelet is left alone" never "kubelet" "$NODE/tools"
check "and it is done" verdict "done "
next_boot 2
touch "$NODE/kubelet.mute"
run_step
check "a node that is known from an earlier boot alone has not registered" verdict "failed kubernetes.not-registered"
check "that may pass" test $rc = 75
echo kubelet.service >"$NODE/dies"
next_boot 5
run_step
check "a kubelet that ends a moment after its start is told as that" verdict "failed kubernetes.kubelet"
rm "$NODE/kubelet.mute" "$NODE/dies"
next_boot 6
run_step
rm "$A/node.json"
run_step
check "a Node object that was deleted under a running kubelet does not come again" verdict "failed kubernetes.not-registered"
check "it is told what to do" bash -c '[[ $1 == *"systemctl restart kubelet" ]]' - "$(result message)"
check "kubelet and its pods are left alone" never "kubelet stop" "$NODE/tools"
next_boot 7
run_step
check "at the next boot it comes again, without a token" verdict "done "

# --- somebody else's certificate -----------------------------------------------------------------------------------------
next_boot 3
hash=$(pin other) configure ''
run_step
check "a member of another cluster is told" verdict "failed kubernetes.other-cluster"
check "waiting does not help" test $rc = 1
check "and kubelet does not run" never "kubelet start" "$NODE/tools"
check "nor has it a permit" test ! -e "$NODE/run/firstboot/kubelet-permit"
name=n9 configure ''
run_step
check "another node's certificate too" verdict "failed kubernetes.other-node"
: >"$NODE/etc/kubernetes/kubelet.conf"
configure ''
run_step
check "what a power cut has left empty is no membership" verdict "failed kubernetes.no-token"
configure
run_step
check "with a token the node joins again over what is left" verdict "done "
rm "$NODE/etc/kubernetes/kubelet.conf"; touch "$NODE/etc/kubernetes/bootstrap-kubelet.conf"
run_step
check "a join that was cut short is begun anew" verdict "done "

# --- the token --------------------------------------------------------------------------------------------------------------
fresh
with_bus
configure
rm "$NODE/run/firstboot/status.json"
run_step
check "without firstbootd's status nothing joins" verdict "failed kubernetes.kubelet"
check "kubeadm is not asked" test ! -s "$NODE/tools"
fault
echo other1 >"$A/token-id"
run_step
check "an expired token is told" verdict "failed kubernetes.token-expired"
check "a new one may come" test $rc = 75
check "kubeadm is not even asked" never "kubeadm join" "$NODE/tools"
give_up=20s configure
(sleep 2; echo "${token%.*}" >"$A/token-id") &
run_step
check "one that the cluster signs for a moment later is waited for" verdict "done "
wait $!
fresh
with_bus
echo "${token%.*}" >"$A/token-id"
echo "$token" >"$NODE/token"
configure ',"token_file":"/nowhere"'
run_step
check "a token file that is not there is told" verdict "failed kubernetes.no-token"
echo "not a token, but $secret" >"$NODE/token"
configure ',"token_file":"/token"'
run_step
check "so is one without a token" verdict "failed kubernetes.no-token"
check "its content is not" never "$secret" "$NODE/agent.log"
echo "$token" >"$NODE/token"
echo "error execution phase preflight: couldn't validate: failed to verify JWS signature of received cluster info object with $token" >"$NODE/kubeadm.says"
run_step
check "a token with another secret is told" verdict "failed kubernetes.token-refused"
check "kubeadm's words without the token" bash -c '[[ $1 == *"failed to verify JWS signature"* && $1 == *"***"* ]]' - "$(result message)"
check "in the log, too" never "$secret" "$NODE/agent.log"
check "a kubelet without certificate is stopped" bash -c 'grep -q "^StopUnit kubelet.service" "$1" && [[ ! -e $2/run/firstboot/kubelet-permit ]]' - "$NODE/calls" "$NODE"
echo 'error execution phase kubelet-start: a Node with name "n1" and status "Ready" already exists in the cluster.' >"$NODE/kubeadm.says"
run_step
check "a name that is taken is told" verdict "failed kubernetes.name-taken"
echo 'error execution phase: something new' >"$NODE/kubeadm.says"
run_step
check "what is not known has kubeadm's own words" bash -c '[[ $1 == "kubernetes.join-failed kubeadm join: error execution phase: something new" ]]' - "$(result code) $(result message)"
# As kubeadm 1.20 says it.
cat >"$NODE/kubeadm.says" <<'K'
[preflight] Running pre-flight checks
	[WARNING Hostname]: hostname "n1" could not be reached
error execution phase preflight: [preflight] Some fatal errors occurred:
	[ERROR FileExisting-crictl]: crictl not found in system path
	[ERROR FileContent--proc-sys-net-ipv4-ip_forward]: /proc/sys/net/ipv4/ip_forward contents are not set to 1
[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`
K
run_step
check "a check of kubeadm's that fails is told, and not its advice" bash -c '[[ $1 == "kubernetes.join-failed kubeadm join: [ERROR FileExisting-crictl]: crictl not found in system path" ]]' - "$(result code) $(result message)"
rm "$NODE/kubeadm.says"
run_step
check "after that it joins, over what kubeadm left" verdict "done "

# --- an API server that is none, is another, or lies ---------------------------------------------------------------------------
fresh
with_bus
hash=$(pin other) configure
run_step
check "a CA that is not pinned is told" verdict "failed kubernetes.wrong-ca"
check "waiting does not help against it" test $rc = 1
configure
cp "$P/other.pem" "$A/server.pem"; server_down; server_up
run_step
check "a server that only shows the right CA is none" verdict "failed kubernetes.certificate"
cp "$P/server.pem" "$A/server.pem"; server_down; server_up
for mode in huge not-json redirect error; do
        echo "$mode" >"$A/mode"
        run_step
        check "an answer that is $mode is no API server's" verdict "failed kubernetes.protocol"
done
rm "$A/mode"
echo 4000 >"$A/skew"
run_step
check "another clock is told" verdict "failed kubernetes.clock-skew"
check "in figures" grep -qE '"clock_skew_seconds": ?(39|40)[0-9][0-9]' "$NODE/run/firstboot/results/kubernetes.json"
rm "$A/skew"
server_down
run_step
check "nobody at the endpoint is told" verdict "failed kubernetes.unreachable"
check "kubeadm never ran" never "kubeadm join" "$NODE/tools"
check "nor kubelet" never "kubelet start" "$NODE/tools"
give_up=60s configure
(sleep 2; exec tests/fixtures/kubernetes-double "$A" "$A/port" "$port") &
server_pid=$!
run_step
check "a server that comes late is waited for" verdict "done "

# --- the verdict: set, lifted, and never somebody else's -------------------------------------------------------------------------
fault gpu.missing
touch "$A/restrict"; : >"$NODE/tools"
echo 3 >"$A/conflicts"
run_step
check "a node with a fault is held back" verdict "degraded kubernetes.held-by-firstboot"
check "by a condition with the code" node '(c["GPUNodeReady"]["status"], c["GPUNodeReady"]["reason"], c["GPUNodeReady"]["message"])' "('False', 'gpu.missing', 'GPU 3 is gone')"
check "kubelet's own condition stays" node 'c["Ready"]["status"]' True
check "by a cordon with the reason" node '(s["unschedulable"], a["imgbuild.org/cordoned"][:45])' "(True, '[firstboot] gpu.missing: GPU 3 is gone #$(python3 -c '
h = 2166136261
for b in b"[firstboot] gpu.missing: GPU 3 is gone": h = (h ^ b) * 16777619 % 2**32
print("%04x" % ((h >> 16 ^ h) & 0xffff))')')"
check "conflicts were told, and the node read again" test "$(grep -c 'PATCH /api/v1/nodes/n1 409' "$A/log")" = 3
check "what the faster ones wrote is still there" node "$taints" "[('faster-1', '', 'NoExecute'), ('faster-2', '', 'NoExecute'), ('faster-3', '', 'NoExecute')]"
check "the taint is not kubelet's to set, and is no failure" grep -q "PATCH /api/v1/nodes/n1 403 system:node:n1" "$A/log"
check "kubelet runs on" never "kubelet stop" "$NODE/tools"
: >"$A/log"
run_step
check "what stands there is not written again" never " 200 .*PATCH\|PATCH .* 200" "$A/log"

echo "$verdict" >"$A/verdict-token"; echo "$verdict" >"$NODE/verdict"
give_up=5s configure ',"verdict_token_file":"/verdict"'
run_step
check "with a token for it the taint is set" node "$taints" "[('faster-1', '', 'NoExecute'), ('faster-2', '', 'NoExecute'), ('faster-3', '', 'NoExecute'), ('imgbuild.org/not-ready', 'gpu.missing', 'NoSchedule')]"
check "by that identity" grep -q "PATCH /api/v1/nodes/n1 200 verdict" "$A/log"
check "the token is nowhere in the log" never "$verdict" "$NODE/agent.log"
fault
touch "$NODE/sick"
run_step
check "before anything is lifted the node is looked at" verdict "failed kubernetes.check-failed"
check "and held back still" node 's["unschedulable"]' True
rm "$NODE/sick"
edit 's["taints"].append({"key": "admin/taint", "effect": "NoSchedule"})'
run_step
check "a node that is well is back in service" verdict "done "
check "its own taint is gone, others stay" node "$taints" "[('admin/taint', '', 'NoSchedule'), ('faster-1', '', 'NoExecute'), ('faster-2', '', 'NoExecute'), ('faster-3', '', 'NoExecute')]"
check "so are cordon and annotations" node '("unschedulable" in s, sorted(a))' "(False, ['somebody.example/note'])"
check "the condition says so" node 'c["GPUNodeReady"]["status"]' True

# An admin's cordon, before ours and instead of ours.
edit 's["unschedulable"] = True'
run_step
check "an admin's cordon is told" verdict "degraded kubernetes.cordoned"
check "and left" node 's["unschedulable"]' True
fault gpu.missing
run_step
check "on a node with a fault it stays the admin's" verdict "degraded kubernetes.cordoned"
check "without a word of ours" node '"imgbuild.org/cordoned" in a' False
fault
run_step
check "afterwards it is there still" node '(s["unschedulable"], len([t for t in s["taints"] if t["key"].startswith("imgbuild")]))' "(True, 0)"
edit 'del s["unschedulable"]'
fault gpu.missing
run_step
edit 'a["imgbuild.org/cordoned"] = "mine now: waits for a part"'
fault
run_step
check "a cordon whose reason an admin has changed is his" node 's["unschedulable"]' True
edit 'del s["unschedulable"]; s["taints"] = [{"key": "imgbuild.org/not-ready", "value": "by-hand", "effect": "NoSchedule"}]'
fault gpu.missing
run_step
fault
run_step
check "a taint with our key and another value is not ours" node "$taints" "[('imgbuild.org/not-ready', 'by-hand', 'NoSchedule')]"

# A taint that may not be lifted any more.
edit 's["taints"] = []; s.pop("unschedulable", None); [a.pop(k) for k in list(a) if k.startswith("imgbuild")]'
fault gpu.missing
run_step
fault
echo 'gone' >"$A/verdict-token"
run_step
check "a taint that is not ours to lift any more is told" verdict "degraded kubernetes.taint-refused"
check "the cordon is lifted all the same" node '"unschedulable" in s' False
echo "$verdict" >"$A/verdict-token"
run_step
check "with the token again it goes" verdict "done "
check "for good" node "$taints" "[]"

# A step that is tried slowly stands as failed while it runs.
echo '{"node":"failed","steps":[{"name":"kubernetes","status":"failed","required":true,"slow":true,"result":{"code":"kubernetes.unreachable","message":"away"}}]}' >"$NODE/run/firstboot/status.json"
run_step
check "its own former failure is no fault of the node's" verdict "done "

# Of which nothing is known, for there was no room to tell.
rm "$NODE/run/firstboot/status.json"
run_step
check "a member of which nothing is known fails for that" verdict "failed run.not-writable"
check "waiting may help" test $rc = 75
check "it is held back" node '(s.get("unschedulable"), c["GPUNodeReady"]["reason"], "status.json does not tell" in c["GPUNodeReady"]["message"])' "(True, 'run.not-writable', True)"
check "kubelet is left alone" never "kubelet stop" "$NODE/tools"
fault
run_step
check "known again, it is in service" verdict "done "
check "and free" node '("unschedulable" in s, c["GPUNodeReady"]["status"])' "(False, 'True')"

# Without an answer.
fault gpu.missing
touch "$A/forbid"
give_up=1s configure ''
run_step
check "an API server that refuses the node is told" verdict "failed kubernetes.refused"
rm "$A/forbid"
next_boot 4
echo error >"$A/mode"
run_step
check "a fault that cannot be told keeps kubelet from starting" verdict "failed kubernetes.hold-failed"
check "so no pod comes" never "kubelet start" "$NODE/tools"
rm "$A/mode"
fault
touch "$A/unready"
run_step
check "a node without network plugin is degraded, for now" verdict "degraded kubernetes.not-ready"
rm "$A/unready"

# With kubernetes.register_on_failure, a node that is new to the cluster.
fresh
with_bus
touch "$A/restrict"
fault gpu.missing
configure
run_step
check "a node with a fault may join, and is held back" verdict "degraded kubernetes.held-by-firstboot"
check "with the reason" node '(c["GPUNodeReady"]["reason"], s["unschedulable"])' "('gpu.missing', True)"
check "its permit says which" grep -qx held "$NODE/run/firstboot/kubelet-permit"

# kubeadm's formats.
for v in v1.20.15:v1beta2 v1.31.2:v1beta4; do
        fresh
        with_bus
        echo "${v%:*}" >"$NODE/kubeadm-version"
        configure ",\"token\":\"$token\",\"labels\":{\"a\":\"b\"}"
        run_step
        check "kubeadm ${v%:*} gets ${v#*:}" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert o["apiVersion"].endswith(sys.argv[2]), o
args = o["nodeRegistration"]["kubeletExtraArgs"]
assert args == ([{"name": "node-labels", "value": "a=b"}] if sys.argv[2] == "v1beta4" else {"node-labels": "a=b"}), args
assert ("timeouts" in o) == (sys.argv[2] == "v1beta4")' "$NODE/join.seen" "${v#*:}"
done

# --- a cluster of today, written after its documentation ---------------------------------------------------------------------
fresh
with_bus
echo v1.33.5 | tee "$NODE/kubeadm-version" >"$A/api"
configure
for anonymous in no forbidden; do
        echo $anonymous >"$A/anonymous"
        run_step
        check "a cluster whose discovery is closed to who has no certificate ($anonymous) refuses, and is an API server" verdict "failed kubernetes.refused"
        check "… told in words that lead on" bash -c '[[ $1 == *cluster-info* && $1 == *anonymous* ]]' - "$(result message)"
done
check "… kubeadm, which asks for the same, did not run" never "kubeadm join" "$NODE/tools"
rm "$A/anonymous"
echo 2 >"$A/busy"
give_up=60s configure
run_step
check "a server that is busy (429) is asked again, and the node joins" verdict "done "
echo 2 >"$A/busy"
run_step
check "as a member, too" verdict "done "
check "its version is told" bash -c '[[ $(python3 -c "import json,sys; print(json.load(open(sys.argv[1]))[\"figures\"][\"kubelet_version\"])" "$1") == v1.33.5 ]]' - "$NODE/run/firstboot/results/kubernetes.json"
check "the condition stands beside kubelet's own" node 'sorted(c)' "['DiskPressure', 'GPUNodeReady', 'MemoryPressure', 'PIDPressure', 'Ready']"
echo "$verdict" >"$A/verdict-token"; echo "$verdict" >"$NODE/verdict"
long=site.$(printf 'x%.0s' {1..80})
fault "$long."
configure ''
run_step
check "held back: condition and cordon by the node, whose taint is not its own" node '(c["GPUNodeReady"]["status"], s["unschedulable"], s.get("taints"))' "('False', True, None)"
configure ',"verdict_token_file":"/verdict"'
run_step
check "a taint of a code that is too long for one passes validation" node '[(len(t["value"]), t["effect"]) for t in s["taints"]]' "[(63, 'NoSchedule')]"
check "who wrote which field before is left" node '[f["manager"] for f in m["managedFields"]]' "['kubelet']"
echo gone >"$A/verdict-token"
fault
run_step
check "a token that has run out (they are bound to a time) leaves the taint, and that is told" verdict "degraded kubernetes.taint-refused"
echo "$verdict.new" >"$A/verdict-token"; echo "$verdict.new" >"$NODE/verdict"
run_step
check "the file's new token is taken at the next look" verdict "done "
check "nothing of ours is left" node '(s, sorted(a))' "({'podCIDR': '10.0.0.0/24'}, ['somebody.example/note'])"
check "no patch was refused for its form" never " 4[12][1-8] " "$A/log"

# --- the whole agent: the gate, the watch, and the token as a credential ---------------------------------------------------
until_() { local end=$((SECONDS + 120)); while ((SECONDS < end)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; return 1; }
ctl=$node_build/firstbootctl
fresh
mkdir -p "$NODE"/{dev,credentials}; echo '5,0,0,-;Linux version 6.12.0' >"$NODE/dev/kmsg"
echo "$token" >"$NODE/credentials/firstboot.kubernetes.token"
echo "$verdict" >"$A/verdict-token"; echo "$verdict" >"$NODE/credentials/firstboot.kubernetes.verdict_token"
export CREDENTIALS_DIRECTORY=$NODE/credentials
# Slow retries soon, too: on a busy machine the fast ones are over before there is room in /run again.
echo "{\"watch\":{\"calm\":\"500ms\",\"interval\":\"1s\",\"healthy\":\"1s\"},\"retry\":{\"slow\":\"3s\"},
        \"kubernetes\":{\"endpoint\":\"127.0.0.1:$port\",\"ca_hashes\":[\"$(pin cluster)\"],\"node_name\":\"n1\",\"give_up\":\"60s\"}}" >"$NODE/etc/firstboot/node.json"
echo "{\"check\":true,\"exec\":[\"$NODE/exec/probe\"]}" >"$NODE/etc/firstboot/steps.d/probe.json"
cat >"$NODE/exec/probe" <<'K'
#!/bin/bash
[[ -e $FIRSTBOOT_ROOT/bad ]] || exit 0
echo '{"status":"failed","code":"probe.bad","message":"it is bad"}' >"$FIRSTBOOT_RESULT"; exit 1
K
cp "$TOP/firstboot/steps/kubernetes/kubernetes.json" "$NODE/usr/lib/firstboot/steps.d/"
printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH exec %s/firstboot-step kubernetes >>$FIRSTBOOT_ROOT/agent.log 2>&1\n' "$node_build" >"$NODE/exec/kubernetes"
printf '#!/bin/bash\nPATH=$FIRSTBOOT_ROOT/bin:$PATH %s check --$1 --probes --json >$FIRSTBOOT_ROOT/run/firstboot/check/$1.json; [ $? -le 1 ]\n' "$ctl" >"$NODE/exec/firstboot-check"
printf '#!/bin/bash\n[[ ${1:-} != stop ]] || exit 0\nPATH=$FIRSTBOOT_ROOT/bin:$PATH exec %s/firstboot-step --hold kubernetes >>$FIRSTBOOT_ROOT/agent.log 2>&1\n' "$node_build" \
        >"$NODE/exec/firstboot-hold@kubernetes.service"
chmod +x "$NODE"/exec/*
ln -sf "$ctl" "$NODE/usr/bin/firstbootctl"
touch "$NODE/bad"
rm "$NODE/run/firstboot/status.json"
small_run=
mount -t tmpfs -o size=512k,nr_inodes=160 none "$NODE/run/firstboot" 2>/dev/null && small_run=1
node_boot
check "a node with a fault does not join" node_wait failed
check "its step waits for the others" is 'o["step"]["kubernetes"]["result"]["code"]' step.requirement
check "neither kubeadm nor kubelet has run" test ! -e "$NODE/tools"
rm "$NODE/bad"
"$ctl" rerun probe >/dev/null 2>&1
check "once the others are good it joins" node_wait ready
check "by kubeadm" called "^kubeadm join"
check "and the cluster has the verdict" node 'c["GPUNodeReady"]["status"]' True
check "the token is masked in the configuration" bash -c 'out=$("$1" config); grep -q "\*\*\*" <<<"$out" && ! grep -q "$2" <<<"$out"' - "$ctl" "$secret"
check "and in no status, state or log" bash -c '! grep -rqs "$2" "$1"/agent.log "$1"/run/firstboot/status.json "$1"/run/firstboot/results "$1"/var/lib/firstboot "$1"/calls "$1"/tools' - "$NODE" "$secret"
properties() { for o in $(busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" tree --list org.imgbuild.FirstBoot1); do busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" introspect org.imgbuild.FirstBoot1 "$o"; done; }
check "nor on the bus" bash -c 'grep -q kubernetes <<<"$1" && ! grep -q "$2" <<<"$1"' - "$(properties)" "$secret"
: >"$NODE/tools"
touch "$NODE/bad"
check "what goes wrong later ends ready" node_wait failed
check "and holds the node back, without register_on_failure" until_ node '(c["GPUNodeReady"]["reason"], s.get("unschedulable"))' "('probe.bad', True)"
check "kubelet and its pods are left alone" never "kubelet" "$NODE/tools"
rm "$NODE/bad"
check "well again for long enough it is ready" node_wait ready
check "and in service" until_ node '(c["GPUNodeReady"]["status"], "unschedulable" in s)' "('True', False)"
touch "$NODE/bad"
"$ctl" rerun probe >/dev/null 2>&1
check "a step that fails later, too, holds the node back" until_ node '(c["GPUNodeReady"]["reason"], s.get("unschedulable"))' "('probe.bad', True)"

# A configuration that became wrong on a node in service.
rm "$NODE/bad"
"$ctl" rerun --wait probe >/dev/null 2>&1
node_wait ready
: >"$NODE/tools"
echo '{"mounst":[]}' >"$NODE/etc/firstboot/conf.d/70-wrong.json"
"$ctl" rerun --wait config >/dev/null 2>&1
check "a configuration that became wrong: the node is not ready" node_wait failed
check "the cluster has the code" until_ node '(c["GPUNodeReady"]["status"], c["GPUNodeReady"]["reason"], s.get("unschedulable"))' "('False', 'config.invalid', True)"
check "kubelet is left alone" never "kubelet" "$NODE/tools"
rm "$NODE/etc/firstboot/conf.d/70-wrong.json"
"$ctl" rerun --wait config >/dev/null 2>&1
check "right again it is ready" node_wait ready
check "and in service" until_ node '(c["GPUNodeReady"]["status"], "unschedulable" in s)' "('True', False)"

# /run full, of what container runtimes keep there.
rm "$NODE/bad"
"$ctl" rerun --wait probe >/dev/null 2>&1
node_wait ready
[[ -n $small_run ]] || echo "skip - /run full: nothing can be mounted here"
for what in ${small_run:+blocks inodes thief}; do
        : >"$NODE/tools"
        run_crowd "$what"
        check "/run full ($what): the cluster has the code" until_ node '(c["GPUNodeReady"]["status"], c["GPUNodeReady"]["reason"], s.get("unschedulable"))' "('False', 'run.not-writable', True)"
        check "… and what is full" node '"/run/firstboot: No space left" in c["GPUNodeReady"]["message"]' True
        check "… the taint, too" until_ node "$taints" "[('imgbuild.org/not-ready', 'run.not-writable', 'NoSchedule')]"
        check "… kubelet and its pods are left alone" never "kubelet" "$NODE/tools"
        run_room
        check "… with room again it is ready" node_wait ready
        check "… and in service" until_ node '(c["GPUNodeReady"]["status"], "unschedulable" in s, s.get("taints", []))' "('True', False, [])"
done
node_down
[[ -z $small_run ]] || umount "$NODE/run/firstboot"
exit ${failed:+1}
