#!/bin/sh
# The plugins that slurm.conf will name are there, job_container.conf is, and a job's container is made before the job (PrologFlags=Contain).
set -eu
fail() { echo "$1"; exit 1; }
plugin=$(sed -n 's,^JobContainerType=\(.*\)/,\1_,p' /etc/hpc-head/slurm.conf.d/42-slurm-tmp.conf)
[ -n "$plugin" ] || fail "slurm.conf will have no JobContainerType"
file=$(find /usr/lib /usr/lib64 -path "*/slurm*/$plugin.so" | head -n 1)
[ -n "$file" ] || fail "slurm.conf will name $plugin, and there is no such plugin here: slurmctld and slurmd would not start"
for key in $(sed -n 's/^\([A-Za-z]*\)=.*/\1/p' /etc/slurm/job_container.conf); do
        grep -q "$key" "$file" || fail "/etc/slurm/job_container.conf has $key, which $(slurmctld -V) does not know: slurmd would not start"
done
grep -q '^BasePath=/mnt/localdisk/' /etc/slurm/job_container.conf || fail "/etc/slurm/job_container.conf: BasePath is not on /mnt/localdisk"
grep -q '^PrologFlags=.*Contain' /usr/lib/hpc-head/new-cluster || fail "slurm.conf will have no PrologFlags=Contain, without which jobs have no container"
