#!/bin/bash
# Vendors' disks that are kept, other than e2e/19-keep's: debian-13-cpu's system on an MBR disk with /boot apart, and in subvolumes of btrfs. What they boot by
# is not here: they are not booted.
set -u
source "$TOP/tests/e2e/lib.bash"
cpu_image
own_project
W=$E2E/keep
rm -rf "$W"
mkdir -p "$W" "$PROJECT/overlays/site/files/srv" "$PROJECT/overlays/site/files/boot"
export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg
virt-tar-out -a "$OUT/debian-13-cpu/debian-13-cpu.qcow2" / "$W/root.tar" || exit 1
# vendor NAME TABLE FSTAB: a disk of so many bytes, with debian-13-cpu's system where the commands on standard input mount it.
vendor() {
        truncate -s 2G "$W/$1.raw"
        { echo run; cat; printf 'tar-in %s / xattrs:true acls:true\nwrite /etc/fstab "%s"\n' "$W/root.tar" "$3"; } >"$W/commands"
        printf '%s' "$2" | sfdisk -q "$W/$1.raw" && guestfish --format=raw -a "$W/$1.raw" -f "$W/commands" >"$W/log" 2>&1
        local s=$?
        check "a vendor's disk is made: $1" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
}
vendor mbr 'label: dos
1MiB,120MiB,L,*
122MiB,,L
' 'LABEL=root / ext4 defaults 0 1\nLABEL=boot /boot ext4 defaults 0 2\n' <<'G'
mkfs ext4 /dev/sda1 label:boot
mkfs ext4 /dev/sda2 label:root
mount /dev/sda2 /
mkdir /boot
mount /dev/sda1 /boot
G
echo '{ "description": "a site", "run": ["site.sh"] }' >"$PROJECT/overlays/site/overlay.json"
printf '#!/bin/sh\nset -e\ntruncate -s 1500M /srv/large\nhead -c 1200M /dev/urandom | dd of=/srv/large conv=notrunc status=none\n' >"$PROJECT/overlays/site/site.sh"
chmod +x "$PROJECT/overlays/site/site.sh"
echo ours >"$PROJECT/overlays/site/files/boot/ours"
cat >"$RECIPES/keep-mbr.json" <<R
{ "name": "keep-mbr", "base": { "image": "$W/mbr.raw" }, "overlays": ["site"], "disk": { "layout": "keep", "size": "4G", "formats": ["raw"] } }
R
build keep-mbr >"$W/log" 2>&1
s=$?
check "what the vendor's disk had no room for is on it, grown, and read back" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
disk=$OUT/keep-mbr/keep-mbr.raw
[[ $(sfdisk -J "$disk" | python3 -c 'import json,sys; t=json.load(sys.stdin)["partitiontable"]; print(t["label"], t["id"] != "0x00000000", *[(p["start"], p["start"] + p["size"], p.get("bootable")) for p in t["partitions"]])') == \
        "dos True (2048, 247808, True) (249856, 8388608, None)" ]]
s=$?
check "its MBR is the vendor's, the last partition ends with the disk" $s
[[ $s -eq 0 ]] || sfdisk -d "$disk"
[[ $(debugfs -R 'cat /ours' "$disk?offset=$((2048 * 512))" 2>/dev/null) == ours && -z $(debugfs -R 'ls -p /boot' "$disk?offset=$((249856 * 512))" 2>/dev/null | grep ours) ]]
check "what belongs to /boot is in the file system of that" $?
build keep-mbr >"$W/again" 2>&1
s=$?
[[ $s -eq 0 && $(grep -c 'disk ' "$W/again") -eq 0 ]]
s=$?
check "nothing is done where nothing changed" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/again"

head -c 150M /dev/urandom >"$PROJECT/overlays/site/files/boot/large"
build keep-mbr --no-proof >"$W/full" 2>&1
[[ $? -ne 0 ]] && grep -q "keep-mbr.json: \$.disk.layout: the vendor's /boot has no room for what the recipe adds there, and disk.size grows / alone" "$W/full" && cmp -s <(stat -c %s "$disk") <(echo $((4 << 30)))
s=$?
check "a full /boot is named, for no size of the disk mends it" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/full"
rm -rf "$OUT/keep-mbr"

# btrfs, with the system and /home in subvolumes.
vendor btrfs 'label: gpt
size=100MiB, type=uefi
size=1900MiB
' 'LABEL=root / btrfs subvol=@ 0 1\nLABEL=root /home btrfs subvol=@home 0 1\n' <<'G'
mkfs vfat /dev/sda1
mkfs btrfs /dev/sda2 label:root
mount /dev/sda2 /
btrfs-subvolume-create /@
btrfs-subvolume-create /@home
umount /
mount-options subvol=@ /dev/sda2 /
mkdir /home
mount-options subvol=@home /dev/sda2 /home
G
rm "$PROJECT/overlays/site/files/boot/large" "$PROJECT/overlays/site/files/boot/ours"
mkdir -p "$PROJECT/overlays/site/files/home"
echo ours >"$PROJECT/overlays/site/files/home/ours"
sed "s/keep-mbr/keep-btrfs/; s/mbr.raw/btrfs.raw/" "$RECIPES/keep-mbr.json" >"$RECIPES/keep-btrfs.json"
build keep-btrfs >"$W/log" 2>&1
s=$?
check "subvolumes of btrfs are grown, written and read back" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
guestfish --ro --format=raw -a "$OUT/keep-btrfs/keep-btrfs.raw" >"$W/said" 2>>"$W/log" <<'G'
run
mount-options ro,subvol=@home /dev/sda2 /
cat /ours
btrfs-subvolume-list /
G
grep -q ^ours "$W/said" && [[ $(grep -c 'path: @' "$W/said") -eq 2 ]]
s=$?
check "… each with what belongs to it" $s
[[ $s -eq 0 ]] || cat "$W/said"
rm -rf "$W" "$OUT/keep-btrfs"
exit $rc
