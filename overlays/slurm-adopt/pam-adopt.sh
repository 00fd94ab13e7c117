#!/bin/sh
# sshd asks pam_slurm_adopt last of all whether an account may come in: what follows it could put the login into another cgroup
# or let it pass. pam_systemd would take it out of the job's, so its profile is off.
set -eu
pam-auth-update --package --disable systemd
sed -i '/^@include common-account/a\
account sufficient pam_access.so accessfile=/etc/security/slurm-adopt.conf\
account required pam_slurm_adopt.so' /etc/pam.d/sshd
