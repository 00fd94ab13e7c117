#!/bin/sh
# Two heads of one image share nothing secret.
set -eu
for path in /etc/munge/munge.key /etc/slurm/slurmdbd.conf /srv/cluster /etc/hpc-head/ca.key /etc/ldap/slapd.d /etc/openldap/slapd.d/*; do
        if [ -e "$path" ]; then
                echo "$path is in the image: remove it, the head makes it at its first boot"
                exit 1
        fi
done
