#!/bin/sh
# sshd asks pam_slurm_adopt last of all whether an account may come in: what follows it could put the login into another cgroup
# or let it pass. pam_systemd would take it out of the job's, so it is in no stack that sshd's has.
set -eu
rules() {
        echo 'account sufficient pam_access.so accessfile=/etc/security/slurm-adopt.conf'
        echo 'account required pam_slurm_adopt.so'
}

debian() {
        pam-auth-update --package --disable systemd
        rules | sed -i '/^@include common-account/r /dev/stdin' /etc/pam.d/sshd
}

# authselect writes EL's stacks: a profile of ours, like the one that is selected but for that module. What lets local users in without asking on ends
# its own stack alone, which an "include" would not.
el() {
        profile=/etc/authselect/custom/slurm-adopt
        # "sssd with-mkhomedir", or what it was installed with where nobody has selected one.
        current=$(authselect current --raw 2>/dev/null) || current=sssd
        # shellcheck disable=SC2086 # words
        set -- $current
        authselect create-profile slurm-adopt --base-on "$1" --symlink-meta --symlink-nsswitch --symlink-dconf
        sed -i '/^[[:space:]]*-\{0,1\}session[[:space:]].*pam_systemd\.so/d' "$profile/password-auth" "$profile/system-auth"
        shift
        authselect select custom/slurm-adopt "$@" --force

        last=$(grep -nE '^account[[:space:]]' /etc/pam.d/sshd | tail -n 1 | cut -d: -f1)
        rules | sed -i "${last:?sshd has no account lines}r /dev/stdin" /etc/pam.d/sshd
        sed -i -E 's/^(account[[:space:]]+)include([[:space:]])/\1substack\2/' /etc/pam.d/sshd
        # Who may become root: wheel is EL's name of the group, and cloud-init's own user is in adm alone.
        sed -i 's/^+:(sudo):ALL$/+:(wheel) (adm):ALL/' /etc/security/slurm-adopt.conf
}

if command -v authselect >/dev/null; then el; else debian; fi

# Where SELinux' policy is there, sshd is allowed what the module does.
for store in /var/lib/selinux/*/active; do
        [ -d "$store" ] || continue
        name=${store%/active}
        semodule -n -s "${name##*/}" -i /usr/share/slurm-adopt/slurm-adopt.cil
done
