#!/bin/sh
# GPU and InfiniBand hooks come switched on; Slurm's PMI and PyTorch hooks lie beside.
set -eu
for hook in 98-nvidia 99-mellanox; do
        chmod 0755 "/etc/enroot/hooks.d/$hook.sh"
done
for hook in 50-slurm-pmi 50-slurm-pytorch; do
        ln -sf "../../../usr/share/enroot/hooks.d/$hook.sh" "/etc/enroot/hooks.d/$hook.sh"
done
