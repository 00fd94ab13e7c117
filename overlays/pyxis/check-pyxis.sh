#!/bin/sh
# Slurm itself says whether it loads the plugin: it refuses one that was compiled against another Slurm ("Incompatible plugin version").
set -eu
fail() { echo "$1"; exit 1; }

versions=$(srun --version 2>/dev/null || true)
! command -v dpkg-query >/dev/null || versions=$(dpkg-query -W -f '${db:Status-Abbrev}${source:Package} ${source:Version}\n' | sed -n 's/^ii  *slurm-wlm //p' | sort -u)
[ "$(echo "$versions" | wc -l)" -eq 1 ] || fail "packages of Slurm have several versions: $(echo "$versions" | tr '\n' ' ')"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'ClusterName=check\nSlurmctldHost=localhost\nPlugStackConfig=/etc/slurm/plugstack.conf\n' >"$work/slurm.conf"
said=$(SLURM_CONF=$work/slurm.conf srun --help 2>&1) || true
case $said in
*--container-image=*) ;;
*) fail "Slurm $versions does not load Pyxis: $(echo "$said" | grep -m 1 -iE 'error|spank|plugin' || echo "is it in /etc/slurm/plugstack.conf?")" ;;
esac
