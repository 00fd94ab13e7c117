#!/bin/bash
# The checks of the overlays kubernetes-node, kubernetes-rdma and rdma-exclusive find what they are for: their own scripts and files in a small
# tree, with doubles of the vendor's programs, of containerd and of what shows a kernel's modules. systemctl and modprobe are the machine's.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
command -v bwrap >/dev/null || { echo "skip - the checks of a Kubernetes node: bwrap is missing"; exit 77; }
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
tests/fixtures/vendor/describe "$W/vendor" kubelet kubeadm kubectl cri-tools kubernetes-cni

# A program of the tree: $1, its lines on standard input.
program() { { echo '#!/bin/sh'; cat; } >"$W/tree/bin/$1"; chmod +x "$W/tree/bin/$1"; }
fresh() {
        local o
        rm -rf "$W/tree"
        mkdir -p "$W/tree"/{bin,etc/{systemd/system,default,containerd},opt,root,share,boot,modules/6.12.0-amd64,var}
        for o in kubernetes-node kubernetes-rdma rdma-exclusive; do
                cp -r "overlays/$o/files/etc/." "$W/tree/etc/"
                [[ ! -d overlays/$o/files/usr/share ]] || cp -r "overlays/$o/files/usr/share/." "$W/tree/share/"
        done
        cp -r "$W"/vendor/*/files/opt/. "$W/tree/opt/"
        cp "$W"/vendor/*/files/usr/bin/* "$W/tree/bin/"
        cp "$W/vendor/kubelet/files/usr/lib/systemd/system/kubelet.service" overlays/kubernetes-node/files/usr/lib/systemd/system/* "$W/tree/etc/systemd/system/"
        ln -s /dev/null "$W/tree/etc/systemd/system/swap.target"
        echo 'LABEL=root / ext4 defaults 0 1' >"$W/tree/etc/fstab"
        for o in conntrack ethtool iptables socat tc rdma; do program "$o" <<<:; done
        # As containerd merges: an imported section takes the place of one of that name.
        program containerd <<'P'
[ "$*" = "config dump" ] || exit 1
grep -qF 'imports = ["/etc/containerd/conf.d/*.toml"]' /etc/containerd/config.toml && exec cat /etc/containerd/conf.d/*.toml
cat /etc/containerd/config.toml
P
        program modinfo <<'P'
[ ! -e /boot/no-ib-core ] || exit 1
case "$*" in
        *--parameters*) [ -e /boot/old ] || echo 'netns_mode:Share device among net namespaces (bool)' ;;
        *) echo /lib/modules/6.12.0-amd64/kernel/drivers/infiniband/core/ib_core.ko.xz ;;
esac
P
        program lsinitramfs <<<'cat "$1"'
        printf 'etc\netc/modprobe.d\netc/modprobe.d/ib_core.conf\n' >"$W/tree/boot/initrd.img-6.12.0-amd64"
        inside kubernetes-node/containerd-config.sh || return 1
}
inside() { # OVERLAY/SCRIPT
        bwrap --ro-bind /usr/bin /usr/bin --ro-bind /usr/sbin /usr/sbin --ro-bind /usr/lib /usr/lib --ro-bind-try /usr/lib64 /usr/lib64 \
                --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev --proc /proc --tmpfs /tmp \
                --bind "$W/tree/etc" /etc --bind "$W/tree/opt" /opt --bind "$W/tree/root" /root --bind "$W/tree/share" /usr/share --bind "$W/tree/boot" /boot \
                --bind "$W/tree/var" /var --ro-bind "$W/tree/bin" /bin-of-tree --bind "$W/tree/modules" /lib/modules --ro-bind overlays /overlays \
                --setenv PATH /bin-of-tree:/usr/sbin:/usr/bin --setenv SYSTEMD_OFFLINE 1 "/overlays/$1" >"$W/out" 2>&1
}
passes() { inside "$2"; local s=$?; [[ $s -eq 0 ]] || sed 's/^/# /' "$W/out"; check "$1" $s; }
finds() { # NAME SCRIPT TEXT
        inside "$2"
        local s=$?
        [[ $s -ne 0 ]] && grep -qF -- "$3" "$W/out"
        local found=$?
        [[ $found -eq 0 ]] || { echo "# exit code $s"; sed 's/^/# /' "$W/out"; }
        check "$1" $found
        fresh
}

node=kubernetes-node/check-kubernetes-node.sh rdma=kubernetes-rdma/check-kubernetes-rdma.sh exclusive=rdma-exclusive/check-rdma-exclusive.sh
fresh
check "containerd's configuration is made" $?
passes "a node as it should be" $node
passes "its manifests" $rdma
passes "ib_core's option" $exclusive
! grep -q nvidia "$W/tree/etc/containerd/conf.d/20-kubernetes.toml"
check "without the container toolkit containerd has no runtime of that name" $?

# containerd's configuration, where the container toolkit has one.
cp overlays/container-toolkit-common/files/etc/containerd/config.toml "$W/tree/etc/containerd/"
cp -r overlays/kubernetes-node/files/etc/containerd/conf.d "$W/tree/etc/containerd/"
program nvidia-container-runtime <<<:
inside kubernetes-node/containerd-config.sh && inside kubernetes-node/containerd-config.sh && [[ $(grep -c '^imports' "$W/tree/etc/containerd/config.toml") -eq 1 ]]
check "one that is there already imports ours, once" $?
passes "with NVIDIA's runtime" $node
sed -i '/begin nvidia/,/end nvidia/d' "$W/tree/etc/containerd/conf.d/20-kubernetes.toml"
finds "which is missed" $node 'no runtime nvidia'
echo 'imports = ["/etc/elsewhere/*.toml"]' >"$W/tree/etc/containerd/config.toml"
finds "imports of somebody else's are not written over" kubernetes-node/containerd-config.sh 'has imports of its own'

# containerd 2 (Enterprise Linux') makes its own version of the same files: what of 2.1.9's "config dump" of them counts here.
containerd_2() {
        program containerd <<'P'
cat <<'D'
version = 3
disabled_plugins = []

[plugins]
  [plugins.'io.containerd.cri.v1.images']
    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'registry.k8s.io/pause:3.10'

  [plugins.'io.containerd.cri.v1.runtime']
    enable_cdi = true
    cdi_spec_dirs = ['/etc/cdi', '/run/cdi']

        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
          sandboxer = ""
          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
            BinaryName = '/usr/bin/nvidia-container-runtime'
            SystemdCgroup = true

          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
            SystemdCgroup = true

    [plugins.'io.containerd.cri.v1.runtime'.cni]
      bin_dir = ""
      bin_dirs = ['/opt/cni/bin']
      conf_dir = '/etc/cni/net.d'

  [plugins.'io.containerd.image-verifier.v1.bindir']
    bin_dir = '/opt/containerd/image-verifier/bin'
D
P
        sed -i "s/= \"\"/= ''/" "$W/tree/bin/containerd"
}
containerd_2
program nvidia-container-runtime <<<:
passes "the same of containerd 2" $node
sed -i 's,pause:3.10,pause:latest,' "$W/tree/bin/containerd"
finds "a pause image of no certain version, of containerd 2" $node 'of no certain version'
containerd_2; sed -i '/BinaryName = .\/usr/d' "$W/tree/bin/containerd"; program nvidia-container-runtime <<<:
finds "NVIDIA's runtime that is missed, of containerd 2" $node 'no runtime nvidia'
containerd_2; rm "$W/tree/opt/cni/bin/host-device"
finds "a network plugin that is missing, of containerd 2" $node '/opt/cni/bin/host-device is missing'
# The unit that gives it images asks for the same name.
containerd_2
program ctr <<'P'
case "$*" in *ls*) echo registry.k8s.io/pause:3.10 ;; *) echo "$*" ;; esac
P
sed 's,>/dev/null,,' overlays/kubernetes-node/files/usr/lib/kubernetes/load-images >"$W/load-images"
PATH=$W/tree/bin:$PATH sh "$W/load-images" "$W/none" >"$W/out" 2>&1 && grep -q 'images label registry.k8s.io/pause:3.10 io.cri-containerd.pinned=pinned' "$W/out"
check "the pause image of containerd 2 is pinned" $?
fresh

# A module that the kernel's main package has not.
touch "$W/tree/modules/6.12.0-amd64/modules.dep"
passes "a kernel with the modules of pods" $node
touch "$W/tree/modules/6.12.0-amd64/modules.dep"
program modinfo <<'P'
case "$*" in *br_netfilter) exit 1 ;; esac
P
finds "a kernel without one of them" $node 'kernel 6.12.0-amd64 has no module br_netfilter: kernel-modules has it'

program kubeadm <<<'echo v1.34.0'
finds "a kubeadm of another version" $node 'kubelet is v1.33.5 and kubeadm v1.34.0'
program kubectl <<<'echo "Client Version: v1.31.0"'
finds "a kubectl of another minor version" $node "kubectl is not of kubelet's minor version"
program socat <<<:; rm "$W/tree/bin/socat"
if [[ -e /usr/bin/socat ]]; then fresh; else finds "a program that kubeadm's preflight asks for" $node 'socat is missing'; fi
mkdir "$W/tree/etc/systemd/system/multi-user.target.wants"; ln -s ../kubelet.service "$W/tree/etc/systemd/system/multi-user.target.wants/"
finds "a kubelet that starts by itself" $node 'kubelet.service is enabled'
rm "$W/tree/etc/systemd/system/swap.target"; printf '[Unit]\nDescription=Swap\n' >"$W/tree/etc/systemd/system/swap.target"
finds "swap that may be switched on" $node 'swap.target is static'
echo '/dev/vda3 none swap sw 0 0' >>"$W/tree/etc/fstab"
finds "swap in fstab" $node '/etc/fstab has swap'
sed -i 's/SystemdCgroup = true/SystemdCgroup = false/' "$W/tree/etc/containerd/conf.d/20-kubernetes.toml"
finds "cgroups that are not systemd's" $node "cgroups are not systemd's"
echo 'version = 2' >"$W/tree/etc/containerd/config.toml"
finds "a configuration that was replaced" $node 'is not imported'
sed -i '1i disabled_plugins = ["io.containerd.grpc.v1.cri"]' "$W/tree/etc/containerd/conf.d/20-kubernetes.toml"
finds "a containerd without CRI" $node 'switches the CRI plugin off'
sed -i 's|pause:3.10|pause:latest|' "$W/tree/etc/containerd/conf.d/20-kubernetes.toml"
finds "a pause image of no certain version" $node 'of no certain version'
rm "$W/tree/opt/cni/bin/host-device"
finds "a network plugin that is missing" $node '/opt/cni/bin/host-device is missing'
echo nonsense >"$W/tree/share/kubernetes/images/pause.tar"
finds "an image archive that is none" $node 'pause.tar is no image archive'
mkdir -p "$W/tree/etc/firstboot/conf.d"; echo '{"kubernetes":{"token":"abcdef.0123456789abcdef"}}' >"$W/tree/etc/firstboot/conf.d/10-site.json"
finds "a bootstrap token" $node 'a bootstrap token is in the image'
mkdir -p "$W/tree/root/.kube"; echo 'kubeadm join --token abcdef.0123456789abcdef' >"$W/tree/root/.bash_history"
finds "one in a shell's history" $node 'a bootstrap token is in the image'
printf 'of abcdef.0123456789abcdef in a program' >"$W/word"; tar -C "$W" -cf "$W/tree/share/kubernetes/images/program.tar" word
passes "an image archive with a program, in which a word looks like a token" $node
rm "$W/tree/share/kubernetes/images/program.tar"
mkdir -p "$W/tree/etc/kubernetes"; : >"$W/tree/etc/kubernetes/kubelet.conf"
finds "another node's kubeconfig" $node 'it belongs to one node of one cluster'

sed -i 's|multus-cni:v[0-9.]*|multus-cni:latest|' "$W/tree/share/kubernetes/multus.yaml"
finds "a manifest with an image of tomorrow" $rdma 'another one tomorrow'
sed -i 's|rdma-cni:v[0-9.]*|rdma-cni|' "$W/tree/share/kubernetes/rdma-cni.yaml"
finds "or of no version" $rdma 'without a version'
rm "$W/tree/etc/systemd/system/containerd.service.d/10-rdma.conf"; : >"$W/tree/etc/systemd/system/containerd.service.d/10-rdma.conf"
finds "containers that may not lock memory" $rdma 'may not lock'
program nvidia-smi <<<:
finds "a driver without the container toolkit" $rdma 'take overlay container-toolkit'

: >"$W/tree/etc/modprobe.d/ib_core.conf"
finds "ib_core without the option" $exclusive 'does not set netns_mode=0'
echo 'options ib_core netns_mode=1' >"$W/tree/etc/modprobe.d/zz.conf"
finds "two that differ" $exclusive 'two files'
echo etc >"$W/tree/boot/initrd.img-6.12.0-amd64"
finds "an initramfs without it" $exclusive 'was made without'
# dracut's, whose program shows it as ls does.
dracuts() { rm "$W/tree/boot/initrd.img-6.12.0-amd64"; printf '%s root root 180 Jan  1  1970 %s\n' -rw-r--r-- "$1" >"$W/tree/boot/initramfs-6.12.0-amd64.img"; }
dracuts etc/modprobe.d/ib_core.conf
passes "an initramfs of dracut's with it" $exclusive
fresh
dracuts etc/modprobe.d/other.conf
finds "one without" $exclusive 'initramfs-6.12.0-amd64.img was made without'
: >"$W/tree/boot/no-ib-core"
finds "a kernel without ib_core" $exclusive 'no kernel of the image has ib_core'
: >"$W/tree/boot/old"
finds "an ib_core that does not know it" $exclusive 'does not know netns_mode'

# What is read as YAML, and what a manifest may not have.
python3 - overlays/kubernetes-rdma/files/usr/share/kubernetes <<'P'
import glob, json, sys
try:
    import yaml
except ImportError:
    print("# no python3-yaml")
    sys.exit(0)
for path in glob.glob(sys.argv[1] + "/*.yaml"):
    for o in yaml.safe_load_all(open(path)):
        assert isinstance(o, dict), path
        if o.get("kind") == "NetworkAttachmentDefinition":
            json.loads(o["spec"]["config"])
        if o.get("kind") == "DaemonSet":
            assert o["spec"]["selector"]["matchLabels"].items() <= o["spec"]["template"]["metadata"]["labels"].items(), path
P
check "manifests are read, and each set selects its own pods" $?
exit $rc
