#!/bin/sh
# sshd asks pam_slurm_adopt, which is there, and nothing after it decides about accounts or moves the login elsewhere.
set -eu
last=$(grep -E '^(account|@include common-account)' /etc/pam.d/sshd | tail -n 1)
if [ "$last" != 'account required pam_slurm_adopt.so' ]; then
        echo "/etc/pam.d/sshd does not end its account lines with pam_slurm_adopt: users without a job would get in"
        exit 1
fi
# A stack that is included, with a module that suffices, is the end of it all.
if grep -qE '^account[[:space:]]+include' /etc/pam.d/sshd; then
        echo "/etc/pam.d/sshd includes an account stack before pam_slurm_adopt: what suffices there lets users without a job in; make it a substack"
        exit 1
fi
if ! find /usr/lib /usr/lib64 /lib -path '*/security/pam_slurm_adopt.so' | grep -q .; then
        echo "pam_slurm_adopt.so is not in the image: nobody could log in"
        exit 1
fi
for stack in common-session password-auth system-auth; do
        if [ -e "/etc/pam.d/$stack" ] && grep -qE '^[^#]*pam_systemd\.so' "/etc/pam.d/$stack" && grep -qE "(include|substack)[[:space:]]+$stack" /etc/pam.d/sshd; then
                echo "$stack has pam_systemd, which takes a login out of its job's cgroup: pam-auth-update --disable systemd, or a profile of authselect's without it"
                exit 1
        fi
done
