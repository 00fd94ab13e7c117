#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The overlay scratch-on-root's step: a folder of the root disk is /mnt/localdisk where nothing else is, and never where something is. In a mount
# namespace of its own.
set -u
if [[ -z ${SCRATCH_INSIDE:-} ]]; then
        [[ $EUID == 0 ]] && unshare -m true 2>/dev/null || { echo "skip - scratch on the root disk: no mount namespace can be had"; exit 77; }
        SCRATCH_INSIDE=1 exec unshare -m bash "$0"
fi
rc=0
mount --make-rprivate / 2>/dev/null
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
folder=/var/lib/localdisk scratch=/mnt/localdisk
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/verdict" "$T/out"; rc=1; fi; }
step() { : >"$T/verdict"; FIRSTBOOT_RESULT=$T/verdict "$@" "$TOP/overlays/scratch-on-root/files/usr/lib/scratch-on-root/step" >"$T/out" 2>&1; }
# said STATUS [CODE]: the verdict is JSON and says just that.
said() { [[ $(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["status"], o.get("code", ""))' "$T/verdict") == "$1 ${2:-}" ]]; }
fresh() {
        while mountpoint -q $scratch; do umount $scratch; done
        umount /mnt /var/lib 2>/dev/null
        mount -t tmpfs none /mnt && mount -t tmpfs none /var/lib
}

fresh
! step env FIRSTBOOT_CHECK=1 && said failed scratch-on-root.gone && [[ ! -e $folder && ! -e $scratch ]]
check "a probe says that nothing is mounted, and makes nothing" $?
step env && said done && mountpoint -q $scratch && [[ $(stat -c '%u %a' $scratch) == "0 1777" ]]
check "without local disks the root disk's folder is mounted, for everybody to write in" $?
echo kept >$scratch/file
[[ $(cat $folder/file) == kept ]]
check "… that folder, and no other" $?
step env && said done && [[ $(findmnt -n --mountpoint $scratch | wc -l) -eq 1 ]]
check "once more: it is mounted once" $?
step env FIRSTBOOT_CHECK=1 && said done
check "a probe finds it well" $?

fresh
mkdir $scratch && mount -t tmpfs -o mode=0755 none $scratch
step env && said done && [[ $(findmnt -n -o FSTYPE --mountpoint $scratch) == tmpfs && $(stat -c %a $scratch) == 755 && ! -e $folder ]]
check "a scratch volume that is there is left as it is" $?

fresh
mkdir "$T/roots" && chmod 0755 "$T/roots" && ln -s "$T/roots" $folder
! step env && said failed scratch-on-root.folder && ! mountpoint -q $scratch && [[ $(stat -c %a "$T/roots") == 755 ]]
check "a link in the folder's place is not followed" $?
fresh
mkdir $folder && chown 20001 $folder
! step env && said failed scratch-on-root.folder && ! mountpoint -q $scratch
check "a user's folder is not taken" $?
fresh
mount -o remount,ro /mnt
! step env && said failed scratch-on-root.mount
check "where it cannot be mounted, the reason is a verdict" $?
mount -t tmpfs -o ro none /var/lib
! step env && said failed scratch-on-root.folder
check "… nor made" $?
umount /var/lib
exit $rc
