#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The scratch step on image files and loop devices: whatever libblkid finds that is not ours is named and left
# as it is, byte for byte.
set -u
source tests/fixtures/node.bash
failed=
loops=()
cleanup() {
        for l in "${loops[@]}"; do losetup -d "$l"; done
        loops=()
        node_end
}
trap cleanup EXIT

# disk N SERIAL: a blank disk of 320 MiB as /dev/nvmeNn1 (btrfs and XFS want some room).
disk() {
        local sys=$NODE/sys/block/nvme$1n1
        mkdir -p "$sys/device" "$NODE/sys/class/block" "$NODE/sys/dev/block" "$NODE/dev" "$NODE/proc/self"
        echo "Micron_9300" >"$sys/device/model"
        echo "$2" >"$sys/device/serial"
        echo pcie >"$sys/device/transport"
        echo 655360 >"$sys/size"
        truncate -s 320M "$NODE/dev/nvme$1n1"
        echo '22 1 0:1 / / rw - overlay overlay rw' >"$NODE/proc/self/mountinfo"
        : >"$NODE/proc/swaps"
        : >"$NODE/proc/self/mounts"
}

# loop N: puts a loop device in the place of disk N. LVM looks at block devices only.
loop() {
        local device
        mv "$NODE/dev/nvme$1n1" "$NODE/dev/image$1"
        device=$(losetup --show -f "$NODE/dev/image$1") || return 1
        loops+=("$device")
        ln -s "$device" "$NODE/dev/nvme$1n1"
}

config() {
        printf '{"config":{"scratch":{"vg":"fbtest%s","lv":"scratch","label":"localscratch","filesystem":"xfs","mount_point":"/mnt/x","stripe_size":"64K","options":"noatime"%s}},"instance":{"id":"i"}}' \
                "$$" "${1:-}" >"$NODE/run/firstboot/config.json"
}

# A double of modprobe: no module of the host's is loaded, what was asked for is in $NODE/modules.
modprobe_double() {
        mkdir -p "$NODE/bin"
        printf '#!/bin/sh\necho "$*" >%s/modules\n' "$NODE" >"$NODE/bin/modprobe"
        chmod +x "$NODE/bin/modprobe"
}
run_step() { modprobe_double; PATH=$NODE/bin:$PATH:/usr/sbin:/sbin "$node_build/firstboot-step" scratch >"$NODE/agent.log" 2>&1; }
result() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]+"/run/firstboot/results/scratch.json")).get(sys.argv[2],""))' "$NODE" "$1"; }
# Content of the disks; holes are not read, for they hold zeros only.
sums() {
        python3 - "$NODE"/dev/nvme?n1 <<'PY'
import errno, hashlib, os, sys
for name in sys.argv[1:]:
    real = os.path.realpath(name)
    fd = os.open(name if not real.startswith("/dev/loop") else name.replace("nvme", "image").replace("n1", ""), os.O_RDONLY)
    h, at = hashlib.sha256(), 0
    while True:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as e:
            assert e.errno == errno.ENXIO
            break
        at = os.lseek(fd, start, os.SEEK_HOLE)
        for block in range(start - start % 4096, at, 4096):
            data = os.pread(fd, 4096, block)
            if any(data):
                h.update(b"%d:" % block + data)
    print(name, h.hexdigest())
PY
}

put_zfs() { # The first uberblocks of two labels, as ZFS writes them (magic 0x00bab10c, version 5000).
        python3 - "$1" <<'PY'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    for label in (0, 256 * 1024):
        for i in range(8):
            f.seek(label + 128 * 1024 + i * 1024)
            f.write(struct.pack("<QQQQQ", 0x00bab10c, 5000, 100 + i, 7, 1700000000))
PY
}
put_md() { # A version 1.2 superblock with its checksum.
        python3 - "$1" <<'PY'
import struct, sys
sb = bytearray(256 + 2 * 4)
struct.pack_into("<IIII16s32sQIIQII", sb, 0, 0xa92b4efc, 1, 0, 0, bytes(range(16)), b"otherhost:0", 1700000000, 0, 0, 600000, 0, 4)
struct.pack_into("<QQQQ", sb, 128, 2048, 600000, 8, 0)
struct.pack_into("<I", sb, 220, 4)
total = sum(struct.unpack("<%dI" % (len(sb) // 4), sb))
struct.pack_into("<I", sb, 216, ((total & 0xffffffff) + (total >> 32)) & 0xffffffff)
with open(sys.argv[1], "r+b") as f:
    f.seek(4096)
    f.write(sb)
PY
}
put_lvm() {
        local device
        device=$(losetup --show -f "$1") || return 1
        "$node_build/firstboot-lvm" vgcreate --yes "other$$" "$device" --devices "$device" >/dev/null 2>&1
        losetup -d "$device"
}
put_luks() { echo secret | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" - 2>/dev/null; }
put_btrfs() { mkfs.btrfs -q "$1"; }
put_ext4() { mkfs.ext4 -q -L data "$1"; }
put_xfs() { mkfs.xfs -q "$1"; }
put_swap() { mkswap -q "$1"; }
put_gpt() { printf 'label: gpt\n,,L\n' | sfdisk -q "$1"; }
put_dos() { printf 'label: dos\n,,L\n' | sfdisk -q "$1"; }
put_damaged_xfs() { mkfs.xfs -q "$1" && printf 'x' | dd of="$1" bs=1 seek=300 conv=notrunc status=none; }

# name, what libblkid calls it, programs that are needed
matrix='gpt gpt sfdisk
dos dos sfdisk
ext4 ext4 mkfs.ext4
xfs xfs mkfs.xfs
damaged_xfs xfs mkfs.xfs
lvm LVM2_member losetup
md linux_raid_member python3
luks crypto_LUKS cryptsetup
swap swap mkswap
btrfs btrfs mkfs.btrfs
zfs zfs_member python3'

export PATH=$PATH:/usr/sbin:/sbin
while read -r kind type program <&3; do
        name="a disk with $kind is named and left alone"
        command -v "$program" >/dev/null || { echo "skip - $name: $program is missing"; continue; }
        node_new
        for n in 0 1 2 3; do disk $n "S$n"; done
        if ! "put_$kind" "$NODE/dev/nvme2n1"; then
                echo "skip - $name: the signature could not be made here"
                node_end
                continue
        fi
        [[ $kind == lvm ]] && loop 2
        config
        before=$(sums)
        run_step
        rc=$?
        # shellcheck disable=SC2016
        check "$name" bash -c '[[ $1 == 1 && $2 == scratch.foreign-signature && $3 == *"/dev/nvme2n1 (serial S2, "*"$4"* ]] || { echo "# $*"; exit 1; }' \
                - "$rc" "$(result code)" "$(result message)" "$type"
        check "its bytes, and the other disks', are what they were ($kind)" test "$before" = "$(sums)"
        cleanup
done 3<<<"$matrix"

node_new
for n in 0 1 2; do disk $n "S$n"; done
echo '{"instance_id":"i","serials":["S0","S1","S2","S3"]}' >"$NODE/var/lib/firstboot/scratch.json"
config
run_step
check "a disk that is missing since last time fails" test "$(result code)" = scratch.disk-missing
check "no module is loaded for nothing" test ! -e "$NODE/modules"
check "with its serial" bash -c '[[ $1 == *"missing serial S3"* ]]' - "$(result message)"
node_end

node_new
mkdir -p "$NODE/sys/block" "$NODE/proc/self"
echo '22 1 0:1 / / rw - overlay overlay rw' >"$NODE/proc/self/mountinfo"
config
run_step
check "a node without local disks skips the step" test "$? $(result status)" = "0 skipped"
config ',"required":true'
run_step
check "unless disks are required" test "$(result code)" = scratch.no-disks
node_end

node_new
disk 0 S0
: >"$NODE/dev/nvme0n1" && rm "$NODE/dev/nvme0n1" && ln -s /nonexistent "$NODE/dev/nvme0n1"
config
run_step
check "a disk that cannot be read fails" test "$(result code)" = scratch.probe-failed
node_end

# From here on real volume groups on loop devices. Without device mapper in the kernel no volume can be made, which
# is as good as a power cut right before: the group must be ours, unfinished, and taken up again.
node_new
for n in 0 1; do disk $n "S$n"; done
if loop 0 && loop 1; then
        config
        tags() { "$node_build/firstboot-lvm" pvs --reportformat json -o vg_name,vg_tags,lv_count --devices "${loops[0]}" --devices "${loops[1]}" 2>/dev/null; }
        # lvm, with a look at the lock that tells udev to wait.
        rm "$NODE/usr/lib/firstboot/firstboot-lvm"
        cat >"$NODE/usr/lib/firstboot/firstboot-lvm" <<L
#!/bin/sh
for d in ${loops[@]}; do flock --nonblock "\$d" true && echo "\$1 free" || echo "\$1 held"; done >>$NODE/locks
exec $node_build/firstboot-lvm "\$@"
L
        chmod +x "$NODE/usr/lib/firstboot/firstboot-lvm"
        run_step
        if [[ $(result code) == scratch.lvm ]]; then
                check "the disks are locked against udev while they change" bash -c 'grep -q "^vgcreate held" "$1" && ! grep -qE "^(vgcreate|lvcreate) free" "$1"' - "$NODE/locks"
                check "and no longer" flock --nonblock "${loops[0]}" true
                check "a group that was not finished carries both tags" bash -c '[[ $1 == *firstboot.incomplete,firstboot.scratch* ]]' - "$(tags)"
                check "the file system's module loads meanwhile" timeout 5 bash -c 'until grep -qw fs-xfs "$1/modules"; do sleep 0.1; done 2>/dev/null' - "$NODE"
                check "the disks are on record before the first byte" grep -q '"S1"' "$NODE/var/lib/firstboot/scratch.json"
                run_step
                check "the next run takes the group up, not for foreign" test "$(result code)" = scratch.lvm
                # One disk comes back blank, as after a stop and start.
                "$node_build/firstboot-lvm" vgchange --deltag firstboot.incomplete "fbtest$$" --devices "${loops[0]}" --devices "${loops[1]}" >/dev/null 2>&1
                wipefs -qa "${loops[1]}"
                run_step
                check "a wiped disk is taken into the group again, without force" test "$(tags | grep -c "\"vg_name\":\"fbtest$$\"")" = 2
                # Orphans: power went between pvcreate and vgcreate.
                wipefs -qa "${loops[0]}" "${loops[1]}"
                "$node_build/firstboot-lvm" pvcreate --yes "${loops[0]}" --devices "${loops[0]}" >/dev/null 2>&1
                run_step
                check "an orphan whose serial is on record is used" bash -c '[[ $1 == *firstboot.scratch*firstboot.scratch* ]]' - "$(tags)"
                wipefs -qa "${loops[0]}" "${loops[1]}"
                rm "$NODE/var/lib/firstboot/scratch.json"
                "$node_build/firstboot-lvm" pvcreate --yes "${loops[0]}" --devices "${loops[0]}" >/dev/null 2>&1
                run_step
                check "one that is not on record is foreign" test "$(result code)" = scratch.foreign-signature
        else
                echo "skip - volume groups cut short: this kernel has device mapper, the booted tests cover it"
        fi
else
        echo "skip - volume groups on loop devices: no loop device can be had"
fi
cleanup

check "firstboot-lvm refuses force" bash -c '"$1" vgremove --force x; [[ $? == 2 ]] && { "$1" vgremove -ff x; [[ $? == 2 ]]; } && { "$1" pvcreate -yf x; [[ $? == 2 ]]; }' - "$node_build/firstboot-lvm" 2>/dev/null
check "and words that the library would split" bash -c '"$1" pvs "a b"; [[ $? == 2 ]]' - "$node_build/firstboot-lvm" 2>/dev/null
[[ -z $failed ]]
