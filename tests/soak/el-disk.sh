#!/bin/bash
# A disk of family el: an EL-like distribution of Debian's packages as RPMs, with a kernel, dracut and SELinux's policy, baked from nothing
# with the overlays of a Slurm node and the agent compiled in it, the same bytes in two stores, booted until its node is ready: alone, as a vendor's
# image below another disk, and as a node of a head with a directory, NFS and Slurm.
#
# SELINUX_POLICY=FOLDER  enforcing, by EL's own policy of the repositories there (fixtures/el/selinux-policy), instead of Debian's, permissive
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/el.bash"

# says NAME PATTERN: the answers of the node hold a line that matches.
says() {
        grep -qE -- "$2" "$VM/answers"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || { echo "# nothing like $2 in:"; head -c 4000 "$VM/answers"; }
}

# In service: users from the directory, homes by NFS, jobs.
in_service() {
        VM_IMAGE=$OUT/el-disk/el-disk.raw PROJECT=$E2E/project
        head_make && head_start "${HEAD_SERVICES[@]}"
        check "the head node serves LDAP over TLS, NFS, munge and Slurm" $?
        vm_fresh
        vm_config "$(node_config)"
        vm_on multi-user && [[ $(vm_settles 900) == ready ]]
        s=$?
        check "a node of this family joins it, and is ready" $s
        [[ $s -eq 0 ]] || { vm 'firstbootctl status; journalctl -b -p warning -o cat | tail -n 60'; exit 1; }
        vm 'id alice; findmnt -no FSTYPE /home; findmnt -no FSTYPE /mnt/localdisk; authselect current --raw; cat /etc/nsswitch.conf
                grep -c mkhomedir /etc/pam.d/common-session; systemctl is-active slurmd munge sssd oddjobd; systemctl --failed --no-legend | grep . || echo "no unit failed"' >"$VM/answers" 2>&1
        says "… users are the directory's" '^uid=20001\(alice\) gid=20000\(crew\)'
        says "… homes come by NFS" '^nfs4'
        says "… scratch is XFS" '^xfs'
        says "… authselect has PAM and NSS, and nobody wrote over it" '^sssd with-mkhomedir$'
        says "… homes are asked for once" '^1$'
        says "… no unit has failed" '^no unit failed$'
        [[ $(grep -cx active "$VM/answers") -eq 4 ]]
        check "… slurmd, munge and sssd run" $?
        [[ $(head_run timeout 180 srun hostname 2>"$HEAD_LOG/srun.log") == "$NODE" ]]
        check "… and so does a job" $?
        if [[ -n ${SELINUX_POLICY:-} ]]; then
                [[ $(vm 'getenforce; cat /sys/fs/selinux/booleans/use_nfs_home_dirs') == $'Enforcing\n1 1' ]]
                check "… SELinux is enforcing, and lets home folders be on NFS" $?
        fi
        [[ $(vm_ssh alice 'pwd; df --output=source . | tail -n 1' 2>&1) == $'/home/alice\nhead:/home' ]]
        check "… a user logs in with the directory's key, and finds a home made for him" $?
}

if [[ -n ${HEAD_INSIDE:-} ]]; then
        head_enter "$@"
        trap vm_end EXIT
        in_service
        exit $rc
fi

el_project el-disk-parts
el_recipe el-disk selinux-policy-targeted libselinux-utils policycoreutils <<R
        "kernel": { "package": "kernel", "options": ["SECURITY_SELINUX"], "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check security=selinux" },
        "overlays": ["firstboot", "nfs-client", "ldap-client", "rdma", "slurm-node", "job-env", "tuning", "slim"],
        "disk": { "formats": ["raw"] }
R
build el-disk >>"$W/log" 2>&1
s=$?
check "the disk is baked, its agent compiled in a tree of the family, every check passed and the disk read back" $s
[[ $s -eq 0 ]] || { tail -n 60 "$W/log"; exit 1; }
release=$(python3 -c 'import json,sys
print(*[p["kernel"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if p["name"] == "kernel-core" and "kernel" in p])' "$RECIPES/el-disk.lock.json")
[[ -n $release && $release == "$(manifest el-disk kernel)" ]]
check "the lock has the kernel's release, as its package provides it" $?

# on_disk COMMAND…: debugfs's word on the finished disk's root.
root=$(manifest el-disk disk.root_start)
on_disk() { debugfs -R "$*" "$OUT/el-disk/el-disk.raw?offset=$root" 2>/dev/null; }
entry=$(on_disk ls -p /boot/loader/entries | cut -d/ -f6 | grep conf)
[[ $entry =~ ^[0-9a-f]{32}-"$release"\.conf$ ]] && on_disk cat "/boot/loader/entries/$entry" >"$W/entry" &&
        grep -qx "version $release" "$W/entry" && grep -qx "linux /boot/vmlinuz-$release" "$W/entry" &&
        grep -qx "initrd /boot/initramfs-$release.img" "$W/entry" && grep -q "^options root=UUID=.* ro .*security=selinux" "$W/entry"
check "it has an entry of the Boot Loader Specification" $?
label() { on_disk ea_get "$1" security.selinux | tr -d '"\0'; }
[[ $(label /etc/shadow) == *:shadow_t:* && $(label /usr/sbin/sshd) == *:sshd_exec_t:* && $(label /etc/fstab) == *:etc_t:* && $(label /lost+found) == *:lost_found_t:* ]]
s=$?
check "its files have their labels, those that only the disk has too" $s
[[ $s -eq 0 ]] || { label /etc/shadow; label /usr/sbin/sshd; label /etc/fstab; label /lost+found; }
[[ $(label /usr/lib/firstboot/firstbootd) == *:bin_t:* && $(label /usr/lib/firstboot) != *:bin_t:* ]]
check "the agent's programs are a service's" $?
! on_disk stat /.autorelabel | grep -q Inode
check "nothing is left for the first boot to label" $?

cat >"$W/commands" <<'C'
echo "== selinux"; ls -dZ /etc/shadow | cut -d: -f3; cut -d: -f3 /proc/1/attr/current
echo "== unlabelled"; find / -xdev -context '*:unlabeled_t:*' | wc -l
echo "== enforced"; getenforce; cat /proc/$(systemctl show -P MainPID firstbootd)/attr/current | tr -d '\0' | cut -d: -f3
echo "== rpm"; rpm -q kernel-core openssh-server | wc -l
echo "== kernel"; uname -r
echo "== ready"; firstbootctl status --wait >/dev/null; echo $?
echo "== denied"; journalctl -b -o cat -g 'avc: +denied'
C
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/el-disk/el-disk.raw" --cache "$CACHE" --offline --progress plain --until ready --save "$W/save" -- "$(cat "$W/commands")") >"$W/said" 2>"$W/boot.log"
s=$?
check "it boots until the node is ready" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/boot.log" "$W/said"; exit 1; }
part() { sed -n "/^== $1\$/,/^== /{/^== /!p}" "$W/said"; }
[[ $(part kernel) == "$release" && $(part rpm) -eq 2 && $(part ready) -eq 0 ]]
check "with that kernel, and rpm knows what is there" $?
[[ $(part selinux | tr -d '\0') == $'shadow_t\ninit_t' && $(part unlabelled) -eq 0 ]]
s=$?
check "its policy is loaded, and finds every file labelled" $s
[[ $s -eq 0 ]] || cat "$W/said"
if [[ -n ${SELINUX_POLICY:-} ]]; then
        [[ $(part enforced) == $'Enforcing\nunconfined_service_t' ]]
        check "SELinux is enforcing by EL's own policy, the agent is a service like others" $?
        not_denied < <(part denied)
fi

echo '[{"id": "X", "affected": [{"package": {"ecosystem": "Rocky Linux:9", "name": "el-like"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]}]' >"$W/osv.json"
"$IMGBUILD" inspect "$OUT/el-disk/el-disk.raw" --json --vulnerabilities "$W/osv.json" --cache "$CACHE" --progress plain >"$W/inspected" 2>>"$W/log"
python3 - "$W/inspected" "$RECIPES/el-disk.lock.json" "$(manifest el-disk versions.openssh)" <<'P'
import json, sys
o, lock = (json.load(open(f)) for f in sys.argv[1:3])
locked = {(p["name"], p["version"], p["arch"]) for s in lock["stages"] if not s["id"].startswith("compile") for p in s["packages"]}
there = {(p["name"], p["version"], p["arch"]) for p in o["packages"]}
assert o["problems"] == [] and there == locked, (o["problems"], there ^ locked)
assert sys.argv[3] in {p["version"] for p in o["packages"] if p["name"] == "openssh-server"}, sys.argv[3]
assert [(v["id"], "openssh-server" in v["binaries"]) for v in o["vulnerabilities"]] == [("X", True)], o["vulnerabilities"]
P
check "inspect finds what the lock says, and the checks knew it; a record of the source that they were made from is for all of them" $?

sum=$(sha256sum <"$OUT/el-disk/el-disk.raw")
mkdir -p "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
"$IMGBUILD" build "$RECIPES/el-disk.json" --cache "$W/second" --output "$W/out" --locked --offline --no-proof --progress plain >>"$W/log" 2>&1
s=$?
[[ $s -eq 0 && $sum == "$(sha256sum <"$W/out/el-disk/el-disk.raw")" ]]
check "another store makes the same bytes" $?
rm -rf "$W/second" "$W/out"

# The same system as a vendor's image, on XFS in LVM, is the base of another disk: an overlay's package by its own rpm, the agent compiled anew.
V=$W/vendor
mkdir -p "$V" "$PROJECT/overlays/query"
export LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg
qemu-img create -q -f qcow2 -F raw -b "$OUT/el-disk/el-disk.raw" "$V/el-disk.qcow2"
guestfish --format=qcow2 -a "$V/el-disk.qcow2" -i >>"$W/log" 2>&1 <<G
upload $TOP/COPYING /etc/from-the-vendor
rm-rf /etc/fstab
write /etc/fstab "/dev/mapper/vg-root / xfs defaults 0 0\n"
tar-out / $V/root.tar xattrs:true selinux:true acls:true
G
s=$?
truncate -s 4G "$V/vendor.raw"
truncate -s 3800M "$V/root.xfs"
[[ $s -eq 0 ]] && printf 'label: gpt\n1MiB,64MiB,U\n65MiB,,V\n' | sfdisk -q "$V/vendor.raw" && mkfs.xfs -q "$V/root.xfs" &&
        dd if="$V/root.xfs" of="$V/vendor.raw" bs=1M seek=66 conv=sparse,notrunc status=none && guestfish --format=raw -a "$V/vendor.raw" >>"$W/log" 2>&1 <<G
run
mkfs vfat /dev/sda1 label:ESP
pvcreate /dev/sda2
vgcreate vg /dev/sda2
debug sh "lvm lvcreate -q -Zn -Wn -L 3800M -n root vg"
mount /dev/vg/root /
tar-in $V/root.tar / xattrs:true selinux:true acls:true
G
s=$?
check "a vendor's disk is made of it, on XFS in LVM" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
rm -f "$V"/{root.tar,root.xfs,el-disk.qcow2}
echo '{ "description": "queries", "packages": { "debian": ["jq"], "el": ["jq"] } }' >"$PROJECT/overlays/query/overlay.json"
cat >"$RECIPES/el-vendor.json" <<R
{
        "name": "el-vendor",
        "base": { "image": "$V/vendor.raw" },
        "kernel": { "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check security=selinux" },
        "overlays": ["firstboot", "query"],
        "disk": { "formats": ["raw"] }
}
R
build el-vendor >"$W/out.log" 2>&1
[[ $? -ne 0 ]] && grep -q 'base.repositories: missing: .* is rocky 9' "$W/out.log"
s=$?
check "without repositories nothing can be built on it, and the message says so" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out.log"
sed -i "s|\"image\": .* }|\"image\": \"$V/vendor.raw\", \"repositories\": { \"os\": { \"uri\": \"file://$W/site/os/\", \"key\": \"os.asc\", \"fingerprint\": \"$(<"$W/key/fingerprint")\" } } }|" "$RECIPES/el-vendor.json"
build el-vendor >>"$W/log" 2>&1
s=$?
check "it is the base of a disk" $s
[[ $s -eq 0 ]] || { tail -n 60 "$W/log"; exit 1; }
[[ $(python3 -c 'import json,sys; print(*sorted(p["name"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if not s["id"].startswith("compile")))' "$RECIPES/el-vendor.lock.json") == "jq libjq1 libonig5" ]]
check "… of which only what was missing is locked" $?
"$IMGBUILD" sbom "$OUT/el-vendor" >>"$W/log" 2>&1 && python3 - "$OUT/el-vendor" "$RECIPES/el-disk.lock.json" <<'P'
import json, sys
manifest, parts = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("manifest.json", "release.cdx.json"))
ours = {p["name"] for p in manifest["packages"]}
vendors = {p["name"]: p["version"] for p in manifest["image_packages"]}
below = {p["name"]: p["version"] for s in json.load(open(sys.argv[2]))["stages"] if not s["id"].startswith("compile") for p in s["packages"]}
assert ours == {"jq", "libjq1", "libonig5"} and vendors == below, (ours, set(vendors) ^ set(below))
purls = {c["name"]: c["purl"] for c in parts["components"] if "purl" in c}
assert purls["bash"].startswith("pkg:rpm/rocky/bash@") and purls["vendor.raw"] == "pkg:generic/vendor.raw", purls["bash"]
P
check "… whose manifest and SBOM name the vendor's image and every package of it" $?
cat >>"$W/commands" <<'C'
echo "== vendor"; test -s /etc/from-the-vendor && rpm -q jq | wc -l; ls /boot/loader/entries | wc -l; findmnt -no FSTYPE /
C
(cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/el-vendor/el-vendor.raw" --cache "$CACHE" --offline --progress plain --until ready --save "$W/save" -- "$(cat "$W/commands")") >"$W/said" 2>"$W/boot.log"
s=$?
check "… which boots until the node is ready" $s
[[ $s -eq 0 && $(part vendor) == $'1\n1\next4' && $(part selinux | tr -d '\0') == $'shadow_t\ninit_t' && $(part unlabelled) -eq 0 && $(part kernel) == "$release" ]]
s=$?
check "… with the vendor's kernel and files, the overlay's package, a boot entry of its own, and labels" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/boot.log"; cat "$W/said"; }
mkdir -p "$PROJECT/overlays/query/files/etc"
echo once >"$PROJECT/overlays/query/files/etc/edited"
build el-vendor >>"$W/log" 2>&1
echo twice >"$PROJECT/overlays/query/files/etc/edited"
begin=$EPOCHREALTIME
build el-vendor >>"$W/log" 2>&1
check "one file of an overlay is edited" $?
echo "# to the raw disk, proved: $(python3 -c "print(round($EPOCHREALTIME - $begin, 1))") s"
# The vendor's disk itself, kept: XFS in LVM, written to and read back, labels by its own policy.
sed -e 's/"name": "el-vendor"/"name": "el-keep"/' -e '/"kernel":/d' -e 's/"disk": {/"disk": { "layout": "keep",/' "$RECIPES/el-vendor.json" >"$RECIPES/el-keep.json"
build el-keep >>"$W/log" 2>&1
s=$?
check "the vendor's disk is kept, on XFS in LVM, and written to" $s
[[ $s -eq 0 ]] || { tail -n 30 "$W/log"; exit 1; }
guestfish --ro --format=raw -a "$OUT/el-keep/el-keep.raw" -i >"$W/kept" 2>>"$W/log" <<'G'
cat /etc/edited
getxattr /etc/edited security.selinux
getxattr /usr/lib/firstboot/firstbootd security.selinux
cat /etc/fstab
lvs
vfs-type /dev/vg/root
is-file /usr/bin/jq
G
tr -d '\0' <"$W/kept" >"$W/kept.text"
grep -qx twice "$W/kept.text" && grep -q ':etc_t:' "$W/kept.text" && grep -q ':bin_t:' "$W/kept.text" && grep -q '/dev/mapper/vg-root / xfs defaults 0 0$' "$W/kept.text" &&
        grep -qx /dev/vg/root "$W/kept.text" && grep -qx xfs "$W/kept.text" && grep -qx true "$W/kept.text"
s=$?
check "… with its fstab, volume and labels" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$W/kept.text"
rm -rf "$OUT/el-keep"
rm -rf "$V"
[[ $rc -eq 0 ]] || exit 1
PROJECT=$SHARED/project RECIPES=$SHARED/project/images
head_tree
head_enter "$@" # runs this again, inside
