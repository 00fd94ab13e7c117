#!/bin/bash
# A vendor's image with other ways than e2e/19-import's: an MBR, one btrfs whose subvolumes are / and /home, in a VHDX. All that it has of a
# system is what tells which it is.
set -u
source "$TOP/tests/e2e/lib.bash"
I=$E2E/import
rm -rf "$I"
mkdir -p "$I"/images "$I/two"/{etc,bin,sbin,usr/bin,var/lib/dpkg,lib,dev,home}
export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg
printf 'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_CODENAME=trixie\nVERSION_ID="13"\n' >"$I/two/etc/os-release"
echo 13.1 >"$I/two/etc/debian_version"
failed() { [[ $1 -eq 0 ]] || sed 's/^/#   /' "$I/out"; }
cp /usr/bin/true "$I/two/bin/sh"
echo mine >"$I/two/home/file"
printf '/dev/sda1 / btrfs subvol=@ 0 0\n/dev/sda1 /home btrfs subvol=@home 0 0\n' >"$I/two/etc/fstab"
printf 'Package: base-files\nStatus: install ok installed\nArchitecture: amd64\nVersion: 13\nMaintainer: x\nDescription: x\n' >"$I/two/var/lib/dpkg/status"
tar -C "$I/two" --numeric-owner -cf "$I/two.tar" .
truncate -s 300M "$I/btrfs.raw"
printf 'label: dos\n1M,298M,83,*\n' | sfdisk -q "$I/btrfs.raw"
guestfish --format=raw -a "$I/btrfs.raw" >"$I/log" 2>&1 <<F && qemu-img convert -O vhdx "$I/btrfs.raw" "$I/btrfs.vhdx"
run
mkfs btrfs /dev/sda1
mount /dev/sda1 /
btrfs-subvolume-create /@
btrfs-subvolume-create /@home
umount /
mount-options subvol=@ /dev/sda1 /
mkdir /home
mount-options subvol=@home /dev/sda1 /home
tar-in $I/two.tar /
F
s=$?
[[ $s -eq 0 ]] || cat "$I/log"
echo '{ "name": "btrfs", "kind": "tree", "base": { "image": "../btrfs.vhdx" } }' >"$I/images/btrfs.json"
rm -rf "$I/cache/layers"
"$IMGBUILD" shell "$I/images/btrfs.json" --stage base --cache "$I/cache" --offline --progress plain -- /bin/sh >"$I/out" 2>&1
layer=$(echo "$I"/cache/layers/*/tree)
[[ $(<"$layer/home/file") == mine && $(<"$layer/etc/debian_version") == 13.1 && ! -e $layer/@home ]]
s=$?
failed $s
check "btrfs's subvolumes on an MBR disk, in a VHDX: / and /home are one tree" $s
rm -rf "${I:?}"
exit $rc
