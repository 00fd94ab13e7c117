#!/bin/bash
# A vendor's disk that is kept, with another table than e2e/19-keep's and /boot apart: debian-13-cpu's system on an MBR disk. What the kept disk boots by is
# not here: it is not booted.
set -u
source "$TOP/tests/e2e/lib.bash"
cpu_image
own_project
W=$E2E/keep
rm -rf "$W"
mkdir -p "$W" "$PROJECT/overlays/site/files/srv" "$PROJECT/overlays/site/files/boot"
export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg
truncate -s 2G "$W/vendor.raw"
printf 'label: dos\n1MiB,120MiB,L,*\n122MiB,,L\n' | sfdisk -q "$W/vendor.raw" &&
        virt-tar-out -a "$OUT/debian-13-cpu/debian-13-cpu.qcow2" / "$W/root.tar" && guestfish --format=raw -a "$W/vendor.raw" >"$W/log" 2>&1 <<G
run
mkfs ext4 /dev/sda1 label:boot
mkfs ext4 /dev/sda2 label:root
mount /dev/sda2 /
mkdir /boot
mount /dev/sda1 /boot
tar-in $W/root.tar / xattrs:true acls:true
write /etc/fstab "LABEL=root / ext4 defaults 0 1\nLABEL=boot /boot ext4 defaults 0 2\n"
G
s=$?
check "a vendor's disk is made: MBR, /boot apart" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
rm "$W/root.tar"
echo '{ "description": "a site", "run": ["site.sh"] }' >"$PROJECT/overlays/site/overlay.json"
printf '#!/bin/sh\nset -e\ntruncate -s 1500M /srv/large\nhead -c 1200M /dev/urandom | dd of=/srv/large conv=notrunc status=none\n' >"$PROJECT/overlays/site/site.sh"
chmod +x "$PROJECT/overlays/site/site.sh"
echo ours >"$PROJECT/overlays/site/files/boot/ours"
cat >"$RECIPES/keep-mbr.json" <<R
{ "name": "keep-mbr", "base": { "image": "$W/vendor.raw" }, "overlays": ["site"], "disk": { "layout": "keep", "size": "4G", "formats": ["raw"] } }
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
rm -rf "$W" "$OUT/keep-mbr"
exit $rc
