#!/bin/sh
# What packages make when they are installed: a key, certificates, a directory, a database's identity. The head makes its own.
set -eu
rm -f /etc/munge/munge.key
rm -rf /etc/ldap/slapd.d /etc/openldap/slapd.d/* /var/lib/ldap/*
rm -f /etc/ssl/private/ssl-cert-snakeoil.key /etc/ssl/certs/ssl-cert-snakeoil.pem
