#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What overlays of a cluster do on EL, in a folder that stands for a tree, with the double of authselect: sshd's PAM as RHEL 9 has it, chronyd's and
# MariaDB's files, slapd's folders, versions of RPMs. tests/soak/el-cluster.sh boots all of it.
set -u
cd "$TOP" || exit 1
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; sed 's/^/# /' "$T/said"; fi; }
mkdir -p "$T"/{bin,etc/pam.d,etc/security,usr/lib64/security}
# inside SCRIPT: the overlay's script, with the folder for the tree.
inside() { sed -E "s,(^|[^a-z.0-9])/(etc|usr/lib64|usr/lib|lib)\\b,\\1$T/\\2,g" "overlays/$1" >"$T/script" && PATH=$T/bin:$PATH bash "$T/script" >"$T/said" 2>&1; }

# --- slurm-adopt
sed "s,/etc/,$T/etc/,g" tests/fixtures/el/authselect-double >"$T/bin/authselect"
chmod +x "$T/bin/authselect"
touch "$T"/etc/pam.d/{common-session,password-auth,system-auth}
cat >"$T/etc/pam.d/sshd" <<'P'
#%PAM-1.0
auth       substack     password-auth
auth       include      postlogin
account    required     pam_sepermit.so
account    required     pam_nologin.so
account    include      password-auth
password   include      password-auth
# pam_selinux.so close should be the first session rule
session    required     pam_selinux.so close
session    required     pam_loginuid.so
# pam_selinux.so open should only be followed by sessions to be executed in the user context
session    required     pam_selinux.so open env_params
session    required     pam_namespace.so
session    optional     pam_keyinit.so force revoke
session    optional     pam_motd.so
session    include      password-auth
session    include      postlogin
P
cp "$T/etc/pam.d/sshd" "$T/sshd"
cp overlays/slurm-adopt/files/etc/security/slurm-adopt.conf "$T/etc/security/"
touch "$T/usr/lib64/security/pam_slurm_adopt.so"
"$T/bin/authselect" select sssd with-mkhomedir --force >"$T/said"
grep -q pam_systemd "$T/etc/pam.d/password-auth"
check "a profile has pam_systemd" $?
mkdir -p "$T/usr/lib" "$T/lib"
! inside slurm-adopt/check-pam-adopt.sh && grep -q 'does not end its account lines with pam_slurm_adopt' "$T/said"
check "without pam_slurm_adopt the check says so" $?
inside slurm-adopt/pam-adopt.sh
check "pam-adopt.sh runs" $?
[[ $(grep ^account "$T/etc/pam.d/sshd" | tr -s ' ') == 'account required pam_sepermit.so
account required pam_nologin.so
account substack password-auth
account sufficient pam_access.so accessfile='"$T"'/etc/security/slurm-adopt.conf
account required pam_slurm_adopt.so' ]] && diff <(grep -v ^account "$T/sshd") <(grep -v ^account "$T/etc/pam.d/sshd") >"$T/said"
check "it is the last that sshd asks, no stack before it ends it all, and the rest stays" $?
[[ $("$T/bin/authselect" current --raw) == 'custom/slurm-adopt with-mkhomedir' ]] && ! grep -q pam_systemd "$T"/etc/pam.d/{password,system}-auth &&
        grep -q pam_mkhomedir "$T/etc/pam.d/password-auth" && grep -q pam_sss "$T/etc/pam.d/password-auth"
check "a profile of its own is selected, without pam_systemd, with the features that were" $?
[[ $(grep ^+ "$T/etc/security/slurm-adopt.conf") == $'+:root:ALL\n+:(wheel) (adm):ALL' ]]
check "EL's groups of those who may become root come in without a job" $?
inside slurm-adopt/check-pam-adopt.sh
check "the check is content" $?
sed -i 's/substack/include/' "$T/etc/pam.d/sshd"
! inside slurm-adopt/check-pam-adopt.sh && grep -q 'make it a substack' "$T/said"
check "… and not with an included stack" $?
sed -i 's/^account    include/account    substack/' "$T/etc/pam.d/sshd"
"$T/bin/authselect" select sssd with-mkhomedir --force >"$T/said"
! inside slurm-adopt/check-pam-adopt.sh && grep -q 'has pam_systemd' "$T/said"
check "… nor where somebody selected another profile" $?
rm "$T/usr/lib64/security/pam_slurm_adopt.so"
"$T/bin/authselect" select custom/slurm-adopt --force >"$T/said"
! inside slurm-adopt/check-pam-adopt.sh && grep -q 'nobody could log in' "$T/said"
check "… nor without the module" $?

# --- chronyd, MariaDB, slapd
mkdir -p "$T"/etc/{my.cnf.d,mysql/mariadb.conf.d,openldap/schema,default,systemd/system/slapd.service.d,chrony}
printf 'pool 2.rocky.pool.ntp.org iburst\nsourcedir /run/chrony-dhcp\n' >"$T/etc/chrony.conf"
touch "$T/etc/default/slapd" "$T/etc/mysql/mariadb.conf.d/60-slurmdbd.cnf"
sed -E "s,(^|[^a-z.])/etc([/ ]),\\1$T/etc\\2,g" overlays/hpc-head/el.sh >"$T/el.sh"
sh "$T/el.sh" >"$T/said" 2>&1 && [[ -e $T/etc/my.cnf.d/60-slurmdbd.cnf && ! -e $T/etc/default/slapd ]] && [[ $(grep -c '^confdir ' "$T/etc/chrony.conf") -eq 1 ]] &&
        grep -q 'ldaps:/// ldapi:///' "$T/etc/systemd/system/slapd.service.d/20-el.conf"
check "hpc-head: what is for MariaDB, chronyd and slapd is where EL's look for it" $?
for _ in 1 2; do sed "s,-e /etc/chrony,-e $T/etc/chrony,; s, /etc/chrony.conf, $T/etc/chrony.conf,g; s,>/etc/chrony.conf,>$T/etc/chrony.conf,; s,>>/etc,>>$T/etc," overlays/cluster-member/chrony.sh | sh >"$T/said" 2>&1; done
[[ $(grep -c '^sourcedir /etc/chrony/sources.d$' "$T/etc/chrony.conf") -eq 1 && $(grep -c '^sourcedir ' "$T/etc/chrony.conf") -eq 2 ]]
check "cluster-member: chronyd reads the head as a source, told once" $?
# directory's words, where EL's slapd has its back end built in, and where it is a module.
conf() { sed "s,/etc/openldap,$T/etc/openldap,g; s,/usr/lib,$T/usr/lib,g" overlays/hpc-head/files/usr/lib/hpc-head/directory >"$T/directory" && bash -c 'source "$0"; echo "user $ldap_user"; slapd_conf /data cert key ca' "$T/directory" >"$T/said"; }
conf && grep -qx 'user ldap' "$T/said" && grep -qx "include $T/etc/openldap/schema/nis.schema" "$T/said" && ! grep -q moduleload "$T/said"
check "slapd's user and schema are EL's, and its back end is a part of it" $?
mkdir -p "$T/usr/lib64/openldap" && touch "$T/usr/lib64/openldap/back_mdb.so"
conf && grep -qx "modulepath $T/usr/lib64/openldap" "$T/said" && grep -qx 'moduleload back_mdb' "$T/said"
check "… or a module, which is loaded" $?
rm -r "$T/etc/openldap"
conf && grep -qx 'user openldap' "$T/said" && grep -qx 'include /etc/ldap/schema/nis.schema' "$T/said"
check "elsewhere they are Debian's" $?

# --- lmod
printf '#!/bin/sh\nprintf "%%s\\n" "cuda-cudart-devel-13-0 13.0.90" "cuda-cudart-13-0 13.0.96" "libnccl 2.28.9" "openmpi-devel 4.0" "openmpi 4.1.1" "python3 3.9.21"\n' >"$T/bin/rpm"
chmod +x "$T/bin/rpm"
ln -s "$(command -v bash)" "$(command -v sort)" "$(command -v install)" "$(command -v chmod)" "$(command -v grep)" "$(command -v mkdir)" "$T/bin/"
sed "s,to=/opt,to=$T/opt,; s,/opt/\*/\*,$T/none/*/*,; s,/usr/lib64/openmpi,$T/usr/lib64/openmpi,g" overlays/lmod/modulefiles.sh >"$T/modulefiles"
mkdir -p "$T/usr/lib64/openmpi/bin"
PATH=$T/bin "$T/bin/bash" "$T/modulefiles" >"$T/said" 2>&1
(cd "$T/opt/modulefiles" 2>/dev/null && find . -name '*.lua' | sort | xargs) >"$T/found"
[[ $(<"$T/found") == './cuda/13.0.96.lua ./nccl/2.28.9.lua ./openmpi/4.1.1.lua ./python/3.9.21.lua' ]] && grep -q "MPI_HOME\", \"$T/usr/lib64/openmpi\"" "$T/opt/modulefiles/openmpi/4.1.1.lua"
check "lmod: module files are of the RPMs' versions, and Open MPI's says EL's folder" $?
exit $rc
