#!/bin/bash
# The scratch step on a booted node's own NVMe disks, with the kernel's device mapper: what may hold data is the same, byte for
# byte, before and after, and what power cuts leave half made is made. One boot; the cases run one after the other, and
# "reboots" between them are the volume taken down. Bytes are compared from outside, in the files that are the disks.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then alone cpu_image; fi
head_enter "$@"
trap 'vm_off; rm -rf "$VM_SSH"; [[ $rc -ne 0 ]] || rm -rf "$VM/state"' EXIT
make_key

# What runs on the node. The step is run as firstbootd runs it, on a configuration of the case's own.
on_node() {
        cat <<'E'
lvm=/usr/lib/firstboot/firstboot-lvm
disk() { # by its serial, which the kernel pads with blanks
        for d in /sys/block/nvme?n1; do
                read -r serial <"$d/device/serial"
                [ "$serial" != "imgbuild$1" ] || echo "/dev/${d##*/}"
        done
}
step() { # [MORE KEYS]
        rm -f /run/firstboot/results/scratch.json
        printf '{"config":{"scratch":{"vg":"localscratch","lv":"scratch","label":"localscratch","filesystem":"xfs","mount_point":"/mnt/localdisk","stripe_size":"64K","options":"noatime","models":["QEMU*"]%s}},"instance":{"id":"i"}}' \
                "${1:-}" >/run/firstboot/config.json
        /usr/lib/firstboot/firstboot-step scratch >/run/step.log 2>&1
        cat /run/firstboot/results/scratch.json 2>/dev/null && echo
        sync
}
down() { # as a reboot leaves it
        for m in /mnt/localdisk /mnt/other; do ! mountpoint -q $m || umount $m; done
        for g in localscratch nvme; do vgchange -qan $g >/dev/null 2>&1; done
        sync
        for i in 0 1 2 3; do blockdev --flushbufs "$(disk $i)"; done
}
new() { # as a new machine's disks are
        down
        for i in 0 1 2 3; do blkdiscard -qf "$(disk $i)"; done
        rm -f /var/lib/firstboot/scratch.json
        udevadm settle
}
uuid() { vgs --noheadings -o vg_uuid localscratch | tr -d ' '; }
# The step dies as by a power cut right after a command of lvm's (its first word), or after mkfs.
cut() {
        mkdir -p /root/cut
        printf '#!/bin/sh\n/root/cut/lvm "$@"; s=$?\n[ "$1" = %s ] && kill -9 $PPID\nexit $s\n' "$1" >/root/cut/wrapper
        printf '#!/bin/sh\n/usr/sbin/mkfs.xfs "$@"\nkill -9 $PPID\n' >/root/cut/mkfs.xfs
        chmod +x /root/cut/*
        [ -x /root/cut/lvm ] || cp $lvm /root/cut/lvm
        if [ "$1" = mkfs.xfs ]; then
                PATH=/root/cut:$PATH step
        else
                mount --bind /root/cut/wrapper $lvm
                step
                umount $lvm
        fi
        [ ! -e /run/firstboot/results/scratch.json ] && echo cut
}
# A published document's user data, as cloud-init has it and runs it (docs/clusters/containerd.md): a group nvme on these disks.
document() { # DISK…
        mkdir -p /var/lib/cloud/instance/scripts
        printf '%s\n' '#!/bin/sh' "vgcreate nvme $*" 'lvcreate -l 100%FREE nvme' 'mkfs.xfs -L localscratch /dev/nvme/lvol0' 'mkdir -p /mnt/localdisk' \
                'echo "LABEL=localscratch /mnt/localdisk/ xfs defaults,noatime 0 0" >> /etc/fstab' 'systemctl daemon-reload' 'mount /mnt/localdisk' \
                >/var/lib/cloud/instance/scripts/runcmd
        sh /var/lib/cloud/instance/scripts/runcmd </dev/null >/run/document.log 2>&1
        sync
}
forget() { # another instance: nothing of the root disk's is left
        sed -i '\|/mnt/localdisk/|d' /etc/fstab
        rm -f /var/lib/firstboot/scratch.json /var/lib/cloud/instance/scripts/runcmd
        systemctl daemon-reload
}
wipe() { # DISK…, by number
        for i; do blkdiscard -qf "$(disk "$i")"; done
        udevadm settle
}
# Groups with their disks and volumes, where it is mounted, what fstab says.
look() {
        echo "groups $(vgs --noheadings -o vg_name,pv_count,lv_count | xargs)"
        echo "mounted $(findmnt -n -l -o SOURCE,FSTYPE -M /mnt/localdisk | xargs)"
        echo "times $(grep -c ' /mnt/localdisk ' /proc/self/mounts)"
        echo "fstab $(grep -c '/mnt/localdisk/.*nofail' /etc/fstab)"
        echo "word $(cat /mnt/localdisk/word 2>/dev/null)"
}
E
}

vm_fresh
mkdir -p "$VM/files"
vm_user_data >"$VM/user-data"
vm_file /etc/firstboot/conf.d/50-e2e.json <<<'{}'
on_node | vm_file /root/on_node
vm_file /root/rootless <"$TOP/overlays/rootless-common/files/usr/lib/rootless/user"
vm_resume && vm_settles 300 >/dev/null
check "the node boots" $?
[[ $rc -eq 0 ]] || exit 1
[[ $(vm 'systemctl --no-block start slurmd; sleep 2; systemctl show -P AssertResult slurmd; systemctl stop slurmd; systemctl reset-failed slurmd 2>/dev/null') == yes ]]
check "nobody has told it of Slurm: slurmd may be started by hand" $?
# Without firstbootd, which would take a verdict that it has not asked for as what it is.
vm 'systemctl stop firstbootd && rm -f /run/firstboot/results/scratch*'
check "its agent stops" $? || exit 1

node() { vm ". /root/on_node; $1" >"$VM/answers" 2>&1; }
says() { # NAME PATTERN
        grep -qE -- "$2" "$VM/answers"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || { echo "# nothing like $2 in:"; head -c 2000 "$VM/answers"; vm 'tail -n 30 /run/step.log'; }
}
keep() { rm -rf "$VM/kept" && mkdir "$VM/kept" && cp --sparse=always "$VM"/state/nvme?.raw "$VM/kept/"; }
put_back() { # as keep found them; the node has nothing of them open
        local i
        node 'down; for i in 0 1 2 3; do blkdiscard -qf "$(disk $i)"; done'
        for i in 0 1 2 3; do dd if="$VM/kept/nvme$i.raw" of="$VM/state/nvme$i.raw" bs=64K conv=notrunc,sparse status=none; done
        node 'down'
}
# refuses CODES NAME [MORE KEYS]: the step fails with one of these codes, and no byte of any disk is changed by it.
refuses() {
        local before
        before=$(vm_bytes)
        node "step '${3:-}'; down"
        says "$2: refused" "\"code\":\"scratch\.($1)\""
        [[ $(vm_bytes) == "$before" ]]
        check "$2: every byte is what it was" $?
}

vm_status
[[ $(vm_py 'o["step"]["scratch"]["result"]["message"]') == *"QEMU NVMe Ctrl"* && $(vm_bytes | cut -d' ' -f2 | sort -u | wc -l) == 1 ]]
check "disks of a hypervisor's are left alone while nobody names them" $?

# --- the volume, and what may become of it ------------------------------------------------------------------------------
node 'step; uuid; dd if=/dev/urandom of=/mnt/localdisk/precious bs=1M count=16 2>/dev/null; sha1sum </mnt/localdisk/precious >/root/sum; vgs --noheadings -o vg_tags; down'
says "four empty disks become the volume" '"message":"localscratch on 4 disks made'
says "which is tagged ours, and finished" '^ *firstboot\.(machine\.[^,]*,firstboot\.)?scratch$'
uuid=$(grep -oE '^[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}$' "$VM/answers")
keep

node 'blkdiscard -qf "$(disk 2)"'
refuses partial-volume "one disk of four replaced"
refuses partial-volume "and fewer allowed" ',"allow_fewer":true'
node 'rm /var/lib/firstboot/scratch.json'
refuses partial-volume "and on a node that was installed anew" ',"allow_fewer":true'

put_back
node 'step; sha1sum </mnt/localdisk/precious | cmp - /root/sum && echo same; down'
says "the disk put back, the volume is adopted" '"message":"localscratch on 4 disks adopted'
says "with its data" '^same$'

node 'dd if=/dev/zero of="$(disk 1)" bs=1M count=1 conv=fsync 2>/dev/null'
refuses 'partial-volume|foreign-signature|unknown-data' "the first MiB of one disk wiped"
refuses partial-volume "and fewer allowed" ',"allow_fewer":true'

put_back
node 'for i in 0 1 2 3; do wipefs -qa "$(disk $i)"; done'
refuses foreign-signature "the labels of all four gone"

put_back
node 'blkdiscard -qf "$(disk 2)"'
node "step ',\"discard_partial\":[\"$uuid\"]'; uuid; df -B1 --output=size /mnt/localdisk | tail -n 1; down"
says "given up by its UUID, the volume is made anew on all four" '"message":"localscratch on 4 disks rebuilt'
says "and is as large as four" '^ *(39|4[0-9])[0-9]{8}$'
! grep -qx "$uuid" "$VM/answers"
check "under another UUID" $?

# --- somebody else's ----------------------------------------------------------------------------------------------------
node 'new; mkfs.ext4 -q -L precious "$(disk 1)" && mkdir -p /mnt/other && mount "$(disk 1)" /mnt/other; step; down'
says "a disk that is mounted is in use" '"code":"scratch.in-use"'

node 'new
        mkfs.ext4 -q "$(disk 0)"; dd if=/dev/zero of="$(disk 0)" bs=64K count=1 2>/dev/null
        printf "label: gpt\n,,L\n" | sfdisk -q --no-reread --no-tell-kernel "$(disk 1)"; dd if=/dev/zero of="$(disk 1)" bs=512 count=1 2>/dev/null
        mkfs.xfs -q "$(disk 2)"; dd if=/dev/zero of="$(disk 2)" bs=64K count=1 2>/dev/null
        dd if=/dev/urandom of="$(disk 3)" bs=1M seek=500 count=8 2>/dev/null; down'
refuses foreign-signature "ext4 and XFS without first superblock, a GPT without MBR, raw data"
says "ext4 is named" 'imgbuild0, [^;]*ext4'
says "GPT is named" 'imgbuild1, [^;]*gpt'
says "XFS is named" 'imgbuild2, [^;]*xfs'
node 'for i in 0 1 2; do blkdiscard -qf "$(disk $i)"; done; rm -f /var/lib/firstboot/scratch.json'
refuses unknown-data "raw data alone"
node "step ',\"claim\":[\"imgbuild3\"]'"
says "claimed by its serial, the disk is used" '"message":"localscratch on 4 disks made'

# --- power cuts while it is made ----------------------------------------------------------------------------------------
for command in vgcreate lvcreate mkfs.xfs; do
        node "new; cut $command; down; step"
        says "power goes after $command" '^cut$'
        says "after $command: the next boot makes the volume" '"message":"localscratch on 4 disks rebuilt'
done

# --- a document's own volume, by user data -------------------------------------------------------------------------------
node 'new; document "$(disk 0)" "$(disk 1)"; echo mine >/mnt/localdisk/word; sync'
others() { (cd "$VM/state" && python3 "$TOP/tests/fixtures/disk-bytes" nvme2.raw nvme3.raw); }
before=$(others)
node 'step; look; step; look'
says "user data's volume on two of four disks: adopted" '"status":"done".*adopted'
says "… one group, one volume" '^groups nvme 2 1$'
says "… mounted as it was" '^mounted /dev/mapper/nvme-lvol0 xfs$'
[[ $(grep -c '^times 1$' "$VM/answers") == 2 ]]
check "… once, and once more the step changes nothing" $?
says "… and its line in fstab may fail" '^fstab 1$'
[[ $(others) == "$before" ]]
check "… the other two disks are what they were" $?
node 'down; vgchange -qay nvme; step; look'
says "the next boot, where user data does not run again: adopted, with its data" '^word mine$'
says "… mounted once" '^times 1$'
node 'down; wipe 0 1 2 3; step; look'
says "its disks came back blank: our volume on all four, where fstab has it" '^mounted /dev/mapper/localscratch-scratch xfs$'
says "… one group" '^groups localscratch 4 1$'
says "… mounted once" '^times 1$'

node 'new; forget; document "$(disk 0)" "$(disk 1)" "$(disk 2)" "$(disk 3)"; echo old >/mnt/localdisk/word; down; forget; vgchange -qay nvme
        document "$(disk 0)" "$(disk 1)" "$(disk 2)" "$(disk 3)"; step; look'
says "a group nvme from an earlier life: the same volume, with its data" '^word old$'
says "… one group" '^groups nvme 4 1$'
says "… mounted once" '^times 1$'
node 'down; forget; wipe 0 1 2 3; document "$(disk 0)" "$(disk 1)" "$(disk 2)" "$(disk 3)"; step; look'
says "an earlier life, and the disks wiped in between: user data's volume, new" '^groups nvme 4 1$'
says "… and empty" '^word $'
says "… mounted once" '^times 1$'
node 'down; forget; wipe 2 3; document "$(disk 0)" "$(disk 1)" "$(disk 2)" "$(disk 3)"; cat /run/document.log; down'
refuses foreign-signature "of its four disks two were wiped, and the others hold what is left"
says "… and the group is named" 'nvme'
node 'new; forget; document "$(disk 0)" "$(disk 1)" /dev/nvme8n1 /dev/nvme9n1; step; look; down; forget'
says "user data that names disks which are not there makes nothing: our volume" '^groups localscratch 4 1$'
says "… mounted once, where its fstab line has it" '^times 1$'

# --- what users of containers without root may take (overlay rootless-common) ---------------------------------------------
node 'new; step; umount /mnt/localdisk; mount -o noatime,prjquota /dev/localscratch/scratch /mnt/localdisk; chmod 1777 /mnt/localdisk
        useradd -m -u 10000 usera; useradd -m -u 10001 userb; echo QUOTA=20m >/etc/rootless.conf
        login() { bash /root/rootless start $1; }
        fill() { setpriv --reuid $1 --regid $1 --clear-groups dd if=/dev/zero of=/mnt/localdisk/rootless/$2/containerd/$3 bs=1M count=$4 2>/run/dd || { tail -n 1 /run/dd | xargs echo "$3:"; return 1; }; }
        login 10000 && login 10001 && login 10000 && echo given
        fill 10000 10000 small 10 && ! fill 10000 10000 large 30 && rm /mnt/localdisk/rootless/10000/containerd/large
        chmod 777 /mnt/localdisk/rootless/10000{,/containerd}
        fill 655360042 10000 of-42 5 && ! fill 655360042 10000 more-of-42 30
        fill 10001 10001 own 15 && echo neighbour
        rm /mnt/localdisk/rootless/10000/containerd/more-of-42
        echo QUOTA=100m >/etc/rootless.conf; login 10000 && fill 10000 10000 large 30 && echo more; down'
says "each user's data has a limit, once more at the next login" '^given$'
says "data ends at it" '^large: 10485760 bytes'
says "files of his subordinate ids count, too" '^more-of-42: 5242880 bytes'
says "a neighbour has his own" '^neighbour$'
says "a new limit counts at the next login" '^more$'
exit $rc
