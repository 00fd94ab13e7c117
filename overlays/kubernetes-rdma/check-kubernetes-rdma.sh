#!/bin/sh
# What the manifests take for granted of a node.
set -eu
fail() { echo "$1"; exit 1; }
share=/usr/share/kubernetes
for image in $(sed -n 's/^ *image: *//p' "$share"/*.yaml); do
        case ${image##*/} in
                *:latest | *:snapshot) fail "$share names $image, which is another one tomorrow" ;;
                *:*) ;; # a tag, or @sha256: and a digest
                *) fail "$share names $image without a version" ;;
        esac
done
for plugin in host-device loopback; do
        [ -x "/opt/cni/bin/$plugin" ] || fail "/opt/cni/bin/$plugin is missing, and network-nic0.yaml names it"
done
grep -q '^LimitMEMLOCK=infinity$' /etc/systemd/system/containerd.service.d/10-rdma.conf || fail "pods may not lock what they register with an RDMA device"
if command -v nvidia-smi >/dev/null; then
        command -v nvidia-ctk >/dev/null || fail "there is a driver, and gpu-operator-values.yaml says that the container toolkit is the image's: take overlay container-toolkit, or container-toolkit-el"
fi
