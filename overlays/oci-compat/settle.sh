#!/bin/sh
# What a distribution has of it stays: Oracle Linux its own oci-growfs, Enterprise Linux firewalld, which is switched off.
set -eu
mkdir -p /usr/libexec
[ -e /usr/libexec/oci-growfs ] || ln -sfn ../lib/oci-compat/oci-growfs /usr/libexec/oci-growfs
unit=/usr/lib/systemd/system/firewalld.service
[ -e "$unit" ] || cp /usr/lib/oci-compat/firewalld.service "$unit"
systemctl disable firewalld.service
# Who may do everything is in another group there.
getent group sudo >/dev/null || sed -i 's/groups: \[adm, sudo,/groups: [adm, wheel,/' /etc/cloud/cloud.cfg.d/20-oci-compat.cfg
