#!/bin/sh
# The document's commands find what they name, and the firewall is off.
set -eu
fail() { echo "$1"; exit 1; }
/usr/libexec/oci-growfs --help >/dev/null || fail "/usr/libexec/oci-growfs does not run"
for program in findmnt lsblk growpart resize2fs; do
        command -v "$program" >/dev/null || fail "oci-growfs calls $program, which is missing"
done
[ ! -e /usr/sbin/firewalld ] || fail "firewalld is installed: the overlay's unit of that name hides its own"
state=$(systemctl is-enabled firewalld.service 2>/dev/null) || true
[ "$state" = disabled ] || fail "firewalld.service is $state: there is no firewalld that it could start"
grep -q 'name: opc' /etc/cloud/cloud.cfg.d/20-oci-compat.cfg || fail "the first user is not opc"
