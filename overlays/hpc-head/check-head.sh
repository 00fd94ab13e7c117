#!/bin/bash
# What hpc-head.service will call is here, slapd starts with what it will write, and what chronyd and MariaDB are told lies where they look for it.
set -euo pipefail
fail() { echo "$1"; exit 1; }
PATH=$PATH:/usr/sbin:/sbin
for program in slapadd slaptest slapd slurmctld slurmdbd munged exportfs openssl mariadb ldapadd rsync awk cmp; do
        command -v "$program" >/dev/null || fail "$program is missing: the head's first boot would fail"
done

# A directory as the head's, by its own function, in a folder.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=files/usr/lib/hpc-head/directory
source /usr/lib/hpc-head/directory
getent passwd "$ldap_user" >/dev/null || fail "there is no user $ldap_user, whom slapd runs as"
mkdir "$work"/{config,data}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=check -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/said" ||
        fail "openssl makes no certificate: $(tail -n 1 "$work/said")"
slapd_conf "$work/data" "$work/cert.pem" "$work/key.pem" "$work/cert.pem" >"$work/slapd.conf"
first_entries check | slapadd -f "$work/slapd.conf" -b "$base" >"$work/said" 2>&1 || fail "slapadd does not take the directory's first entries: $(tail -n 2 "$work/said")"
slaptest -f "$work/slapd.conf" -F "$work/config" >"$work/said" 2>&1 || fail "slaptest does not take the directory's configuration: $(tail -n 2 "$work/said")"

if [[ -e /etc/chrony.conf ]]; then
        grep -qE '^confdir +/etc/chrony/conf\.d' /etc/chrony.conf || fail "/etc/chrony.conf does not read /etc/chrony/conf.d: nodes would get no time from the head"
fi
folder=/etc/mysql/mariadb.conf.d
[[ ! -d /etc/my.cnf.d ]] || folder=/etc/my.cnf.d
[[ -e $folder/60-slurmdbd.cnf ]] || fail "$folder/60-slurmdbd.cnf is missing: slurmdbd would complain of the database's settings, and MariaDB listen to all"
