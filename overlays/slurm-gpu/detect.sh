#!/bin/sh
# A Slurm without gpu_nvidia (before 24.11) may have been compiled with NVML, which asks the same driver.
set -eu
has() { find /usr/lib /usr/lib64 -path "*/slurm*/$1.so" | grep -q .; }
if ! has gpu_nvidia && has gpu_nvml; then sed -i 's/^AutoDetect=nvidia$/AutoDetect=nvml/' /etc/slurm/gres.conf; fi
