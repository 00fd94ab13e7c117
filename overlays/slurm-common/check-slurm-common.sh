#!/bin/sh
# One number for the user everywhere, and a folder that is there before any daemon starts.
set -eu
number=$(sed -n 's/^u slurm \([0-9]*\) .*/\1/p' /usr/lib/sysusers.d/slurm-common.conf)
has=$(sed -n 's/^slurm:[^:]*:\([0-9]*\):.*/\1/p' /etc/passwd)
if [ "${has:-none}" != "${number:?}" ]; then
        echo "user slurm has number ${has:-none}, not $number as on the cluster's other machines: a package or an overlay made it before slurm-common"
        exit 1
fi
[ -d /var/lib/slurm ] || { echo "there is no /var/lib/slurm: slurmd and slurmctld would not start"; exit 1; }
