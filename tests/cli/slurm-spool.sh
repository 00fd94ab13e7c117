#!/bin/bash
# What a node that lost its power forgets of Slurm's steps when it boots, by the overlay's own tmpfiles.d: else the step of a job that comes back
# under its number is not launched. soak/ml-machines pulls the plug.
set -u
command -v systemd-tmpfiles >/dev/null || { echo "systemd-tmpfiles is missing"; exit 77; }
rules=$TOP/overlays/slurm-node/files/usr/lib/tmpfiles.d/slurm-node.conf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
spool=$work/var/lib/slurm/slurmd
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
mkdir -p "$spool/pmix.7.1/deep" "$spool/conf-cache" "$work/usr/lib/tmpfiles.d"
touch "$spool"/{node2_7.1,node2_7.4294967291,stepd.slurm.pmix.7.1,pmix.7.1/deep/file,cred_state,cred_state.old,hwloc_topo_whole.xml,conf-cache/slurm.conf}
cp "$rules" "$work/usr/lib/tmpfiles.d/"
systemd-tmpfiles --root="$work" --remove slurm-node.conf
check "while a node runs nothing is removed" $((8 - $(find "$spool" -type f | wc -l)))
systemd-tmpfiles --root="$work" --boot --remove slurm-node.conf
[[ $(cd "$spool" && find . -mindepth 1 | sort | xargs) == './conf-cache ./conf-cache/slurm.conf ./cred_state ./cred_state.old ./hwloc_topo_whole.xml' ]]
s=$?
check "at boot steps' sockets and PMIx's folders go, all else stays" $s
[[ $s -eq 0 ]] || find "$spool" | sed 's/^/# /'
exit $rc
