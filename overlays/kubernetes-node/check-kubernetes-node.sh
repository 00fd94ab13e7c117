#!/bin/sh
# kubelet, kubeadm and kubectl are of one version and wait for the agent, containerd is set up as kubeadm wants it, and nobody's secret is in
# the image.
set -eu
fail() { echo "$1"; exit 1; }

kubelet=$(kubelet --version) || fail "kubelet does not run"
kubelet=${kubelet##* }
kubeadm=$(kubeadm version -o short) || fail "kubeadm does not run"
[ "$kubelet" = "$kubeadm" ] || fail "kubelet is $kubelet and kubeadm $kubeadm: kubeadm joins a kubelet of its own version"
kubectl version --client 2>/dev/null | grep -qF "${kubelet%.*}." || fail "kubectl is not of kubelet's minor version, $kubelet"
crictl --version >/dev/null || fail "crictl does not run"
for program in conntrack ethtool iptables mount socat tc; do
        command -v "$program" >/dev/null || fail "$program is missing: kubeadm's preflight asks for it"
done

state=$(systemctl is-enabled kubelet.service 2>/dev/null) || true
[ "$state" = disabled ] || fail "kubelet.service is $state: the agent starts it once the node is ready"
state=$(systemctl is-enabled swap.target 2>/dev/null) || true
[ "$state" = masked ] || fail "swap.target is $state: kubelet does not start where there is swap"
! grep -qE '^[^#]+[[:space:]]swap[[:space:]]' /etc/fstab || fail "/etc/fstab has swap"

# What kubelet's pods stand on; a package of the kernel's may have it that an image does not.
for modules in /lib/modules/*/modules.dep; do
        [ -e "$modules" ] || continue
        kernel=$(basename "$(dirname "$modules")")
        for module in $(grep -v '^#' /etc/modules-load.d/kubernetes.conf) nf_conntrack veth; do
                modinfo --set-version "$kernel" "$module" >/dev/null 2>&1 || fail "kernel $kernel has no module $module: kernel-modules has it on Enterprise Linux"
        done
done

dump=$(containerd config dump 2>&1) || fail "/etc/containerd/config.toml: $dump"
says() { printf '%s\n' "$dump" | grep -qE "^ *$1\$"; }
! says 'disabled_plugins = .*cri.*' || fail "/etc/containerd/config.toml switches the CRI plugin off, by which kubelet talks to containerd"
says 'SystemdCgroup = true' || fail "containerd's cgroups are not systemd's: /etc/containerd/conf.d/20-kubernetes.toml is not imported"
! says 'SystemdCgroup = false' || fail "one of containerd's runtimes does not use systemd's cgroups"
says 'enable_cdi = true' || fail "containerd does not know CDI devices"
# Of containerd 1.7 and 2: sandbox_image = "…" is sandbox = '…' there, bin_dir a list bin_dirs.
pause=$(printf '%s\n' "$dump" | sed -nE "s/^ *sandbox(_image)? = [\"'](.*)[\"']\$/\\2/p")
case $pause in
        */pause:[0-9]* | */pause@sha256:*) ;;
        *) fail "containerd's pause image is '$pause', of no certain version" ;;
esac
if command -v nvidia-container-runtime >/dev/null; then
        says "BinaryName = [\"']/usr/bin/nvidia-container-runtime[\"']" || fail "the container toolkit is there, and containerd has no runtime nvidia"
fi
plugins=$(printf '%s\n' "$dump" | sed -nE "s/^ *bin_dirs? = \[?[\"']([^\"']+)[\"'].*/\\1/p" | grep -m 1 cni || true)
for plugin in loopback host-local host-device portmap; do
        [ -x "$plugins/$plugin" ] || fail "$plugins/$plugin is missing: package kubernetes-cni or containernetworking-plugins has it"
done
for archive in /usr/share/kubernetes/images/*.tar*; do
        [ -e "$archive" ] || continue
        tar -tf "$archive" >/dev/null || fail "$archive is no image archive"
done

# A bootstrap token, in a text that goes with the image to every node and into the store. A program has words that only look like one.
for folder in /etc/kubernetes /etc/firstboot /etc/default /etc/sysconfig /etc/cni /usr/share/kubernetes /root; do
        [ -d "$folder" ] || continue
        found=$(grep -rIlE '(^|[^a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}([^a-z0-9]|$)' "$folder" | head -n 1)
        [ -z "$found" ] || fail "$found: a bootstrap token is in the image: give it to the node as the credential firstboot.kubernetes.token"
done
for path in /etc/kubernetes/*.conf /etc/kubernetes/pki/* /var/lib/kubelet/pki/* /var/lib/kubelet/config.yaml; do
        [ ! -e "$path" ] || fail "$path is in the image: it belongs to one node of one cluster"
done
