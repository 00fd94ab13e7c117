#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Power goes at each write that LVM makes while the scratch volume is made, in the middle of it, and the next run takes the
# disks up again. On loop devices; no volume is made (lvcreate is refused), which is as good as a power cut right before.
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
export PATH=$PATH:/usr/sbin:/sbin

# disk N: a blank disk as /dev/nvmeNn1, serial SN, that is a loop device.
disk() {
        local sys=$NODE/sys/block/nvme$1n1 device
        mkdir -p "$sys/device" "$NODE/sys/class/block" "$NODE/sys/dev/block" "$NODE/dev" "$NODE/proc/self"
        echo "Micron_9300" >"$sys/device/model"
        echo "S$1" >"$sys/device/serial"
        echo pcie >"$sys/device/transport"
        echo 131072 >"$sys/size"
        truncate -s 64M "$NODE/dev/image$1"
        device=$(losetup --show -f "$NODE/dev/image$1") || return 1
        loops+=("$device")
        ln -s "$device" "$NODE/dev/nvme$1n1"
        echo '22 1 0:1 / / rw - overlay overlay rw' >"$NODE/proc/self/mountinfo"
        : >"$NODE/proc/swaps"
        : >"$NODE/proc/self/mounts"
}

node_lvm() {
        local d devices=()
        for d in "${loops[@]}"; do devices+=(--devices "$d"); done
        "$node_build/firstboot-lvm" "$@" "${devices[@]}" 2>/dev/null
}

# The step's lvm: power goes in the command that $NODE/cut names, at the write that it names.
double_of_lvm() {
        rm "$NODE/usr/lib/firstboot/firstboot-lvm"
        cat >"$NODE/usr/lib/firstboot/firstboot-lvm" <<L
#!/bin/bash
[[ \$1 != lvcreate ]] || { echo "refused" >&2; exit 5; }
read -r command CUT_AT <$NODE/cut
[[ \$1 != "\$command" ]] || export CUT_AT LD_PRELOAD=$TOP/$BUILD/tests/fixtures/cut-writes.so
[[ \$1 != pvs || ! -e $NODE/meanwhile ]] || { $node_build/firstboot-lvm "\$@"; . $NODE/meanwhile; exit 0; }
exec $node_build/firstboot-lvm "\$@"
L
        chmod +x "$NODE/usr/lib/firstboot/firstboot-lvm"
}

blank() {
        local l
        for l in "$@"; do blkdiscard -f "$l" 2>/dev/null || return 1; done
}
run_step() { "$node_build/firstboot-step" scratch >>"$NODE/agent.log" 2>&1; }
result() { sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" "$NODE/run/firstboot/results/scratch.json"; }

# What is on the disks before power goes.
before_vgcreate() { blank "${loops[@]}" && rm -f "$NODE/var/lib/firstboot/scratch.json"; }
whole_group() { before_vgcreate && run_step && false || node_lvm pvs --noheadings -o vg_name | grep -qw "fbtest$$"; }
before_vgextend() { whole_group && blank "${loops[1]}" && node_lvm vgreduce --removemissing "fbtest$$" >/dev/null; }
before_vgchange() { whole_group && node_lvm vgchange --deltag firstboot.incomplete "fbtest$$" >/dev/null; }
before_vgreduce() { whole_group && blank "${loops[1]}"; }

# sweep COMMAND: power goes at its first write, at its second, and so on until it ends.
sweep() {
        local at wrong=0
        for ((at = 1; at < 200; at++)); do
                : >"$NODE/cut"
                "before_$1" || { echo "# the disks could not be prepared"; return 1; }
                echo "$1 $at" >"$NODE/cut"
                run_step
                [[ $(result message) == lvcreate:* ]] && break
                : >"$NODE/cut"
                run_step
                if [[ $(result message) != lvcreate:* || $(node_lvm pvs --noheadings -o vg_name,vg_tags | grep -c "fbtest$$ .*firstboot.scratch") != 2 ]]; then
                        echo "# cut at write $at: $(result code): $(result message)"
                        wrong=$((wrong + 1))
                fi
        done
        echo "# $1 writes $((at - 1)) times"
        [[ $wrong -eq 0 && $at -gt 1 && $at -lt 200 ]]
}

# until_lost: power goes at the write after which both disks belong to a group that neither knows.
until_lost() {
        local at
        for ((at = 1; at < 200; at++)); do
                : >"$NODE/cut"
                before_vgcreate || return 1
                echo "vgcreate $at" >"$NODE/cut"
                run_step
                : >"$NODE/cut"
                [[ $(node_lvm pvs --noheadings -o vg_name | grep -c unknown) != 2 ]] || return 0
        done
        return 1
}

node_new
if disk 0 && disk 1; then
        printf '{"config":{"scratch":{"vg":"fbtest%s","lv":"scratch","label":"localscratch","filesystem":"xfs","mount_point":"/mnt/x","stripe_size":"64K","options":"noatime"}},"instance":{"id":"i"}}' \
                "$$" >"$NODE/run/firstboot/config.json"
        double_of_lvm
        check "power goes at any write of the group's making: the next boot makes it" sweep vgcreate
        check "at any write while a disk that came back blank is taken in" sweep vgextend
        check "at any write of the group's tags" sweep vgchange
        check "at any write that strikes off a missing disk" sweep vgreduce

        # Between our look at them and our hold on them an admin makes a group of his own of one.
        until_lost
        check "disks can be left with a group that neither knows" test $? = 0
        cat >"$NODE/meanwhile" <<M
rm $NODE/meanwhile
{ wipefs -qa ${loops[1]} && $node_build/firstboot-lvm vgcreate other$$ ${loops[1]} --devices ${loops[1]}; } >/dev/null 2>&1
M
        untouched=$(sha256sum <"$NODE/dev/image0")
        run_step
        check "one that an admin put into a group meanwhile is not begun anew" test "$(result code)" = scratch.changed
        check "nor is the other" test "$(sha256sum <"$NODE/dev/image0")" = "$untouched"
        check "and his group is whole" test "$(node_lvm vgs --noheadings -o vg_name "other$$" | tr -d ' ')" = "other$$"

        # The next life of the same disks knows nothing of it.
        until_lost
        rm "$NODE/var/lib/firstboot/scratch.json"
        run_step
        check "without the record such disks are somebody's" test "$(result code)" = scratch.foreign-signature
        check "and named so" bash -c '[[ $1 == *"of a volume group that no disk knows"* ]]' - "$(result message)"
else
        echo "skip - power cuts while LVM writes: no loop device can be had"
fi
[[ -z $failed ]]
