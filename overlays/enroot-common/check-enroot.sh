#!/bin/sh
# Enroot is whole: programs, hooks, the extra capabilities, and paths on the scratch volume.
set -eu
fail() { echo "$1"; exit 1; }
for hook in 98-nvidia 99-mellanox 50-slurm-pmi 50-slurm-pytorch; do
        [ -x "/etc/enroot/hooks.d/$hook.sh" ] || fail "/etc/enroot/hooks.d/$hook.sh is missing or not executable"
done
# Its folders are not there yet.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for key in RUNTIME CACHE DATA TEMP CONFIG; do export "ENROOT_${key}_PATH=$work/$key"; done
said=$(enroot version 2>&1) || fail "enroot does not run: $(echo "$said" | tail -n 1)"
for key in RUNTIME CACHE DATA TEMP; do
        grep -Eq "^ENROOT_${key}_PATH +([^/ ]*/usr/lib/enroot-scratch/own $key )?/mnt/localdisk/" /etc/enroot/enroot.conf ||
                fail "/etc/enroot/enroot.conf: ENROOT_${key}_PATH is not on /mnt/localdisk"
done
[ -x /usr/lib/enroot-scratch/own ] || fail "/usr/lib/enroot-scratch/own, which enroot.conf calls, is missing or not executable"
for program in enroot-mksquashovlfs enroot-aufs2ovlfs; do
        getcap "$(command -v "$program")" | grep -q cap_sys_admin ||
                fail "$program has no cap_sys_admin: enroot+caps or enroot-source's capabilities.sh gives it"
done
