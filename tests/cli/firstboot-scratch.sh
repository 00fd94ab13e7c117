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
result() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" "$NODE/run/firstboot/results/scratch.json"; }
# Content of the disks; holes are not read, for they hold zeros only.
sums() {
        local disk disks=()
        for disk in "$NODE"/dev/nvme?n1; do
                # Of a loop device, the file behind it.
                [[ $(realpath "$disk") != /dev/loop* ]] || disk=$disk=$(sed 's/nvme/image/g; s/n1//g' <<<"$disk")
                disks+=("$disk")
        done
        python3 tests/fixtures/disk-bytes "${disks[@]}"
}

# bytes KIND FILE: superblocks as their formats say, where no program is at hand.
bytes() {
        python3 - "$1" "$2" <<'PY'
import os, random, struct, sys
kind, name = sys.argv[1:]
size = os.path.getsize(name)
out = open(name, "r+b")
def put(at, data):
    out.seek(at)
    out.write(data)
def uberblocks(*labels): # ZFS: magic 0x00bab10c, version 5000
    for label in labels:
        for i in range(8):
            put(label + 128 * 1024 + i * 1024, struct.pack("<QQQQQ", 0x00bab10c, 5000, 100 + i, 7, 1700000000))
def md1(at): # with its checksum
    sb = bytearray(256 + 2 * 4)
    struct.pack_into("<IIII16s32sQIIQII", sb, 0, 0xa92b4efc, 1, 0, 0, bytes(range(16)), b"otherhost:0", 1700000000, 0, 0, 600000, 0, 4)
    struct.pack_into("<QQQQ", sb, 128, 2048, 600000, at // 512, 0)
    struct.pack_into("<I", sb, 220, 4)
    total = sum(struct.unpack("<%dI" % (len(sb) // 4), sb))
    struct.pack_into("<I", sb, 216, ((total & 0xffffffff) + (total >> 32)) & 0xffffffff)
    put(at, sb)
if kind == "zfs":
    uberblocks(0, 256 * 1024)
elif kind == "zfs_end":
    uberblocks(size - 512 * 1024, size - 256 * 1024)
elif kind == "md":
    md1(4096)
elif kind == "md_end":
    md1(size // 512 // 8 * 8 * 512 - 8192)
elif kind == "md_old": # 0.90
    put(size // 65536 * 65536 - 65536, struct.pack("<IIIIII", 0xa92b4efc, 0, 90, 0, 0, 7))
elif kind == "bcache":
    put(4096, struct.pack("<QQQ", 0, 8, 1) + bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81") + bytes(range(16)))
elif kind == "drbd": # 8.4, internal metadata
    put(size - 4096, struct.pack(">QQQQQQQII", 1000, 1, 2, 3, 4, 5, 0, 0, 0x8374026d))
elif kind == "bluestore":
    put(0, b"bluestore block device\n0e6b6e5e-0000-4000-8000-000000000001\n")
elif kind == "vmfs":
    put(1024 * 1024, struct.pack("<II", 0xc001d00d, 5) + bytes(range(120)))
elif kind == "ddf": # an anchor in the last sector; "01.02.00"
    put(size - 512, struct.pack(">II24s8s", 0xde11de11, 0, b"LSI     \x10\x00\x00\x79\x10\x00\x00\x00", b"01.02.00"))
elif kind == "iso9660":
    put(32768, b"\x01CD001\x01\x00" + b"LINUX".ljust(32) + b"DATA".ljust(32) + bytes(8) + struct.pack("<I", 1000) + struct.pack(">I", 1000))
    put(34816, b"\xffCD001\x01")
elif kind == "raw": # as dm-crypt plain writes: nothing but noise, somewhere
    put(150 << 20, random.Random(1).randbytes(4 << 20))
elif kind == "raw_end":
    put(size - 8192, random.Random(1).randbytes(4096))
PY
}
for kind in zfs zfs_end md md_end md_old bcache drbd bluestore vmfs ddf iso9660 raw raw_end; do
        eval "put_$kind() { bytes $kind \"\$1\"; }"
done
zero() { dd if=/dev/zero of="$1" bs=512 seek="$2" count="$3" conv=notrunc status=none; } # FILE SECTOR COUNT
put_lvm() {
        local device
        device=$(losetup --show -f "$1") || return 1
        "$node_build/firstboot-lvm" vgcreate "other$$" "$device" --devices "$device" >/dev/null 2>&1
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
# Their beginnings lost.
put_gpt_no_mbr() { printf 'label: gpt\n,,L\n' | sfdisk -q "$1" && zero "$1" 0 1; }
put_gpt_backup() { printf 'label: gpt\n,,L\n' | sfdisk -q "$1" && zero "$1" 0 2048; }
put_lost_partition() { mkfs.ext4 -q -E offset=1048576 "$1" 200M; }
put_ext4_copies() { mkfs.ext4 -q -b 4096 "$1" && zero "$1" 0 512; }
put_ext4_1k_copies() { mkfs.ext4 -q -b 1024 "$1" && zero "$1" 0 512; }
put_xfs_copies() { mkfs.xfs -q "$1" && zero "$1" 0 512; }
put_btrfs_copies() { mkfs.btrfs -q "$1" && zero "$1" 0 1024; }
put_luks_copy() { put_luks "$1" && zero "$1" 0 8; }
put_lvm_text() { put_lvm "$1" && zero "$1" 0 8; }

# name, what it is called, programs that are needed, code
matrix='gpt gpt sfdisk
dos dos sfdisk
ext4 ext4 mkfs.ext4
xfs xfs mkfs.xfs
damaged_xfs xfs mkfs.xfs
lvm LVM2_member losetup
md linux_raid_member python3
md_end linux_raid_member python3
md_old linux_raid_member python3
luks crypto_LUKS cryptsetup
swap swap mkswap
btrfs btrfs mkfs.btrfs
zfs zfs_member python3
bcache bcache python3
drbd drbd python3
bluestore ceph_bluestore python3
vmfs VMFS_volume_member python3
ddf ddf_raid_member python3
iso9660 iso9660 python3
gpt_no_mbr gpt sfdisk
gpt_backup gpt sfdisk
lost_partition ext4 mkfs.ext4
ext4_copies ext4 mkfs.ext4
ext4_1k_copies ext4 mkfs.ext4
xfs_copies xfs mkfs.xfs
btrfs_copies btrfs mkfs.btrfs
luks_copy crypto_LUKS cryptsetup
lvm_text LVM2_member losetup
zfs_end zfs_member python3
raw data python3 scratch.unknown-data
raw_end data python3 scratch.unknown-data'

export PATH=$PATH:/usr/sbin:/sbin
while read -r kind type program code <&3; do
        name="a disk with $kind is named and left alone"
        command -v "$program" >/dev/null || { echo "skip - $name: $program is missing"; continue; }
        node_new
        for n in 0 1; do disk $n "S$n"; done
        if ! "put_$kind" "$NODE/dev/nvme1n1"; then
                echo "skip - $name: the signature could not be made here"
                node_end
                continue
        fi
        [[ $kind == lvm ]] && loop 1
        config
        before=$(sums)
        run_step
        rc=$?
        # shellcheck disable=SC2016
        check "$name" bash -c '[[ $1 == 1 && $2 == "$5" && $3 == *"/dev/nvme1n1 (serial S1, "*"$4"* ]] || { echo "# $*"; exit 1; }' \
                - "$rc" "$(result code)" "$(result message)" "$type" "${code:-scratch.foreign-signature}"
        check "its bytes, and the other disk's, are what they were ($kind)" test "$before" = "$(sums)"
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
                check "the file system's module loads meanwhile" timeout 120 bash -c 'until grep -qw fs-xfs "$1/modules"; do sleep 0.1; done 2>/dev/null' - "$NODE"
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
                "$node_build/firstboot-lvm" pvcreate "${loops[0]}" --devices "${loops[0]}" >/dev/null 2>&1
                run_step
                check "an orphan whose serial is on record is used" bash -c '[[ $1 == *firstboot.scratch*firstboot.scratch* ]]' - "$(tags)"
                wipefs -qa "${loops[0]}" "${loops[1]}"
                rm "$NODE/var/lib/firstboot/scratch.json"
                "$node_build/firstboot-lvm" pvcreate "${loops[0]}" --devices "${loops[0]}" >/dev/null 2>&1
                run_step
                check "one that is not on record is foreign" test "$(result code)" = scratch.foreign-signature
        else
                echo "skip - volume groups cut short: this kernel has device mapper, the booted tests cover it"
        fi
else
        echo "skip - volume groups on loop devices: no loop device can be had"
fi
cleanup

# Others are at work between our first look and our first write. The double of firstboot-lvm does what they do, right before
# the command that is named.
meanwhile() { # COMMAND SHELL-COMMAND
        rm -f "$NODE/usr/lib/firstboot/firstboot-lvm"
        cat >"$NODE/usr/lib/firstboot/firstboot-lvm" <<L
#!/bin/sh
[ "\$1" = $1 ] && [ ! -e $NODE/meanwhile ] && { touch $NODE/meanwhile; $2; } >/dev/null 2>&1
exec $node_build/firstboot-lvm "\$@"
L
        chmod +x "$NODE/usr/lib/firstboot/firstboot-lvm"
}
alive() { [[ $(blkid -p -o value -s TYPE "$1") == ext4 ]] && e2fsck -fn "$1" >/dev/null 2>&1; }
node_lvm() {
        local d devices=()
        for d in "${loops[@]}"; do devices+=(--devices "$d"); done
        "$node_build/firstboot-lvm" "$@" "${devices[@]}" 2>/dev/null
}
loop_node() { # N: a node with N disks that are loop devices
        local n
        node_new
        for ((n = 0; n < $1; n++)); do disk $n "S$n" && loop $n || return 1; done
}

if loop_node 2; then
        config
        echo '{"instance_id":"i","serials":["S0","S1"]}' >"$NODE/var/lib/firstboot/scratch.json"
        node_lvm pvcreate "${loops[0]}" >/dev/null
        meanwhile pvs "mkfs.ext4 -q ${loops[1]}"
        run_step
        check "a disk that got a file system while the volume was planned stops the step" test "$(result code)" = scratch.changed
        check "and the file system is whole" alive "${loops[1]}"
        cleanup

        loop_node 2
        config
        meanwhile vgcreate "mkfs.ext4 -q ${loops[1]}"
        run_step
        check "one that got it after our last look stops LVM, which is not told to wipe it" test "$(result code)" = scratch.lvm
        check "and it is whole too" alive "${loops[1]}"
        cleanup

        loop_node 2
        config
        mkfs.ext4 -q "${loops[1]}"
        mkfifo "$NODE/release"
        python3 -c 'import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL); open(sys.argv[2] + "/held", "w"); open(sys.argv[2] + "/release").read()' \
                "${loops[1]}" "$NODE" &
        until [[ -e $NODE/held ]]; do sleep 0.05; done
        run_step
        check "a disk that somebody has for himself is in use, and nobody is told to wipe it" test "$(result code)" = scratch.in-use
        : >"$NODE/release"
        wait
        cleanup

        # A volume of two disks, one of which was replaced.
        loop_node 2
        uuid() { node_lvm vgs --noheadings -o vg_uuid "fbtest$$" | tr -d ' '; }
        volume() { node_lvm lvcreate --driverloaded n --activate n --zero n --wipesignatures n --type striped --stripes 2 --extents 100%FREE --name scratch "fbtest$$" >/dev/null; }
        node_lvm vgcreate --addtag firstboot.scratch "fbtest$$" "${loops[@]}" >/dev/null && volume
        printf 'precious' | dd of="${loops[0]}" bs=1M seek=100 conv=notrunc status=none
        blkdiscard -f "${loops[1]}"
        config ',"allow_fewer":true'
        before=$(sums) was=$(uuid)
        run_step
        check "half of a volume is kept, fewer disks allowed or not" test "$(result code)" = scratch.partial-volume
        check "the message names the group's UUID" bash -c '[[ -n $2 && $1 == *"UUID $2"* ]]' - "$(result message)" "$was"
        check "no byte of either disk has changed" test "$before" = "$(sums)"
        config ",\"discard_partial\":[\"$was\"]"
        run_step
        if [[ $(result code) == scratch.lvm ]]; then
                check "given up by its UUID, the group is made anew on both disks" test "$(node_lvm pvs --noheadings -o vg_name | grep -c "fbtest$$")" = 2
                check "with another UUID" bash -c '[[ -n $1 && $1 != "$2" ]]' - "$(uuid)" "$was"
                volume
                node_lvm vgchange --deltag firstboot.incomplete "fbtest$$" >/dev/null
                blkdiscard -f "${loops[0]}"
                before=$(sums)
                run_step
                check "so that the next loss is not covered by the old word" test "$(result code)" = scratch.partial-volume
                check "and nothing is written" test "$before" = "$(sums)"
        else
                echo "skip - volume groups given up: this kernel has device mapper, the booted tests cover it"
        fi
        cleanup
else
        echo "skip - disks that change meanwhile: no loop device can be had"
        cleanup
fi

# More disks configured than there are: the message has key, value, layer and the way out.
node_new
for n in 0 1 2; do disk $n "S$n"; done
config ',"disks":4'
sed -i 's|"instance":|"sources":{"scratch.disks":"/etc/firstboot/conf.d/40-site.json"},&|' "$NODE/run/firstboot/config.json"
run_step
check "fewer disks than configured: key, value and layer are named" \
        bash -c '[[ $1 == *"3 local disks of 4; scratch.disks is 4 in /etc/firstboot/conf.d/40-site.json"* ]]' - "$(result message)"
check "and the ways out" bash -c '[[ $1 == *"config set scratch.disks 3"*scratch.allow_fewer* ]]' - "$(result remedy)"
node_end

# The number of disks that the machine's shape has.
node_new
for n in 0 1 2; do disk $n "S$n"; done
config
sed -i 's/{"config":{/&"shape":{"name":"BM.GPU.A100-v2.8"},/' "$NODE/run/firstboot/config.json"
run_step
check "three disks of a shape's four are too few, on the first boot too" test "$(result code)" = scratch.disk-missing
check "the shape is named" bash -c '[[ $1 == *"BM.GPU.A100-v2.8 has 4"* ]]' - "$(result message)"
node_end

node_new
disk 0 S0
echo "QEMU NVMe Ctrl" >"$NODE/sys/block/nvme0n1/device/model"
config
run_step
check "a hypervisor's disk is left alone, and named" bash -c '[[ $1 == skipped && $2 == *"/dev/nvme0n1 (model QEMU NVMe Ctrl)"*scratch.models* ]]' - \
        "$(result status)" "$(result message)"
node_end

# User data that makes the volume by itself, as documents for other images have it.
user_data_node() {
        loop_node 2 || return 1
        config
        sed -i "s|/mnt/x|$NODE/mnt|" "$NODE/run/firstboot/config.json"
        mkdir -p "$NODE/mnt" "$NODE/run/cloud-init" "$NODE/var/lib/cloud/instance"
        echo '{}' >"$NODE/run/cloud-init/instance-data.json"
        printf '#cloud-config\nruncmd:\n- vgcreate nvme /dev/nvme0n1\n- mkfs.xfs -L localscratch /dev/nvme/lvol0\n' >"$NODE/var/lib/cloud/instance/cloud-config.txt"
        printf 'PARTUUID=1 / ext4 defaults 0 1\n' >"$NODE/etc/fstab"
}
if user_data_node; then
        before=$(sums)
        run_step &
        step_pid=$!
        timeout 120 bash -c 'until grep -q "left alone until cloud-init" "$1"; do sleep 0.1; done 2>/dev/null' - "$NODE/agent.log"
        check "user data that makes volumes goes first: the step waits, and says why" grep -q 'User data has vgcreate' "$NODE/agent.log"
        check "and has not touched a disk" test "$before" = "$(sums)"
        mkfs.xfs -q -L localscratch "${loops[0]}"
        echo "LABEL=localscratch $NODE/mnt/ xfs defaults,noatime 0 0" >>"$NODE/etc/fstab"
        echo "${loops[0]} $NODE/mnt xfs rw,noatime 0 0" >"$NODE/proc/self/mounts"
        before=$(sums)
        echo '{}' >"$NODE/run/cloud-init/result.json"
        wait "$step_pid"
        check "the volume that it made, on one of two disks, is adopted and not mounted a second time" bash -c \
                '[[ $1 == done && $2 == "localscratch on 1 disks adopted"* ]] || { echo "# $*"; exit 1; }' - "$(result status)" "$(result message)"
        check "no byte of the disks was changed" test "$before" = "$(sums)"
        check "its line in fstab does not stop a boot with blank disks" grep -q "xfs defaults,noatime,nofail 0 0" "$NODE/etc/fstab"
        cleanup

        # In vain, as with a disk that is not there: cloud-init ends, and made nothing.
        user_data_node
        echo '{}' >"$NODE/run/cloud-init/result.json"
        run_step
        check "where user data made nothing, the step goes on to make the volume" grep -q '"serials"' "$NODE/var/lib/firstboot/scratch.json"
        cleanup
else
        echo "skip - user data that makes volumes: no loop device can be had"
        cleanup
fi

check "firstboot-lvm refuses force" bash -c '"$1" vgremove --force x; [[ $? == 2 ]] && { "$1" vgremove -ff x; [[ $? == 2 ]]; } && { "$1" pvcreate -yf x; [[ $? == 2 ]]; }' - "$node_build/firstboot-lvm" 2>/dev/null
check "and yes to its questions" bash -c '"$1" vgcreate --yes x; [[ $? == 2 ]] && { "$1" vgcreate --y x; [[ $? == 2 ]]; } && { "$1" pvcreate -qy x; [[ $? == 2 ]]; }' - "$node_build/firstboot-lvm" 2>/dev/null
check "and words that the library would split" bash -c '"$1" pvs "a b"; [[ $? == 2 ]]' - "$node_build/firstboot-lvm" 2>/dev/null
[[ -z $failed ]]
