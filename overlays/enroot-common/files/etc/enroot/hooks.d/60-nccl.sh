#!/bin/bash
# What this machine says to NCCL holds in a container too: /etc/nccl.conf (ports, GID index, interface, as the agent found them) over the image's own,
# and the files it names. NCCL looks for a topology in the last of these folders unasked.
set -euo pipefail

files=(/etc/nccl.conf)
while IFS='= ' read -r key file _; do
        case $key in
        NCCL_TOPO_FILE | NCCL_GRAPH_FILE | NCCL_TUNER_CONFIG_FILE) files+=("$file") ;;
        esac
done < <(cat /etc/nccl.conf 2>/dev/null)

for file in "${files[@]}"; do
        # As one word of an fstab, and never one above the container's root.
        [[ $file =~ ^(/[A-Za-z0-9_+@:-][A-Za-z0-9._+@:-]*)+$ && -f $file ]] || continue
        echo "$file $file none x-create=file,bind,ro,nosuid,nodev,noexec,private"
done | enroot-mount --root "${ENROOT_ROOTFS}" -

if [[ -d /run/nvidia-topologyd ]]; then
        echo "/run/nvidia-topologyd /var/run/nvidia-topologyd none x-create=dir,bind,ro,nosuid,nodev,noexec,private" | enroot-mount --root "${ENROOT_ROOTFS}" -
fi
