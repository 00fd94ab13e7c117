#!/bin/sh
# What files/ has where Debian's packages look for it goes where EL's do; and EL's unit of slapd listens on ldap:// as well, whatever is configured.
set -eu
[ ! -d /etc/my.cnf.d ] || {
        mv /etc/mysql/mariadb.conf.d/60-slurmdbd.cnf /etc/my.cnf.d/
        rmdir --ignore-fail-on-non-empty -p /etc/mysql/mariadb.conf.d
}
# chronyd has a file of its own per distribution; EL's names no folder.
[ ! -e /etc/chrony.conf ] || grep -qE '^confdir +/etc/chrony/conf\.d' /etc/chrony.conf || echo 'confdir /etc/chrony/conf.d' >>/etc/chrony.conf
[ -d /etc/openldap/schema ] || exit 0
rm /etc/default/slapd
cat >/etc/systemd/system/slapd.service.d/20-el.conf <<'U'
[Service]
# ldaps for the cluster, ldapi for root on the head alone. In the foreground, whatever way the package starts it.
Type=simple
PIDFile=
ExecStartPre=
ExecStart=
ExecStart=/usr/sbin/slapd -d 0 -u ldap -g ldap -F /etc/openldap/slapd.d -h "ldaps:/// ldapi:///"
U
