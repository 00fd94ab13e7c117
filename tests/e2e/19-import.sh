#!/bin/bash
# A vendor's image as the base: a disk with LVM, XFS and ext4, /var and /home apart, and all that a tree can hold, comes out entry for
# entry; so does one with ext4 in partitions, which is read without an appliance; an overlay's package is installed on it by its own apt, then offline from the store alone. The distribution that
# the package comes from is a fixture; the system in the image is real. soak/import has this with 100,000 files more (IMPORT_FOLDERS, fifty in each), btrfs on an MBR disk, and
# other formats of disks.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
cpu_image
base=$("$IMGBUILD" plan "$RECIPES/debian-13-cpu.json" --json --cache "$CACHE" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stages"][0]["digest"][:32])')
# From here on the fixture's archive and key count; results are told as e2e scripts tell them.
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/e2e/lib.bash"
publish_base

I=$E2E/import
rm -rf "$I"
mkdir -p "$I"/{images,overlays/site/files/etc,source}
S=$I/source
export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg

# The tree: a Debian that can install packages, and what else there is.
cp -a "$CACHE/layers/$base/tree/." "$S/" || { echo "not ok - the base of debian-13-cpu is in the store"; exit 1; }
rm -rf "${S:?}"/usr/share/{doc,locale,man,zoneinfo,info} "$S"/var/lib/apt/lists/* "$S"/run/* "$S"/usr/lib/x86_64-linux-gnu/gconv "$S"/usr/lib/systemd
for name in $(getfattr --absolute-names -m '^trusted\.overlay' "$S" | grep '^trusted'); do setfattr -x "$name" "$S"; done
cat >"$S/etc/fstab" <<'F'
/dev/mapper/vg-root / xfs defaults 0 0
/dev/mapper/vg-var /var xfs defaults 0 0
LABEL=home /home ext4 defaults,nofail 0 0
LABEL=ESP /boot/efi vfat umask=0077 0 1
F
mkdir -p "$S"/srv/{many,acl,odd} "$S/home/user" "$S/var/data" "$S/boot/efi"
for i in $(seq "${IMPORT_FOLDERS:-25}"); do mkdir "$S/srv/many/$i"; for k in $(seq 50); do echo "$i $k" >"$S/srv/many/$i/$k"; done; done
printf 'x' >"$S/srv/odd/$(printf 'bytes \xff\xfe')"
printf 'x' >"$S/srv/odd/$(printf 'line\nend')"
printf 'x' >"$S/srv/odd/größe -n * \\"
printf 'x' >"$S/srv/odd/$(printf 'n%.0s' {1..255})"
deep=$S/srv/odd; for i in $(seq 30); do deep+=/a-folder-with-a-name; done; mkdir -p "$deep"; echo deep >"$deep/file"
ln -s /etc/shadow "$S/srv/odd/absolute"; ln -s ../../../.. "$S/srv/odd/up"; ln -s nowhere "$S/srv/odd/dangling"
echo one >"$S/srv/first"; ln "$S/srv/first" "$S/srv/many/second"; ln "$S/srv/first" "$S/srv/third"
ln -s x "$S/srv/linked-link"; ln "$S/srv/linked-link" "$S/srv/the-same-link"
setfacl -m u:4321:rw,g:1:r "$S/srv/first"; setfacl -d -m u:4321:rwx "$S/srv/acl"; echo inherits >"$S/srv/acl/child"; setfacl -b "$S/srv/acl/child"
setfattr -n user.comment -v 'a comment' "$S/srv/third"; setfattr -n trusted.mark -v 0x0001ff "$S/srv/many"
setfattr -n security.selinux -v 'system_u:object_r:var_t:s0' "$S/var/data"
setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 "$S/srv/many/1/1"
truncate -s 3G "$S/var/data/sparse"; echo middle | dd of="$S/var/data/sparse" bs=1 seek=1G conv=notrunc status=none
mknod "$S/srv/null" c 1 3; mknod "$S/srv/disk" b 259 70000; mkfifo "$S/srv/pipe"
chown -h 4321:70000 "$S/srv/first" "$S/srv/odd/up"; chmod 4751 "$S/srv/many/1/2"; chmod 1777 "$S/srv/acl"; chmod 2770 "$S/home/user"; chmod 0 "$S/srv/many/1/3"
touch -hd '2001-02-03 04:05:06.123456789Z' "$S/srv/odd/up" "$S/srv/many/1/4"; touch -d '1969-12-31 12:00Z' "$S/srv/many/1/5"; touch -d '2003-01-01Z' "$S/srv/many"
# A double of a provider's agent.
mkdir -p "$I"/agent/{DEBIAN,usr/lib/systemd/system}
printf 'Package: google-guest-agent\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n' >"$I/agent/DEBIAN/control"
printf '#!/bin/sh\n[ "$1" != purge ] || echo agent >/etc/purged\n' >"$I/agent/DEBIAN/postrm"
chmod 0755 "$I/agent/DEBIAN/postrm"
printf '[Service]\nExecStart=/bin/true\n' >"$I/agent/usr/lib/systemd/system/google-guest-agent.service"
dpkg-deb --build --root-owner-group "$I/agent" "$I/agent.deb" >/dev/null && dpkg --root="$S" --install "$I/agent.deb" >/dev/null 2>&1
check "it has a provider's agent" $?
"$TOP/tests/fixtures/tree-list" "$S" >"$I/source.list"

tar -C "$S" --format=posix --numeric-owner --acls --xattrs --xattrs-include='*' --sparse -cf "$I/source.tar" .
# XFS by the host's mkfs, which the appliance lacks, at the places where LVM then puts the volumes: behind 1 MiB of its own.
truncate -s 3G "$I/vendor.raw"
truncate -s 1500M "$I/root.xfs"
truncate -s 700M "$I/var.xfs"
{ printf 'label: gpt\n1MiB,64MiB,U\n65MiB,,V\n' | sfdisk -q "$I/vendor.raw" && mkfs.xfs -q "$I/root.xfs" && mkfs.xfs -q "$I/var.xfs" &&
        dd if="$I/root.xfs" of="$I/vendor.raw" bs=1M seek=66 conv=sparse,notrunc status=none &&
        dd if="$I/var.xfs" of="$I/vendor.raw" bs=1M seek=1566 conv=sparse,notrunc status=none; } || exit 1
truncate -s 3G "$I/ext4.raw"
printf 'label: gpt\nstart=1MiB, size=64MiB, type=uefi\nstart=65MiB, size=300MiB, type=linux\nstart=370MiB, type=linux\n' | sfdisk -q "$I/ext4.raw" || exit 1
guestfish --format=raw -a "$I/vendor.raw" -a "$I/ext4.raw" >"$I/log" 2>&1 <<F
run
mkfs vfat /dev/sda1 label:ESP
pvcreate /dev/sda2
vgcreate vg /dev/sda2
debug sh "lvm lvcreate -q -Zn -Wn -L 1500M -n root vg && lvm lvcreate -q -Zn -Wn -L 700M -n var vg && lvm lvcreate -q -L 100M -n home vg"
mkfs ext4 /dev/vg/home label:home
mount /dev/vg/root /
mkdir /var
mkdir /home
mount /dev/vg/var /var
mount /dev/vg/home /home
tar-in $I/source.tar / xattrs:true selinux:true acls:true
mount /dev/sda1 /boot/efi
write /boot/efi/loader "the vendor's boot loader"
umount-all
mkfs vfat /dev/sdb1 label:ESP
mkfs ext4 /dev/sdb2 label:var
mkfs ext4 /dev/sdb3 label:root
mount /dev/sdb3 /
mkdir /var
mount /dev/sdb2 /var
tar-in $I/source.tar / xattrs:true selinux:true acls:true
write /etc/fstab "LABEL=root / ext4 defaults 0 1\nLABEL=var /var ext4 defaults 0 2\nLABEL=ESP /boot/efi vfat umask=0077 0 1\n"
F
s=$?
check "two disks are made: GPT, ESP, LVM, XFS and ext4; ext4 in partitions" $s
[[ $s -eq 0 ]] || { cat "$I/log"; exit 1; }
rm -f "$I"/source.tar "$I"/*.xfs
qemu-img convert -O qcow2 "$I/vendor.raw" "$I/vendor.qcow2" && qemu-img convert -c -O qcow2 "$I/ext4.raw" "$I/ext4.qcow2" || exit 1
rm "$I/ext4.raw"

cat >"$I/images/vendor.json" <<'E'
{ "name": "vendor", "kind": "tree", "base": { "image": "../vendor.qcow2" }, "overlays": ["site"] }
E
echo '{ "description": "a site", "packages": { "debian": ["tool"] } }' >"$I/overlays/site/overlay.json"
echo ours >"$I/overlays/site/files/etc/site"
imp() { "$IMGBUILD" "$1" "$I/images/vendor.json" --cache "$I/cache" --mirror "$URL/debian" --progress plain "${@:2}" >"$I/out" 2>&1; }
failed() { [[ $1 -eq 0 ]] || sed 's/^/#   /' "$I/out"; }

imp lock
s=$?
failed $s
lock=$I/images/vendor.lock.json
[[ $s -eq 0 ]] && grep -q '"image": { "name": "vendor.qcow2", "distro": "debian", "release": "trixie", .*'"$(sha256sum <"$I/vendor.qcow2" | cut -d' ' -f1)" "$lock"
check "the lock says which image it is, and what is on it" $?
[[ $(grep -o '"name": "[a-z0-9-]*", "version"' "$lock" | cut -d'"' -f4 | sort | paste -sd' ') == "libtool tool" ]]
check "what the image has counts as installed: only what is missing is locked" $?

imp shell --stage base -- /bin/true
s=$?
failed $s
check "the image is imported" $s
layer=$(echo "$I"/cache/layers/*/tree)
"$TOP/tests/fixtures/tree-list" "$layer" >"$I/layer.list"
diff "$I/source.list" "$I/layer.list" >"$I/diff"
s=$?
[[ $s -eq 0 ]] || cut -c1-300 "$I/diff" | head -n 20 | sed 's/^/#   /'
check "$(wc -l <"$I/source.list") entries are what they were: owners, modes, times, ACLs, labels, capabilities, links, holes, nodes" $s
[[ ! -e $layer/boot/efi/loader ]]
check "the vendor's boot loader stays on its disk" $?
! grep -q "$I" /proc/mounts && ! pgrep -f "qemu.*$I" >/dev/null
check "and nothing is left running or mounted" $?

imp shell -- /bin/sh -c 'dpkg --status tool | grep "ok installed" && cat /usr/share/fixture/tool /etc/site && test ! -s /etc/machine-id'
s=$?
failed $s
[[ $s -eq 0 ]] && grep -q '^tool 1.0$' "$I/out" && grep -q '^ours$' "$I/out"
check "an overlay's package is installed on it by its own apt" $?
echo "ours again" >"$I/overlays/site/files/etc/site"
kill "$SERVER"
mv "$I/vendor.qcow2" "$I/moved.qcow2"
imp shell --offline -- /bin/cat /etc/site
s=$?
failed $s
[[ $s -eq 0 ]] && grep -q '^ours again$' "$I/out"
check "and again offline, with neither mirror nor image" $?
sed -i 's/"site"/"site", "no-cloud-agents"/' "$I/images/vendor.json"
cp -r "$TOP/overlays/no-cloud-agents" "$I/overlays/"
imp shell --offline -- /bin/sh -c 'dpkg-query -W google-guest-agent tool 2>&1; ls /usr/lib/systemd/system; cat /etc/purged'
s=$?
failed $s
[[ $s -eq 0 ]] && grep -q 'no packages found matching google-guest-agent' "$I/out" && grep -q '^agent$' "$I/out" && ! grep -q 'google-guest-agent.service' "$I/out"
check "no-cloud-agents takes the provider's agent out of it" $?
sed -i 's/, "no-cloud-agents"//' "$I/images/vendor.json"

# The other disk: no appliance could start here.
cat >"$I/images/ext4.json" <<'E'
{ "name": "ext4", "kind": "tree", "base": { "image": "../ext4.qcow2" } }
E
"$IMGBUILD" lock "$I/images/ext4.json" --cache "$I/cache" --mirror "$URL/debian" --offline --progress plain >"$I/out" 2>&1
s=$?
failed $s
LIBGUESTFS_HV=/bin/false "$IMGBUILD" shell "$I/images/ext4.json" --stage base --cache "$I/cache" --offline --progress plain -- /bin/true >"$I/out" 2>&1
s=$?
failed $s
check "a system on ext4 in partitions is imported without an appliance" $s
layer=$("$IMGBUILD" plan "$I/images/ext4.json" --json --cache "$I/cache" --offline | python3 -c 'import json, sys; print(json.load(sys.stdin)["stages"][0]["digest"][:32])')
"$TOP/tests/fixtures/tree-list" "$I/cache/layers/$layer/tree" >"$I/layer.list"
diff <(grep -v "^'etc/fstab'" "$I/source.list") <(grep -v "^'etc/fstab'" "$I/layer.list") >"$I/diff"
s=$?
[[ $s -eq 0 ]] || cut -c1-300 "$I/diff" | head -n 20 | sed 's/^/#   /'
check "… entry for entry, /etc/fstab apart" $s

# Signed by its vendor: the lock says by whom; asking for that later moves nothing, and looks into nothing again.
export GNUPGHOME=$I/gnupg
mkdir -m 0700 "$GNUPGHOME"
vendor_gpg() { gpg --batch --quiet --yes --no-tty --passphrase '' "$@" 2>>"$I/log"; }
vendor_gpg --quick-gen-key 'Vendor <vendor@example.org>' ed25519 sign never && vendor_gpg --armor --export >"$I/images/vendor.asc"
fingerprint=$(vendor_gpg --list-keys --with-colons | sed -n 's/^fpr:::::::::\(.*\):$/\1/p' | head -n 1)
vendor_signs() { (cd "$I" && sha256sum --tag ext4.qcow2) >"$I/list" && vendor_gpg --clearsign -o "$I/CHECKSUM" "$I/list"; }
ext4() { LIBGUESTFS_HV=/bin/false "$IMGBUILD" "$1" "$I/images/ext4.json" --cache "$I/cache" --mirror "$URL/debian" --offline --progress plain "${@:2}" >"$I/out" 2>&1; }
cp "$I/images/ext4.json" "$I/unsigned.json"
cp "$I/images/ext4.lock.json" "$I/unsigned.lock"
vendor_signs
cat >"$I/images/ext4.json" <<E
{ "name": "ext4", "kind": "tree", "base": { "image": "../ext4.qcow2", "signature": { "file": "../CHECKSUM", "key": "vendor.asc", "fingerprint": "$fingerprint" } } }
E
! ext4 build --locked && grep -q "does not lock the recipe's base image" "$I/out"
s=$?
failed $s
check "with --locked a lock that says of no signature does not do for a recipe that asks for one" $s
ext4 lock && sed "s/\"name\": \"ext4.qcow2\", /&\"signed_by\": \"$fingerprint\", /" "$I/unsigned.lock" | diff - "$I/images/ext4.lock.json" >"$I/diff"
s=$?
failed $s
check "whose signature there was is in the lock, and nothing else moves" $s
mv "$I/CHECKSUM" "$I/CHECKSUM.gone"
ext4 shell --stage base -- /bin/true
s=$?
failed $s
check "a build asks nobody again" $s
cp "$I/images/ext4.lock.json" "$I/signed.lock"
mv "$I/ext4.qcow2" "$I/first.qcow2"
qemu-img convert -O qcow2 "$I/first.qcow2" "$I/ext4.qcow2"
mv "$I/CHECKSUM.gone" "$I/CHECKSUM"
! ext4 lock --update image && grep -q 'and what the vendor signed says' "$I/out" && cmp -s "$I/signed.lock" "$I/images/ext4.lock.json"
s=$?
failed $s
check "another image than the one that was signed is not taken, and the lock stays" $s
vendor_signs
cp "$I/unsigned.lock" "$I/images/ext4.lock.json"
! ext4 lock && grep -q "and .* was locked: restore it, or 'imgbuild lock .* --update image'" "$I/out"
s=$?
failed $s
check "asking for a signature takes no other image than the locked one" $s
cp "$I/signed.lock" "$I/images/ext4.lock.json"
"$IMGBUILD" lock "$I/images/ext4.json" --update image --cache "$I/cache" --mirror "$URL/debian" --offline --progress plain >"$I/out" 2>&1
s=$?
failed $s
[[ $s -eq 0 ]] && grep -q "\"signed_by\": \"$fingerprint\", .*\"sha256\": \"$(sha256sum <"$I/ext4.qcow2" | cut -d' ' -f1)\"" "$I/images/ext4.lock.json"
check "one that the vendor signed since is, when it is asked for" $?
cp "$I/unsigned.json" "$I/images/ext4.json"
ext4 lock && ! grep -q signed_by "$I/images/ext4.lock.json"
s=$?
failed $s
check "a recipe that asks for none any more has none in its lock" $s
gpgconf --kill all
unset GNUPGHOME

# What cannot be imported is told by one message, and the store has nothing half-made.
refused() { # NAME PATTERN
        local s
        rm -f "$lock"
        imp lock
        s=$?
        [[ $s -ne 0 ]] && grep -qE "$2" "$I/out" && [[ $(grep -vc '^[>*!x] ' "$I/out") -eq 1 && ! -e $lock ]] && ! compgen -G "$I/cache/work/*" >/dev/null
        s=$?
        failed $s
        check "$1" $s
}
truncate -s 62M "$I/luks.part"
truncate -s 64M "$I/luks.raw"
echo secret | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 "$I/luks.part" - && echo '1M,62M' | sfdisk -q "$I/luks.raw" &&
        dd if="$I/luks.part" of="$I/luks.raw" bs=1M seek=1 conv=notrunc status=none
sed -i 's/vendor.qcow2/luks.raw/' "$I/images/vendor.json"
refused "an encrypted disk is refused" '/dev/sda1 is encrypted \(LUKS\)'

mkdir -p "$I/two"/{etc,bin,sbin,usr,var,lib,dev,home}
printf 'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_CODENAME=trixie\nVERSION_ID="13"\n' >"$I/two/etc/os-release"
echo 13.1 >"$I/two/etc/debian_version"
echo '/dev/sda1 / ext4 defaults 0 1' >"$I/two/etc/fstab"
truncate -s 65M "$I/two.raw"
printf '1M,32M\n33M,31M\n' | sfdisk -q "$I/two.raw"
for at in 1 33; do mke2fs -q -F -t ext4 -E offset=$((at << 20)) -d "$I/two" "$I/two.raw" 30M 2>/dev/null; done
sed -i 's/luks.raw/two.raw/' "$I/images/vendor.json"
refused "two systems on a disk are both named" 'several systems: say in base.root which: /dev/sda1 \(.*\), /dev/sda2 \('

rm -rf "${I:?}"
exit $rc
