#!/bin/bash
# e2e/19-import with 100,000 files. Then a vendor's image with other ways than it has: an MBR, one btrfs whose subvolumes are / and /home, in a VHDX; ext4 in each format of
# disks that there is. All that these have of a system is what tells which it is.
set -u
source "$TOP/tests/e2e/lib.bash"
IMPORT_FOLDERS=2000 bash "$TOP/tests/e2e/19-import.sh" || rc=1
checked=$SECONDS
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

# One disk in all formats: the same tree, whatever they are called.
truncate -s 200M "$I/ext4.raw"
printf 'label: gpt\nstart=1MiB, size=190MiB, type=linux\n' | sfdisk -q "$I/ext4.raw"
echo '/dev/sda1 / ext4 defaults 0 1' >"$I/two/etc/fstab"
find "$I/two" -exec touch -hd '2024-01-02 03:04:05Z' {} + # mke2fs has seconds, and the top folder is its own
mke2fs -q -F -t ext4 -E offset=$((1 << 20)) -d "$I/two" "$I/ext4.raw" 190M 2>>"$I/log"
s=$?
check "a disk with ext4 is made" $s
"$TOP/tests/fixtures/tree-list" "$I/two" | grep -v "^'\(\.\|dev\)'" >"$I/two.list"
while read -r name format options; do
        # shellcheck disable=SC2086 # options
        qemu-img convert -O "$format" $options "$I/ext4.raw" "$I/$name.img" || rc=1
        echo "{ \"name\": \"$name\", \"kind\": \"tree\", \"base\": { \"image\": \"../$name.img\" } }" >"$I/images/$name.json"
        rm -rf "$I/cache/layers"
        "$IMGBUILD" shell "$I/images/$name.json" --stage base --cache "$I/cache" --offline --progress plain -- /bin/sh >"$I/out" 2>&1
        s=$?
        failed $s
        "$TOP/tests/fixtures/tree-list" "$(echo "$I"/cache/layers/*/tree)" | grep -v "^'\(\.\|dev\)'" | diff "$I/two.list" - >"$I/diff"
        s=$?
        [[ $s -eq 0 ]] || head -n 10 "$I/diff" | sed 's/^/#   /'
        check "$name: the tree is what was put on the disk" $s
        rm -f "$I/$name.img"
done <<'F'
raw raw
qcow2 qcow2
qcow2-compressed qcow2 -c
vmdk vmdk
vmdk-stream vmdk -o subformat=streamOptimized
vhdx vhdx
vhdx-fixed vhdx -o subformat=fixed
vhd vpc
vhd-fixed vpc -o subformat=fixed,force_size=on
vdi vdi
F
rm -rf "${I:?}"
exit $rc
