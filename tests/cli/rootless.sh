#!/bin/bash
# The overlay rootless-common's program on this machine, in a mount namespace of its own: subordinate ids by a rule, folders on the scratch
# volume, links from the home folder. The scratch volume is a folder mounted on itself, users from a directory are lines of /etc/passwd.
set -u
program=$TOP/overlays/rootless-common/files/usr/lib/rootless/user
if [[ -z ${ROOTLESS_INSIDE:-} ]]; then
        [[ $(id -u) == 0 ]] && unshare -m true 2>/dev/null || { echo "skip - rootless: no mount namespace can be had"; exit 77; }
        ROOTLESS_INSIDE=1 exec unshare -m bash "$0"
fi
rc=0
T=$(mktemp -d) || exit 1
mount --make-rprivate / 2>/dev/null
trap 'umount "$T/scratch" 2>/dev/null; rm -rf "${T:?}"' EXIT
chmod 0711 "$T"
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out"; rc=1; fi; }

# usera as in the document; userb, whose number is too large for the rule; userc, a neighbour.
cp /etc/passwd "$T/passwd"
{
        echo "usera:x:10000:10000::$T/home/usera:/bin/bash"
        echo "userb:x:1234567:1234567::$T/home/userb:/bin/bash"
        echo "userc:x:10001:10001::$T/home/userc:/bin/bash"
} >>"$T/passwd"
mount --bind "$T/passwd" /etc/passwd || { echo "skip - rootless: /etc/passwd cannot be covered"; exit 77; }
node() { # NAME: /etc of a node
        mkdir -p "$T/$1"
        sed "s|/mnt/localdisk|$T/scratch|" "$TOP/overlays/rootless-common/files/etc/rootless.conf" >"$T/$1/rootless.conf"
}
user() { ROOTLESS_ETC=$T/$1 "$program" "${@:2}" >"$T/out" 2>&1; } # NODE VERB UID
mkdir -p "$T/scratch" "$T"/home/user{a,b,c}
for u in a:10000 b:1234567 c:10001; do chown "${u#*:}:${u#*:}" "$T/home/user${u%:*}"; done
node n1 && node n2

user n1 start 10000
[[ $? -ne 0 && $(cat "$T/out") == *"is not mounted"* && ! -e $T/home/usera/.local ]]
check "without the scratch volume the home folder is left as it is, and it is said" $?
mount --bind "$T/scratch" "$T/scratch"
chmod 1777 "$T/scratch"

user n1 start 10000 && [[ $(cat "$T/n1/subuid" "$T/n1/subgid") == $'usera:655360000:65536\nusera:655360000:65536' ]]
check "a user without subordinate ids gets those of the rule, once" $?
user n2 start 10001 && user n2 start 10000 && [[ $(sort "$T/n2/subuid" | tr '\n' ' ') == 'usera:655360000:65536 userc:655425536:65536 ' ]]
check "the same on another node, where another user came first" $?
node n3 && printf '10000:100000:65536' >"$T/n3/subuid" && user n3 start 10000 && user n3 start 10001
[[ $(cat "$T/n3/subuid") == $'10000:100000:65536\nuserc:655425536:65536' ]]
check "an entry that is there counts, also one by number" $?
node n4
user n4 start 1234567
[[ $? -ne 0 && ! -s $T/n4/subuid && $(cat "$T/out") == *"set UID_BASE"* ]]
check "a uid beyond the rule gets none, and the setting is named" $?
sed -i 's/^UID_BASE=.*/UID_BASE=1230000/' "$T/n4/rootless.conf"
user n4 start 1234567 && [[ $(cat "$T/n4/subuid") == "userb:299302912:65536" ]]
check "with that setting it has its own" $?
node n5 && echo 'other:655400000:10' >"$T/n5/subuid"
user n5 start 10000
[[ $? -ne 0 && $(cat "$T/n5/subuid") == 'other:655400000:10' && $(cat "$T/out") == *"would meet other:655400000:10"* ]]
check "ids that another entry has are not given twice" $?

data=$T/scratch/rootless/10000
[[ $(stat -c '%U %a' "$data") == 'usera 700' && $(stat -c '%U %a' "${data%/*}") == 'root 711' ]]
check "a user's folder on the scratch volume is his alone, in a folder of root's" $?
[[ $(readlink "$T/home/usera/.local/share/containerd") == "$data/containerd" && -d $T/home/usera/.local/share/nerdctl/ && -d $T/home/usera/.local/share/buildkit/ ]] &&
        [[ $(stat -c %U "$T/home/usera/.local/share/containerd") == usera ]]
check "containerd's, nerdctl's and BuildKit's folders in the home folder lead there" $?
# What the document's containerd could not do with a home on NFS: a file of gid 42, by ids of newuidmap's.
mount --bind "$T/n1/subuid" /etc/subuid && mount --bind "$T/n1/subgid" /etc/subgid
as_user=(setpriv --reuid 10000 --regid 10000 --clear-groups env "HOME=$T/home/usera")
# shellcheck disable=SC2016
unpack='touch "$HOME/.local/share/containerd/gshadow" && chgrp 42 "$HOME/.local/share/containerd/gshadow"'
if "${as_user[@]}" unshare --map-root-user -m mount -t tmpfs none /mnt 2>/dev/null && command -v newuidmap >/dev/null; then
        "${as_user[@]}" unshare --map-root-user --map-auto sh -c "$unpack" >"$T/out" 2>&1 && [[ $(stat -c %g "$data/containerd/gshadow") == 655360041 ]]
        check "a file of gid 42, as image layers have it, gets the user's own subordinate id" $?
else
        echo "skip - a file of gid 42: users have no user namespaces here"
fi
umount /etc/subuid /etc/subgid

rm -rf "${T:?}/home/userc/.local" && mkdir -p "$T/home/userc/.local/share/"{containerd,nerdctl} && echo precious >"$T/home/userc/.local/share/containerd/data"
chown -R 10001:10001 "$T/home/userc/.local"
user n1 start 10001 && [[ $(cat "$T/home/userc/.local/share/containerd/data") == precious && ! -L $T/home/userc/.local/share/containerd && $(cat "$T/out") == *"holds data"* ]]
check "data in the home folder is left, and it is said" $?
[[ -L $T/home/userc/.local/share/nerdctl ]]
check "an empty folder becomes a link" $?

echo x >"$data/containerd/layer" && user n1 stop 10000 && [[ -e $data/containerd/layer ]]
check "after the last session the data stays" $?
sed -i 's/^REMOVE=.*/REMOVE=logout/' "$T/n1/rootless.conf"
user n1 stop 10000 && [[ ! -e $data && -e ${data%/*}/10001 ]]
check "unless it is to go: then the user's goes, and nobody else's" $?
user n1 start 10000 && [[ -d $T/home/usera/.local/share/containerd/ ]]
check "and the next login has its folders again" $?
user n1 remove 10001/../10000
[[ $? -ne 0 && -d $data ]]
check "only a number names whose data is removed" $?

sed -i 's/^QUOTA=.*/QUOTA=20m/' "$T/n2/rootless.conf"
user n2 start 10000
[[ $? -ne 0 && $(cat "$T/out") == *"mounted without prjquota"* && -d $data ]]
check "a limit where the volume has no quotas is told, and the folder is there all the same" $? # the limit itself: e2e/52

mv "$T/scratch/rootless" "$T/scratch/before" && install -d -o 10001 "$T/scratch/rootless"
user n1 start 10000
[[ $? -ne 0 && $(cat "$T/out") == *"not root's folder"* && -z $(ls "$T/scratch/rootless") ]]
check "a folder of that name that a user made is not used" $?
user n1 remove 10001 && [[ -d $T/scratch/rootless ]]
check "and nothing is removed in it" $?
umount /etc/passwd
exit $rc
