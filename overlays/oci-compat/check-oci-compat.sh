#!/bin/sh
# The document's commands find what they name, and the firewall is off.
set -eu
fail() { echo "$1"; exit 1; }
/usr/libexec/oci-growfs --help >/dev/null || fail "/usr/libexec/oci-growfs does not run"
for program in findmnt lsblk growpart resize2fs; do
        command -v "$program" >/dev/null || fail "oci-growfs calls $program, which is missing"
done
if [ -e /usr/sbin/firewalld ] && grep -q oci-compat /usr/lib/systemd/system/firewalld.service; then
        fail "firewalld is installed, and the overlay's unit of that name hides its own"
fi
state=$(systemctl is-enabled firewalld.service 2>/dev/null) || true
[ "$state" = disabled ] || fail "firewalld.service is $state: documents take it for switched off"
for group in $(sed -n 's/^ *groups: \[\(.*\)\]$/\1/p' /etc/cloud/cloud.cfg.d/20-oci-compat.cfg | tr -d ,); do
        getent group "$group" >/dev/null || fail "opc's group $group does not exist"
done
grep -q 'name: opc' /etc/cloud/cloud.cfg.d/20-oci-compat.cfg || fail "the first user is not opc"
