#!/bin/bash
# A Kubernetes node's overlays from a local server: the vendor's signed repository with doubles of its packages (tests/fixtures/vendor), all
# else is real, containerd too. Proves fetching, pinning, configuration, the checks, and that images which came with the disk are
# given to containerd. And that ib_core is told of the network namespaces in the initramfs of a real kernel.
#
# lane: compute
# after: e2e/11
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
FIXTURES=$TOP/tests/fixtures
recipe=$E2E/project/images/kubernetes.json
out=$E2E/out
imgbuild() { "$IMGBUILD" "$1" "$recipe" --cache "$CACHE" --progress plain "${@:2}" >"$out" 2>&1; }
says() { grep -qE -- "$1" "$out"; }
report() { check "$1" "$2"; [[ $2 -eq 0 ]] || tail -n 15 "$out" | sed 's/^/# /'; }

if [[ -z ${HEAD_INSIDE:-} ]]; then
        own_project
        T=$(mktemp -d)
        mkdir "$T/site"
        python3 "$FIXTURES/httpd" "$T/site" "$T/port" "$T/requests" &
        server=$!
        trap 'kill $server 2>/dev/null; rm -rf "$T"' EXIT
        for _ in $(seq 2400); do [[ -e $T/port ]] && break; sleep 0.05; done
        url=http://127.0.0.1:$(cat "$T/port")
        export no_proxy=127.0.0.1 IMGBUILD_FETCH_BACKOFF_MS=20
        "$FIXTURES/vendor/describe" "$T/vendor" kubelet kubeadm kubectl cri-tools kubernetes-cni
        "$FIXTURES/make-apt-repo" --flat --origin=vendor --label=vendor --gnupg="$T/key" "$T/vendor" "$T/site/deb" >/dev/null
        cp "$T/key/key.asc" "$T/site/deb/Release.key"

        # The same overlays, another address and key; without a kernel, whose module the other one checks.
        node=$PROJECT/overlays/kubernetes-node
        redirect() { # FINGERPRINT
                sed "s|https://pkgs.k8s.io/core:/stable:/v1.33|$url|; s|DE15 B144 86CD 377B 9E87 6E1A 2346 54DA 9A29 6436|$1|" \
                        "$TOP/overlays/kubernetes-node/overlay.json" >"$node/overlay.json"
        }
        sed -i 's/, "rdma-exclusive"/, "rdma"/' "$PROJECT/overlays/kubernetes-rdma/overlay.json"
        cat >"$recipe" <<'R'
{ "name": "kubernetes", "kind": "tree", "base": { "distro": "debian", "release": "trixie" }, "overlays": ["kubernetes-rdma"], "packages": ["systemd"] }
R
        redirect "0000 1111 2222 3333 4444 5555 6666 7777 8888 9999"
        imgbuild lock
        [[ $? -ne 0 && ! -e ${recipe%.json}.lock.json ]] && says 00001111222233334444
        report "a key with another fingerprint is refused" $?
        redirect "$(cat "$T/key/fingerprint")"
        imgbuild lock
        report "the node's packages are locked" $?
        python3 - "${recipe%.json}.lock.json" "$T/site/deb" <<'P' >>"$out" 2>&1
import hashlib, json, sys
lock, site = json.load(open(sys.argv[1])), sys.argv[2]
packages = {p["name"]: p for s in lock["stages"] for p in s["packages"]}
for name, version in (("kubelet", "1.33.5-1.1"), ("kubeadm", "1.33.5-1.1"), ("kubectl", "1.33.5-1.1"), ("kubernetes-cni", "1.6.0-1.1")):
    p = packages[name]
    assert p["version"] == version and p["origin"] == "kubernetes", p
    assert p["sha256"] == hashlib.sha256(open(f"{site}/{name}_{version}_amd64.deb", "rb").read()).hexdigest(), p
assert packages["containerd"]["origin"].startswith("debian"), packages["containerd"]
P
        report "kubelet, kubeadm and kubectl are pinned by digest; containerd is Debian's" $?
        imgbuild check
        report "the tree is made, and passes every check" $?
        [[ $? -eq 0 ]] || exit 1

        # What each check is for.
        mkdir -p "$node/files/etc/kubernetes"
        echo 'token: abcdef.0123456789abcdef' >"$node/files/etc/kubernetes/join.yaml"
        ! imgbuild check && says '/etc/kubernetes/join.yaml' && says 'bootstrap token is in the image'
        report "a bootstrap token in the image ends the build" $?
        rm -r "$node/files/etc/kubernetes"
        sed -i 's/"enable": \["kubernetes-images.service"\]/"enable": ["kubernetes-images.service", "kubelet.service"]/; s/"disable": \["kubelet.service"\],//' "$node/overlay.json"
        ! imgbuild check && says 'kubelet.service is enabled'
        report "so does a kubelet that starts by itself" $?
        redirect "$(cat "$T/key/fingerprint")"
        sed -i 's/SystemdCgroup = true/SystemdCgroup = false/' "$node/files/etc/containerd/conf.d/20-kubernetes.toml"
        ! imgbuild check && says "systemd's"
        report "so do containers in cgroups that are not systemd's" $?
        cp "$TOP/overlays/kubernetes-node/files/etc/containerd/conf.d/20-kubernetes.toml" "$node/files/etc/containerd/conf.d/"
        printf '#!/bin/sh\necho v1.34.0\n' >"$node/files/usr/lib/kubernetes/kubeadm"
        mkdir -p "$node/files/usr/bin" && mv "$node/files/usr/lib/kubernetes/kubeadm" "$node/files/usr/bin/" && chmod +x "$node/files/usr/bin/kubeadm"
        ! imgbuild check && says 'kubelet is v1.33.5 and kubeadm v1.34.0'
        report "so does a kubeadm of another version" $?
        rm -r "$node/files/usr/bin"

        # ib_core's option is in the initramfs of the full kernel.
        if [[ -e $RECIPES/debian-13-gpu.lock.json ]]; then
                tree=$recipe recipe=$E2E/project/images/exclusive.json
                echo '{ "name": "exclusive", "extends": "debian-13-gpu", "overlays": ["rdma-exclusive"] }' >"$recipe"
                imgbuild lock && imgbuild check
                report "ib_core of Debian's kernel knows netns_mode, and its initramfs sets it" $?
                sed -i 's/netns_mode=0/netns_mode=1/' "$PROJECT/overlays/rdma-exclusive/files/etc/modprobe.d/ib_core.conf"
                ! imgbuild check && says 'does not set netns_mode=0'
                report "another value ends the build" $?
                recipe=$tree
        else
                echo "skip - ib_core's option in an initramfs: debian-13-gpu was not made"
        fi
        imgbuild check
        report "the tree is the right one again" $?
        kill $server
        rm -rf "$T"
        trap - EXIT
fi
PROJECT=$E2E/project RECIPES=$E2E/project/images
head_enter "$@"
trap 'head_stop containerd node' EXIT
layers=$(head_layers "$recipe")
mkdir -p "$HEAD/pid"
machine_new node && waits on node test -e /run/up
check "the tree runs as a machine" $?
[[ $(on node systemctl is-enabled kubelet.service kubernetes-images.service containerd.service 2>/dev/null | xargs) == "disabled enabled enabled" ]]
check "containerd and its images start at boot, kubelet does not" $?
on node systemd-analyze verify kubernetes-images.service >"$out" 2>&1
report "systemd finds nothing wrong with the unit" $?

# A pause image as skopeo and docker save it, and a broken archive beside it.
python3 - "$HEAD/node/root/usr/share/kubernetes/images" <<'P'
import gzip, hashlib, io, json, sys, tarfile
def tar(files):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w") as t:
        for name, data in files:
            i = tarfile.TarInfo(name); i.size = len(data); t.addfile(i, io.BytesIO(data))
    return b.getvalue()
layer = tar([("pause", b"nothing to run")])
config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]},
                     "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
name = hashlib.sha256(config).hexdigest()
manifest = json.dumps([{"Config": name + ".json", "RepoTags": ["registry.k8s.io/pause:3.10"], "Layers": ["layer.tar"]}]).encode()
archive = tar([(name + ".json", config), ("layer.tar", layer), ("manifest.json", manifest)])
open(sys.argv[1] + "/pause.tar", "wb").write(archive)
open(sys.argv[1] + "/packed.tar.gz", "wb").write(gzip.compress(archive.replace(b"registry.k8s.io/pause:3.10", b"registry.k8s.io/other:3.10")))
open(sys.argv[1] + "/a-broken.tar", "wb").write(b"no archive")
P
mount -t tmpfs containerd "$HEAD/node/root/var/lib/containerd" 2>/dev/null
launch node containerd containerd
waits on node ctr version
check "containerd starts with this configuration" $?
on node /usr/lib/kubernetes/load-images >"$out" 2>&1
[[ $? -eq 1 ]] && says 'a-broken.tar could not be imported'
report "an archive that is broken is told of" $?
[[ $(on node ctr -n k8s.io images ls -q | grep -v '^sha256:' | sort | xargs) == "registry.k8s.io/other:3.10 registry.k8s.io/pause:3.10" ]]
report "the others are images of Kubernetes' namespace" $?
on node ctr -n k8s.io images ls | grep -F registry.k8s.io/pause:3.10 | grep -q 'io.cri-containerd.pinned=pinned'
report "the pause image is kept from garbage collection" $?
rm "$HEAD/node/root/usr/share/kubernetes/images/a-broken.tar"
on node /usr/lib/kubernetes/load-images >"$out" 2>&1
report "a second time changes nothing, and ends well" $?
exit $rc
