#!/bin/bash
# The head's `cluster` tool on a double of slapd's programs: what it writes into the directory, and what it refuses. A real directory has
# its turn in e2e/70.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' out; rc=1; fi; }
[[ $EUID -eq 0 ]] || { echo "root"; exit 77; }

# The directory is a file of LDIF; entries are found by one attribute, as the tool asks for them.
mkdir bin
: >db
cat >bin/ldapsearch <<'P'
#!/usr/bin/env python3
import base64, re, sys
base = sys.argv[sys.argv.index("-b") + 1]
(attribute, wanted), shown = re.fullmatch(r"\((\w+)=(.*)\)", sys.argv[-2]).groups(), sys.argv[-1]
for entry in open("db").read().split("\n\n"):
    lines = [l.partition(": ") for l in entry.splitlines() if l]
    if lines and lines[0][2].endswith(base) and any(k == attribute and wanted in ("*", v) for k, _, v in lines):
        print(lines[0][0] + ": " + lines[0][2])
        for k, _, v in lines:
            if k == shown:
                print(f"{k}: {v}")
P
printf '#!/bin/sh\ncat >>db; echo >>db\n' >bin/ldapadd
printf '#!/bin/sh\ncat >>changes; echo >>changes\n' >bin/ldapmodify
printf '#!/bin/sh\nexit 0\n' >bin/sss_cache
chmod 0755 bin/*
ssh-keygen -q -t ed25519 -N '' -C me -f key
# Home folders below the test's own, and nobody's files change hands.
sed "s,home=/home/,home=$work/home/,; s,chown -R,: chown," "$TOP/overlays/hpc-head/files/usr/bin/cluster" >cluster
mkdir home
cluster() { PATH=$work/bin:$PATH bash ./cluster "$@" >out 2>&1 </dev/null; }
# refuse NAME CODE TEXT ARGUMENT…: and nothing is written.
refuse() {
        local name=$1 code=$2 text=$3 status before
        shift 3
        before=$(cat db changes 2>/dev/null | md5sum)
        cluster "$@"
        status=$?
        [[ $status -eq $code ]] && grep -qF -e "$text" out && [[ $(cat db changes 2>/dev/null | md5sum) == "$before" ]]
        check "$name" $?
}

cluster user add alice --gid 9876 --name 'Alice Ä: <x>' --key key.pub
[[ $? -eq 0 ]] && grep -q 'user alice has number 10000, group 9876' out && grep -qx 'gidNumber: 9876' db
check "a user, with a group of the number" $?
grep -qx "cn:: $(printf 'Alice Ä: <x>' | base64 -w 0)" db
check "any name is written so that it is one value" $?
[[ $(grep -c '^sshPublicKey:: ' changes) -eq 2 ]] && grep -q "$(base64 -w 0 <<<"$(cat key.pub)" | head -c 40)" changes
check "two keys: the user's own, and the one given" $?
[[ -s home/alice/.ssh/id_ed25519 && $(stat -c %a home/alice/.ssh) == 700 && $(stat -c %a home/alice) == 700 ]]
check "a home folder for the user alone, with a key" $?
cluster user add bob --gid 9876
[[ $? -eq 0 ]] && grep -q 'user bob has number 10001, group 9876' out && [[ $(grep -c '^dn: cn=' db) -eq 1 ]]
check "the next number, and the group that is there" $?
cluster user list && [[ $(sort out) == $'alice\nbob' ]]
check "user list" $?
cluster group add crew && grep -q 'group crew has number 10000' out && cluster group join crew bob && grep -qx 'memberUid: bob' changes
check "a group, and a member" $?

refuse "the same user again" 1 "there is a user alice already" user add alice
refuse "a number that somebody has" 1 "user number 10000 is alice's" user add carol --uid 10000
refuse "a group's number that another has" 1 "group number 9876 is alice's" group add other --gid 9876
refuse "the same group again" 1 "there is a group crew already" group add crew
refuse "a user of the machine's own" 1 "of this machine's own" user add root
refuse "an unsound name" 2 "is no name" user add 'x,dc=cluster'
refuse "a number of the system's" 2 "from 1000 on" user add carol --uid 0
refuse "an option without its value" 2 "--gid wants a value" user add carol --gid
refuse "an unknown option" 2 "unknown option --shell" user add carol --shell /bin/sh
refuse "no name" 2 "which user?" user add
refuse "a private key" 1 "is a private key" user key alice key
refuse "no key" 1 "holds no public ssh key" user key alice db
refuse "a key that is not there" 1 "cannot read" user key alice nothing.pub
refuse "an unknown command" 2 "unknown: sing" sing
# A database server that hangs up twice, and one that always does.
mkdir etc
echo 'StoragePass=secret' >etc/slurmdbd.conf
printf '#!/bin/sh\n' >bin/sleep
printf '#!/bin/sh\necho x >>tries\n[ "$(wc -l <tries)" -gt "$HANGS_UP" ] && cat >sql\n' >bin/mariadb
chmod 0755 bin/{sleep,mariadb}
sed "s,/etc/slurm,etc,; s,/var/lib/hpc-head,etc," "$TOP/overlays/hpc-head/files/usr/lib/hpc-head/new-database" >new-database
HANGS_UP=2 PATH=$work/bin:$PATH bash new-database >out 2>&1
[[ $? -eq 0 && $(wc -l <tries) -eq 3 && -e etc/database ]] && grep -q "slurm@localhost IDENTIFIED BY 'secret'" sql
check "a database server that hangs up at first" $?
rm -f etc/database
! HANGS_UP=1000 PATH=$work/bin:$PATH bash new-database >out 2>&1 && grep -q 'journalctl -u mariadb' out && [[ ! -e etc/database ]]
check "… and one that always does: what to do" $?
cluster --help && grep -q 'cluster user add NAME' out
check "help" $?
exit $rc
