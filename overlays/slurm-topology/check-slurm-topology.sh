#!/bin/sh
# The plugin that slurm.conf will name with the first topology.conf is here: without it slurmctld would not start again.
set -eu
plugin=$(sed -n "s,.*'TopologyPlugin=\(.*\)/\(.*\)'.*,\1_\2,p" /usr/lib/slurm-topology/topology)
[ -n "$plugin" ] || { echo "/usr/lib/slurm-topology/topology names no TopologyPlugin"; exit 1; }
[ -n "$(find /usr/lib /usr/lib64 -path "*/slurm*/$plugin.so")" ] || { echo "slurm.conf will name $plugin, and there is no such plugin here: slurmctld would not start"; exit 1; }
