#!/bin/sh
# Slurm's plugin and the library that it opens by name fit each other, and slurm.conf's snippet names a kind that is here.
set -eu
kind=$(sed -n 's/^MpiDefault=//p' /etc/hpc-head/slurm.conf.d/30-pmix.conf)
plugin=$(find /usr/lib /usr/lib64 -path "*/slurm*/mpi_$kind.so" | head -n 1)
if [ -z "$plugin" ]; then
        echo "MpiDefault=$kind, and Slurm here has no such plugin: every srun would fail"
        exit 1
fi
if ! ldconfig -p | grep -q 'libpmix\.so\.2 '; then
        echo "Slurm's $plugin opens libpmix.so.2, which is not here: every srun would fail; install libpmix2t64 (Debian) or pmix (EL)"
        exit 1
fi
