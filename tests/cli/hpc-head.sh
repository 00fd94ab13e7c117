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
# Home folders below the test's own.
chmod 0755 .
printf '%s\n' root:x:0:0::/root:/bin/sh local:x:1234:1234::/home/local:/bin/sh >passwd
printf '%s\n' root:x:0: sudo:x:27:local local:x:1234: >group
sed "s,^homes=/home,homes=$work/home,; s,/etc/\(passwd\|group\),$work/\1,g" "$TOP/overlays/hpc-head/files/usr/bin/cluster" >cluster
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
[[ -s home/alice/.ssh/id_ed25519 && $(stat -c %a home/alice/.ssh home/alice/.ssh/id_ed25519 | xargs) == '700 600' && $(stat -c %a home/alice) == 700 &&
        $(find home/alice -printf '%U:%G\n' | sort -u) == 10000:9876 ]]
check "a home folder for the user alone, with a key" $?
cluster user add bob --gid 9876
[[ $? -eq 0 ]] && grep -q 'user bob has number 10001, group 9876' out && [[ $(grep -c '^dn: cn=' db) -eq 1 ]]
check "the next number, and the group that is there" $?
cluster user list && [[ $(sort out) == $'alice\nbob' ]]
check "user list" $?
cluster group add crew && grep -q 'group crew has number 10000' out && cluster group join crew bob && grep -qx 'memberUid: bob' changes
check "a group, and a member" $?

# Users that are no more, whose folders stay.
forget() { python3 -c 'import sys; t = open("db").read().split("\n\n"); open("db", "w").write("\n\n".join(e for e in t if not e.strip().startswith("dn: uid=" + sys.argv[1] + ",")))' "$1"; } # NAME
cluster user add erin && cluster user add frank && grep -q 'user frank has number 10003' out && forget erin && forget frank && cluster user add gina
[[ $? -eq 0 ]] && grep -q 'user gina has number 10004' out
check "numbers of users that were removed are nobody else's while their folders are there" $?
refuse "… nor by --uid" 1 "to user number 10003 belongs $work/home/frank" user add hugo --uid 10003
cluster user add frank && grep -q 'user frank has number 10003' out && [[ $(stat -c %u home/frank) == 10003 ]]
check "one who comes back has his number again" $?
: >changes
echo "ssh-secret of root's" >secret && chmod 0600 secret
rm home/erin/.ssh/id_ed25519.pub && ln -s "$work/secret" home/erin/.ssh/id_ed25519.pub
refuse "his links lead root to nothing that he could not read" 1 "holds no public ssh key" user add erin
rm -r home/erin/.ssh && mkdir roots && ln -s "$work/roots" home/erin/.ssh && chmod 0777 roots && echo mine >roots/id_ed25519 && chmod 0600 roots/id_ed25519 && chmod 0755 roots
refuse "… nor to what he could not write" 1 "key" user add erin
[[ $(cat roots/id_ed25519) == mine && $(stat -c '%u %a' roots) == '0 755' && $(ls roots) == id_ed25519 ]]
check "… which stays as it was" $?
mkdir home/hugo
refuse "a folder that is there already and nobody's" 1 "which belongs to number 0" user add hugo
rm -r home/{erin,hugo}

refuse "the same user again" 1 "there is a user alice already" user add alice
refuse "a number that somebody has" 1 "user number 10000 is alice's" user add carol --uid 10000
refuse "a group's number that another has" 1 "group number 9876 is alice's" group add other --gid 9876
refuse "the same group again" 1 "there is a group crew already" group add crew
refuse "a user of the machine's own" 1 "of this machine's own" user add root
refuse "… nor by its number" 1 "user number 1234 is local's" user add dora --uid 1234
refuse "a group of the machine's own, which sudo's rules may mean" 1 "sudo is a group of this machine's own" group add sudo
refuse "… nor by a user's name" 1 "sudo is a group of this machine's own" user add sudo --gid 12345
refuse "… nor by its number" 1 "group number 1234 is local's" user add dora --gid 1234
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
