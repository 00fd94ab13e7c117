#!/bin/sh
# sshd asks pam_slurm_adopt, which is there, and nothing after it decides about accounts or moves the login elsewhere.
set -eu
last=$(grep -E '^(account|@include common-account)' /etc/pam.d/sshd | tail -n 1)
if [ "$last" != 'account required pam_slurm_adopt.so' ]; then
        echo "/etc/pam.d/sshd does not end its account lines with pam_slurm_adopt: users without a job would get in"
        exit 1
fi
if ! find /usr/lib /lib -path '*/security/pam_slurm_adopt.so' | grep -q .; then
        echo "pam_slurm_adopt.so is not in the image: nobody could log in"
        exit 1
fi
if grep -qE '^[^#]*pam_systemd\.so' /etc/pam.d/common-session; then
        echo "common-session has pam_systemd, which takes a login out of its job's cgroup: pam-auth-update --disable systemd"
        exit 1
fi
