#!/bin/sh
# The plugins that slurm.conf will name are there, job_container.conf is, and a job's container is made before the job (PrologFlags=Contain).
set -eu
fail() { echo "$1"; exit 1; }
plugins=$(find /usr/lib -type d -name slurm-wlm | head -n 1)
plugin=$(sed -n 's,^JobContainerType=\(.*\)/,\1_,p' /etc/hpc-head/slurm.conf.d/42-slurm-tmp.conf)
[ -n "$plugin" ] || fail "slurm.conf will have no JobContainerType"
[ -e "$plugins/$plugin.so" ] || fail "slurm.conf will name $plugin, and there is no such plugin here: slurmctld and slurmd would not start"
grep -q '^BasePath=/mnt/localdisk/' /etc/slurm/job_container.conf || fail "/etc/slurm/job_container.conf: BasePath is not on /mnt/localdisk"
grep -q '^PrologFlags=.*Contain' /usr/lib/hpc-head/new-cluster || fail "slurm.conf will have no PrologFlags=Contain, without which jobs have no container"
