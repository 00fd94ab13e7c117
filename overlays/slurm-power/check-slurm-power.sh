#!/bin/sh
# What slurm.conf will name is there, and so is the site's program, which user slurm runs: else a node would be taken for stopped that is not.
set -eu
fail() { echo "$1"; exit 1; }
for key in SuspendProgram ResumeProgram ResumeFailProgram; do
        program=$(sed -n "s/^$key=//p" /etc/hpc-head/slurm.conf.d/45-slurm-power.conf)
        [ -n "$program" ] || fail "slurm.conf will have no $key"
        [ -x "$program" ] || fail "$key is $program, which is not there or cannot be run"
done
machine=/etc/slurm-power/machine
[ -e "$machine" ] || fail "there is no $machine: an overlay of yours brings it; it is called with start or stop, and a node's name"
[ "$(stat -L -c '%u %A' "$machine" | cut -c 1-12)" = '0 -rwxr-xr-x' ] || fail "$machine is to be root's, mode 0755: slurmctld's user slurm runs it"
