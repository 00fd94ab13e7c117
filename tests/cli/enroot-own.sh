#!/bin/bash
# What enroot.conf asks for a user's folders, as Enroot reads that file: on the scratch volume, the user's alone. Enroot itself has its turn in e2e/41.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out" "$T/err"; rc=1; fi; }
[[ $EUID -eq 0 ]] || { echo "root"; exit 77; }
files=$TOP/overlays/enroot-common/files
chmod 0755 "$T"
sed "s,/usr/lib/enroot-scratch,$T,; s,/mnt/localdisk,$T/disk,g" "$files/etc/enroot/enroot.conf" >"$T/enroot.conf"
install -m 0755 "$files/usr/lib/enroot-scratch/own" "$T/own"
mkdir -p "$T/disk/enroot" && chmod 0755 "$T/disk"{,/enroot}
disk=$T/disk/enroot
for kind in runtime cache data tmp; do mkdir -m 1777 "$disk/$kind" && chmod 1777 "$disk/$kind"; done
# As Enroot does: each value through a shell, as the user; then it makes the folders, and ends where it cannot.
cat >"$T/enroot" <<'E'
set -euo pipefail
while IFS=$' \t=' read -r key value; do [[ ! $key =~ ^ENROOT_ ]] || export "$key=${!key:-$(eval echo "$value")}"; done <"$1"
(umask 077 && mkdir -p "$ENROOT_CACHE_PATH" "$ENROOT_DATA_PATH" "$ENROOT_RUNTIME_PATH")
echo "$ENROOT_RUNTIME_PATH $ENROOT_CACHE_PATH $ENROOT_DATA_PATH $ENROOT_TEMP_PATH"
E
as() { setpriv --reuid "$1" --regid "$1" --clear-groups env "${@:2}" bash "$T/enroot" "$T/enroot.conf" >"$T/out" 2>"$T/err"; } # UID [NAME=VALUE…]

as 20001 && [[ $(cat "$T/out") == "$disk/runtime/user-20001 $disk/cache/user-20001 $disk/data/user-20001 $disk/tmp" && ! -s $T/err ]]
check "a user's folders are on the scratch volume" $?
[[ $(stat -c '%u %a' "$disk"/{runtime,cache,data}/user-20001 | sort -u) == '20001 700' ]]
check "… and his alone" $?
as 20001
check "they may be there already" $?
for kind in runtime cache data; do
        # A folder for everybody, under another one's name.
        setpriv --reuid 20001 --regid 20001 --clear-groups mkdir -m 0777 "$disk/$kind/user-20002"
        ! as 20002 && grep -q "^enroot: $disk/$kind/user-20002 belongs to .*(20001), not to you" "$T/err"
        check "$kind: one that somebody else made under his name is refused, and its owner told" $?
        rm -r "$disk"/*/user-20002
done
setpriv --reuid 20001 --regid 20001 --clear-groups ln -s user-20001 "$disk/data/user-20002"
! as 20002 && grep -q '/data/user-20002 is a link' "$T/err" && [[ -z $(ls "$disk/data/user-20001") ]]
check "a link is refused" $?
rm "$disk/data/user-20002"
setpriv --reuid 20001 --regid 20001 --clear-groups ln -s nowhere "$disk/data/user-20002"
! as 20002 && grep -q '/data/user-20002 is a link' "$T/err" && [[ ! -e $disk/data/nowhere ]]
check "… also one to nothing" $?
rm "$disk/data/user-20002"
as 20002
check "without it he is let in" $?
mkdir -m 0700 "$T/mine" && chown 20003 "$T/mine" && chmod 0700 "$disk/data"
as 20003 ENROOT_DATA_PATH="$T/mine" && [[ $(cut -d ' ' -f 3 "$T/out") == "$T/mine" && ! -s $T/err ]]
check "what a user sets himself stays" $?
chmod 1777 "$disk/data"
mv "$disk/cache" "$disk/away"
! as 20001 && grep -q "there is no $disk/cache: is the scratch volume mounted" "$T/err" && [[ ! -e $disk/cache ]]
check "without the scratch volume it says so" $?
! as 0 && [[ ! -e $disk/cache ]]
check "… to root too, who would fill the root disk" $?
exit $rc
