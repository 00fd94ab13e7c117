#!/bin/bash
# What disks can be: debian-13-cpu's tree with an XFS root and both firmwares, the same bytes from two runs, converted
# there and back, and what happens when there is no room. 22-xfs-boot.sh boots what is built here.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
own_project

[[ -s $RECIPES/debian-13-cpu.lock.json ]] || build debian-13-cpu --no-proof >"$E2E/out" 2>&1 || { tail -n 40 "$E2E/out"; exit 1; }
disk_xfs
disk_variant disk-ext4 '{ "size": "2G", "firmware": ["bios"], "formats": ["raw"] }'
disk_variant disk-small '{ "size": "300M" }'

build disk-xfs >"$E2E/out" 2>&1
s=$?
check "an XFS root for BIOS and UEFI is built and proved" $s
[[ $s -eq 0 ]] || { tail -n 40 "$E2E/out"; exit 1; }
[[ $(manifest disk-xfs disk.filesystem) == xfs && $(manifest disk-xfs disk.bios_start) == 1048576 ]]
check "the manifest says how the disk is laid out" $?

sums() { (cd "$OUT/$1" && cut -d' ' -f1 SHA256SUMS | sort | tr '\n' ' '); }
first=$(sums disk-xfs)
build disk-xfs --force --no-proof >"$E2E/out" 2>&1 && [[ -n $first && $(sums disk-xfs) == "$first" ]]
check "XFS: a second run writes the same bytes" $?

build disk-ext4 --verbose >"$E2E/out" 2>&1
check "an ext4 disk of 2 GiB for BIOS and UEFI is built and proved" $?
[[ $(grep -c 'proof: boot loader, kernel, fstab and .* files are what the tree had' "$E2E/out") -eq 2 ]]
check "each of its files is read back: qcow2 and raw" $?
! grep 'starting another one' "$E2E/out"
check "by the appliance that was started while the disk was written" $?
[[ $(stat -c %s "$OUT/disk-ext4/disk-ext4.raw") == $((2 << 30)) ]]
check "the disk has the size the recipe asks for" $?
first=$(sums disk-ext4)
(cd "$SHARED" && build disk-ext4 --force --no-proof --output images) >"$E2E/out" 2>&1 && [[ -n $first && $(sums disk-ext4) == "$first" ]]
check "ext4: a second run, to a relative path, writes the same bytes" $?

# What a file is besides its bytes, on a disk of either file system.
mkdir -p "$PROJECT/overlays/odd" "$PROJECT/overlays/long" "$E2E/odd"
cat >"$PROJECT/overlays/odd/make.sh" <<'E'
#!/bin/sh
set -eu
mkdir -p /srv/odd
cd /srv/odd
echo x >file
ln file hard
mkfifo fifo
cp /bin/true capable
truncate -s 3G hole
printf x | dd of=hole bs=1 seek=2900000000 conv=notrunc status=none
python3 - <<'P'
import os, struct
acl = lambda *entries: struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
none = 0xffffffff
os.setxattr("file", "system.posix_acl_access", acl((1, 6, none), (2, 4, 4321), (4, 4, none), (16, 4, none), (32, 0, none)))
os.setxattr("/srv/odd", "system.posix_acl_default", acl((1, 7, none), (2, 5, 4321), (4, 5, none), (16, 5, none), (32, 5, none)))
os.setxattr("file", "user.note", b"kept" * 200)
os.setxattr("capable", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))
P
E
cat >"$PROJECT/overlays/long/make.sh" <<'E'
#!/bin/sh
set -eu
cd /srv
i=0
while [ $i -lt 210 ]; do
        mkdir dddddddddd
        cd dddddddddd
        i=$((i + 1))
done
E
chmod 0755 "$PROJECT"/overlays/{odd,long}/make.sh
odd() { # NAME FILESYSTEM OVERLAY
        echo '{ "description": "odd files", "run": ["make.sh"] }' >"$PROJECT/overlays/$3/overlay.json"
        disk_variant "$1" "{ \"filesystem\": \"$2\", \"formats\": [\"raw\"] }"
        sed -i "s/\"extends\"/\"overlays\": [\"$3\"], &/" "$RECIPES/$1.json"
}
for fs in ext4 xfs; do
        odd "odd-$fs" $fs odd
        rm -rf "${OUT:?}/odd-$fs"
        build "odd-$fs" --no-proof >"$E2E/out" 2>&1 && mount -o "ro,loop,offset=$(manifest "odd-$fs" disk.root_start)" "$OUT/odd-$fs/odd-$fs.raw" "$E2E/odd"
        s=$?
        check "$fs: a tree with odd files becomes a disk" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$E2E/out"; continue; }
        python3 - "$E2E/odd/srv/odd" $fs >"$E2E/odd.said" 2>&1 <<'P'
import os, stat, sys
os.chdir(sys.argv[1])
if sys.argv[2] == "ext4":
    assert b"\x02\0\x04\0" + (4321).to_bytes(4, "little") in os.getxattr("file", "system.posix_acl_access"), "access list"
    assert (4321).to_bytes(4, "little") in os.getxattr(".", "system.posix_acl_default"), "default list"
else:
    assert os.listxattr("file") == ["user.note"], os.listxattr("file")
assert os.getxattr("file", "user.note") == b"kept" * 200, "attribute"
assert os.getxattr("capable", "security.capability")[4:8] == (1 << 13).to_bytes(4, "little"), "capability"
assert os.stat("file").st_ino == os.stat("hard").st_ino and os.stat("file").st_nlink == 2, "hard link"
assert stat.S_ISFIFO(os.stat("fifo").st_mode), "FIFO"
hole = os.stat("hole")
assert hole.st_size == 3 << 30 and hole.st_blocks < 2048 and os.pread(os.open("hole", os.O_RDONLY), 1, 2900000000) == b"x", "hole"
P
        s=$?
        check "$fs: attributes, capabilities, hard links, FIFOs and holes are on it, on ext4 access lists" $s
        [[ $s -eq 0 ]] || cat "$E2E/odd.said"
        grep -q 'imgbuild: warning: 3 files and folders, /srv/odd is the first, lose access lists' "$E2E/out"
        s=$?
        [[ $fs == ext4 ]] || check "xfs: that it loses access lists is told" $s
        umount "$E2E/odd"
done

# Times of access and change are the host's: one of them behind the lock's, as `cp -a` and a clock that is slow leave them.
first=$(sums odd-ext4)
layer=$(ls -d "$CACHE"/layers/*/tree/srv/odd | head -n 1)
touch -a -d @1000 "$layer/file" && build odd-ext4 --no-proof --force >"$E2E/out" 2>&1 && [[ -n $first && $(sums odd-ext4) == "$first" ]]
check "ext4: the same bytes where a file's time of access is older than the lock" $?

odd long ext4 long
rm -rf "${OUT:?}/long"
build long --no-proof >"$E2E/out" 2>&1
[[ $? -ne 0 && ! -e $OUT/long ]] && grep -q 'of the tree is a path of 2[0-9]* bytes; at most 2000' "$E2E/out"
check "a path that mke2fs does not take is refused by one message" $?

build disk-small --no-proof >"$E2E/out" 2>&1
[[ $? -eq 3 && ! -e $OUT/disk-small ]] && grep -q 'disk.size: the tree has .* does not fit' "$E2E/out"
check "a disk that the tree does not fit in is refused, with the size it needs" $?

# The proof must be able to fail: the same disk with a bit flipped in each boot loader and in the backup of its partition table, a mode, an owner and a time
# changed, an access list lost, and a file gone.
# It cannot be started beside here: QEMU takes no monitor, so there has to be another one.
mkdir -p "$E2E/damaged"
printf '#!/bin/bash\n[[ " $* " != *" -qmp "* ]] && exec qemu-system-x86_64 "$@"\nexit 1\n' >"$E2E/qemu"
chmod 0755 "$E2E/qemu"
make -s -C "$TOP" "$BUILD/tests/fixtures/damaged-disk" >"$E2E/out" 2>&1 &&
        LIBGUESTFS_HV=$E2E/qemu "$TOP/$BUILD/tests/fixtures/damaged-disk" "$RECIPES/disk-ext4.json" "$CACHE" "$E2E/damaged" >"$E2E/out" 2>&1
s=$?
[[ $s -eq 1 ]]
check "a damaged disk does not pass the proof" $?
for what in 'the backup partition table is damaged' "the BIOS boot loader's SHA-256 is" 'BOOTX64.EFI has SHA-256' '/boot/vmlinuz-[^ ]* has mode 100600' \
        '/usr/lib/os-release belongs to 1000:0' '/usr/lib/os-release is of second 1 ' '/var/log/journal has lost its .*access list' '/etc/fstab'; do
        grep -q "proof: .*$what" "$E2E/out"
        check "the proof names it: $what" $?
done
rm -rf "$E2E/damaged"

raw=$OUT/disk-ext4/disk-ext4.raw
# What qemu-img is given to write to, by the sandbox's own command line: the draft, not the folder with whatever else lies there.
mkdir -p "$E2E/bin"
printf '#!/bin/bash\nprintf "%%s\\n" "$@" >>%q\nexec %q "$@"\n' "$E2E/bwrap.argv" "$(command -v bwrap)" >"$E2E/bin/bwrap"
chmod 0755 "$E2E/bin/bwrap"
: >"$E2E/bwrap.argv"
export_to() { (cd "$PROJECT" && "$IMGBUILD" export "$@" --cache "$CACHE" --force --progress plain) >"$E2E/out" 2>&1; }
for format in qcow2 vhd vmdk; do
        PATH=$E2E/bin:$PATH export_to "$raw" --format=$format --output=there.$format && export_to there.$format --format=raw &&
                cmp -s "$raw" "$PROJECT/there.raw"
        check "raw to $format and back is the same disk" $?
        rm -f "$PROJECT"/there.*
done

# The archives, opened by other programs; of a small disk, for they take their time. Theirs may be longer, by zeros.
small=$E2E/small.raw
truncate -s 64M "$small" && printf 'label: gpt\nstart=2048, size=60000\nsize=20000, type=uefi\n' | sfdisk -q "$small" && dd if="$raw" of="$small" bs=1M skip=140 seek=2 count=9 conv=notrunc status=none
export_to "$small" --format=gce --output=there.tar.gz && [[ $(tar -tzvf "$PROJECT/there.tar.gz" | awk '{ print $NF, $3 % 2 ^ 30 }') == 'disk.raw 0' ]] &&
        tar -xzOf "$PROJECT/there.tar.gz" disk.raw | cmp -n $((64 << 20)) "$small" -
check "gce: tar finds disk.raw in whole GiB, and the same disk in it" $?
export_to "$small" --format=raw.zst --output=there.raw.zst && zstd -q -d -c "$PROJECT/there.raw.zst" | cmp "$small" -
check "raw.zst: zstd unpacks the same disk" $?
export_to "$small" --format=oci --output=there.oci && tar -C "$PROJECT" -xf "$PROJECT/there.oci" &&
        python3 -m json.tool "$PROJECT/image_metadata.json" >"$E2E/out" && grep -q UEFI_64 "$E2E/out" &&
        qemu-img compare -q -f raw -F qcow2 "$small" "$PROJECT/output.QCOW2"
check "oci: launch options, and the same disk as qcow2" $?
export_to "$small" --format=ova --output=there.ova && mkdir -p "$E2E/ova" && tar -C "$E2E/ova" -xf "$PROJECT/there.ova" &&
        [[ $(tar -tf "$PROJECT/there.ova" | tr '\n' ' ') == 'image.ovf image.mf image-disk1.vmdk ' ]] &&
        (cd "$E2E/ova" && sed -E 's/^SHA256\((.*)\)= (.*)/\2  \1/' image.mf | sha256sum -c --quiet) &&
        grep -q 'vmw:key="firmware" vmw:value="efi"' "$E2E/ova/image.ovf" && qemu-img compare -q -f raw -F vmdk "$small" "$E2E/ova/image-disk1.vmdk"
check "ova: descriptor, sums that are right, and the same disk as VMDK, in the order that OVF wants" $?
python3 - "$E2E/ova" <<'E'
import os, sys, xml.etree.ElementTree as tree
ns = "{http://schemas.dmtf.org/ovf/envelope/1}"
root = tree.parse(sys.argv[1] + "/image.ovf").getroot()
file, disk = root.find(f".//{ns}File"), root.find(f".//{ns}Disk")
assert int(file.get(ns + "size")) == os.path.getsize(os.path.join(sys.argv[1], file.get(ns + "href")))
assert disk.get(ns + "fileRef") == file.get(ns + "id") and int(disk.get(ns + "capacity")) == 64 << 20
rasd = "{http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData}"
items = {i.findtext(rasd + "InstanceID"): i for i in root.iter(ns + "Item")}
assert len(items) == 5 and all([c.tag for c in i] == sorted(c.tag for c in i) for i in items.values())
drive = [i for i in items.values() if i.findtext(rasd + "HostResource") == "ovf:/disk/" + disk.get(ns + "diskId")]
assert len(drive) == 1 and items[drive[0].findtext(rasd + "Parent")].findtext(rasd + "ResourceSubType") == "AHCI"
E
check "ova: its machine has the disk at its controller, in the sizes of the files" $?
rm -rf "$E2E/ova"
# A disk without an EFI system partition starts by BIOS alone; a qcow2, for the table is read through its format.
printf 'label: gpt\nstart=2048, size=60000\n' | sfdisk -q "$small" && export_to "$small" --format=qcow2 --output=there.qcow2 &&
        export_to there.qcow2 --format=oci --output=there.oci && tar -C "$PROJECT" -xf "$PROJECT/there.oci" image_metadata.json &&
        grep -q '"firmware": "BIOS"' "$PROJECT/image_metadata.json" &&
        export_to there.qcow2 --format=ova --output=there.ova && tar -xOf "$PROJECT/there.ova" image.ovf >"$E2E/out" && grep -q 'vmw:key="firmware" vmw:value="bios"' "$E2E/out"
check "oci, ova: a disk for BIOS alone is said to be one" $?
rm -f "$PROJECT"/there.*
export_to "$small" --format=artifact --output=there.tar && mkdir -p "$E2E/layout" && tar -C "$E2E/layout" -xf "$PROJECT/there.tar" &&
        blob=$(python3 -c 'import json, sys
def blob(d): return sys.argv[1] + "/blobs/" + d["digest"].replace(":", "/")
manifest = json.load(open(blob(json.load(open(sys.argv[1] + "/index.json"))["manifests"][0])))
print(blob(manifest["layers"][0]))' "$E2E/layout") && qemu-img compare -q -f raw -F qcow2 "$small" "$blob"
check "artifact: the disk is the one layer of an OCI image layout" $?
rm -rf "$E2E/layout"
rm -f "$PROJECT"/there.* "$PROJECT"/{image_metadata.json,output.QCOW2} "$small"

place=$(realpath "$PROJECT")
grep -qx "$place/.imgbuild-draft-.*" "$E2E/bwrap.argv" && ! grep -qx "$place" "$E2E/bwrap.argv"
check "qemu-img sees the file that it writes, and nothing beside it" $?

qcow2=$OUT/disk-ext4/disk-ext4.qcow2
export_to "$raw" --format=qcow2 --output=again.qcow2 && cmp -s "$qcow2" "$PROJECT/again.qcow2"
check "qcow2: an export of the raw disk has the bytes of the build's" $?
rm -f "$PROJECT/again.qcow2"
qemu-img check -q "$qcow2" >"$E2E/out" 2>&1 && qemu-img compare -q -f raw -F qcow2 "$raw" "$qcow2"
check "qcow2: qemu-img finds no fault in it, and the raw disk's content" $?

# What is other on a disk of the same tree, and the same bytes from that.
cpu=$OUT/debian-13-cpu/debian-13-cpu.qcow2
[[ -s $cpu ]] || build debian-13-cpu --no-proof >"$E2E/out" 2>&1
export_to "$qcow2" --delta="$cpu" --output=there.delta && [[ $(($(stat -c %s "$PROJECT/there.delta") * 20)) -lt $(stat -c %s "$qcow2") ]]
check "delta: it is small beside the image" $?
(cd "$PROJECT" && "$IMGBUILD" apply there.delta "$cpu" -o again.qcow2 --cache "$CACHE" --progress plain) >"$E2E/out" 2>&1 && cmp -s "$qcow2" "$PROJECT/again.qcow2"
check "delta: the image comes again from another one, in the bytes of the build's" $?
qemu-img create -q -f qcow2 -b "$cpu" -F qcow2 "$E2E/booted.qcow2" && qemu-io -c 'write -P 1 700M 4k' "$E2E/booted.qcow2" >"$E2E/out" 2>&1 &&
        qemu-img convert -O raw "$E2E/booted.qcow2" "$E2E/booted.raw" && (cd "$PROJECT" && "$IMGBUILD" apply there.delta "$E2E/booted.raw" -o booted --raw) >"$E2E/out" 2>&1
[[ $? -eq 3 && ! -e $PROJECT/booted ]] && grep -q 'booted and changed' "$E2E/out"
check "delta: an image that was written to is refused" $?
rm -f "$PROJECT"/there.* "$PROJECT/again.qcow2" "$E2E"/booted.*

# A full disk below the output folder, seen by this build alone.
mkdir -p "$E2E/full"
unshare -m sh -c 'mount -t tmpfs -o size=40m tmpfs "$1/full" && shift && "$@"; s=$?; ls -A "$0/full" >"$0/full.left"; exit $s' \
        "$E2E" "$E2E" "$IMGBUILD" build "$RECIPES/disk-xfs.json" --cache "$CACHE" --output "$E2E/full" --force --no-proof --progress plain >"$E2E/out" 2>&1
[[ $? -eq 5 ]] && grep -q 'No space for .* has .* free and about ' "$E2E/out"
check "no room for the image: one message says so, exit code 5" $?
! grep -v '\.lock$' "$E2E/full.left"
check "no room for the image: nothing half-written is left" $?

no_scratch
check "scratch is gone" $?
no_leftovers
check "nothing is left mounted or running" $?
exit $rc
