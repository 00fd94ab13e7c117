#!/bin/sh
# The plugins that Slurm's configuration will name are there: a head whose slurmctld cannot load one does not start.
set -eu
plugins=$(find /usr/lib -type d -name slurm-wlm | head -n 1)
for plugin in "gpu_$(sed -n 's/^AutoDetect=//p' /etc/slurm/gres.conf)" "gres_$(sed -n 's/^GresTypes=//p' /etc/hpc-head/slurm.conf.d/40-slurm-gpu.conf)"; do
        if [ ! -e "$plugins/$plugin.so" ]; then
                echo "Slurm's configuration names $plugin, and there is no such plugin here: slurmctld and slurmd would not start"
                exit 1
        fi
done
