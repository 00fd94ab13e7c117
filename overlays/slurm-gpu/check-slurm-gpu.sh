#!/bin/sh
# The plugins that Slurm's configuration will name are there: a head whose slurmctld cannot load one does not start.
set -eu
for plugin in "gpu_$(sed -n 's/^AutoDetect=//p' /etc/slurm/gres.conf)" "gres_$(sed -n 's/^GresTypes=//p' /etc/hpc-head/slurm.conf.d/40-slurm-gpu.conf)"; do
        if ! find /usr/lib /usr/lib64 -path "*/slurm*/$plugin.so" | grep -q .; then
                echo "Slurm's configuration names $plugin, and there is no such plugin in $(slurmctld -V): slurmctld and slurmd would not start. \
Slurm finds NVIDIA's GPUs by itself from 24.11 on, and before where it was compiled with NVML; EPEL's 22.05 does not: name a repository with another one"
                exit 1
        fi
done
