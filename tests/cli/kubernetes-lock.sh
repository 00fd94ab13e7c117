#!/bin/bash
# The overlay kubernetes-node locked against a local copy of its vendor's repository: doubles of the packages, signed by a key of the test's own.
# Only address and fingerprint are other ones.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
for p in containerd runc containernetworking-plugins iptables conntrack ethtool socat kmod iproute2 mount util-linux; do package "$p" 2.0; done
publish trixie
cp -r "$TOP"/overlays/{containerd,kubernetes-node,service-labels} "$T/overlays/"
"$FIXTURES/vendor/describe" "$T/new" kubelet kubeadm kubectl cri-tools kubernetes-cni
repository kubernetes --flat >/dev/null
# NAME FINGERPRINT: of the key that the overlay asks for
redirect() {
        python3 - "$TOP/overlays/kubernetes-node/overlay.json" "$T/overlays/kubernetes-node/overlay.json" "$URL/kubernetes" "$1" <<'P'
import re, sys
of, to, url, fingerprint = sys.argv[1:]
text = open(of).read()
text, k = re.subn(r'https://pkgs\.k8s\.io/core:/stable:/v1\.[0-9]+/deb/Release\.key', url + ".asc", text)
text, n = re.subn(r'https://pkgs\.k8s\.io/core:/stable:/v1\.[0-9]+/deb(?=")', url, text)
text, f = re.subn(r'DE15 B144 86CD 377B 9E87 6E1A 2346 54DA 9A29 6436(?=")', fingerprint, text)
assert (n, k, f) == (1, 1, 2), (n, k, f) # that of EL is the same key
open(to, "w").write(text)
P
}
recipe r '"overlays": ["kubernetes-node"]'

redirect "0000 1111 2222 3333 4444 5555 6666 7777 8888 9999"
run lock "$T/images/r.json"
check "a key with another fingerprint is refused, both are named" bash -c "test $rc -ne 0 -a ! -e '$T/images/r.lock.json' && grep -q 00001111222233334444 '$T/out' && grep -q '$(cat "$T/key-kubernetes/fingerprint")' '$T/out'"
redirect "$(cat "$T/key-kubernetes/fingerprint")"
run lock "$T/images/r.json"
check "the node is locked" test $rc -eq 0
check "kubelet, kubeadm and kubectl are of one version" test "$(version kubelet) $(version kubeadm) $(version kubectl)" = "1.33.5-1.1 1.33.5-1.1 1.33.5-1.1"
check "what they depend on is the vendor's too" test "$(version kubernetes-cni) $(version cri-tools)" = "1.6.0-1.1 1.33.0-1.1"
check "containerd is the distribution's" test "$(version containerd)" = 2.0
check "by digest and origin" python3 - "$T/images/r.lock.json" "$SITE/kubernetes" <<'P'
import hashlib, json, sys
lock, site = json.load(open(sys.argv[1])), sys.argv[2]
packages = {p["name"]: p for s in lock["stages"] for p in s["packages"]}
for name in ("kubelet", "kubeadm", "kubectl", "cri-tools", "kubernetes-cni"):
    p = packages[name]
    assert p["origin"] == "kubernetes", p
    assert p["sha256"] == hashlib.sha256(open(f"{site}/{name}_{p['version']}_amd64.deb", "rb").read()).hexdigest(), p
P

# The vendor moves on: a kubeadm that no kubelet of the lock has.
cp "$T/images/r.lock.json" "$T/first"
"$FIXTURES/vendor/describe" "$T/new" kubelet kubeadm kubectl
sed -i 's/1\.33\.5/1.33.6/' "$T"/new/*/control
repository kubernetes --flat >/dev/null
run lock "$T/images/r.json"
check "a new release of the vendor's moves nothing" cmp "$T/images/r.lock.json" "$T/first"
run lock "$T/images/r.json" --update kubelet --update kubeadm --update kubectl
check "but when it is asked for" test "$rc $(version kubelet) $(version kubeadm)" = "0 1.33.6-1.1 1.33.6-1.1"
sed -i 's/^Origin: kubernetes/Origin: nobody/' "$SITE/kubernetes/InRelease"
rm "$T/images/r.lock.json"
run lock "$T/images/r.json"
check "an index whose signature is broken is refused" test $rc -ne 0 -a ! -e "$T/images/r.lock.json"
