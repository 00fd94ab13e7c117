#!/bin/bash
# What goes wrong on a booted node, one machine switched on twice: its first boot finds disks of somebody else's; the second one finds
# them blank, loses one and gets it back, and waits for a head node that comes up two minutes late. For each: state, reason code,
# explanation, and what Slurm's controller shows. 55-firstboot-trouble.sh has the services.
#
# lane: machine
# long: yes
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/e2e/trouble.bash"
vm_suite "$@"

step_is() { # STEP STATUS: within ten minutes
        local i
        for ((i = 0; i < 1200; i++)); do
                vm_status && vm_is "o[\"step\"][\"$1\"][\"status\"]" "$2" >/dev/null && return 0
                sleep 0.5
        done
        vm_is "o[\"step\"][\"$1\"][\"status\"]" "$2"
}

# --- disks of somebody else's --------------------------------------------------------------------------------------------
# Made on the node itself, where the programs are, before its agent starts: one blank, one ext4, one LVM of another host's, one
# partitioned.
foreign_disks() {
        vm 'set -e
                d() { echo "/dev/$(lsblk -dno NAME,SERIAL | sed -n "s/ *imgbuild$1$//p")"; }
                mkfs.ext4 -q -L precious "$(d 1)"; vgcreate -q otherhost "$(d 2)"; printf "label: gpt\n,,L\n" | sfdisk -q "$(d 3)"
                udevadm settle; sync' >"$VM/answers" 2>&1 || { cat "$VM/answers"; return 1; }
        before=$(vm_bytes | tail -n 3)
}

part_foreign() {
        head_make && head_start "${HEAD_SERVICES[@]}"
        check "the head node runs" $?
        vm_fresh
        vm_config "$(node_config)"
        vm_held=foreign_disks
        vm_resume
        check "a node boots, with disks of another host's" $?
        vm_held=
        [[ $rc -eq 0 ]] || exit 1
        vm_settles 900 >/dev/null
        vm_is 'o["node"]' failed && vm_is 'o["step"]["scratch"]["result"]["code"]' scratch.foreign-signature
        check "foreign disks: scratch.foreign-signature" $?
        message=$(vm_py 'o["step"]["scratch"]["result"]["message"]')
        [[ $message == *imgbuild1*ext4* && $message == *imgbuild2*LVM2_member* && $message == *imgbuild3*gpt* && $message != *imgbuild0* ]]
        check "each is named with serial and signature ($message)" $?
        vm 'firstbootctl explain' >"$VM/explain" 2>&1
        explained scratch.foreign-signature wipefs
        check "foreign disks: explained" $?
        head_shows drained '[firstboot] scratch.foreign-signature: '
        check "foreign disks: the node registered as drained" $?
        [[ -n $before && $(vm_bytes | tail -n 3) == "$before" ]]
        check "foreign disks: not a byte of them has changed" $?
        vm 'wipefs -qa /dev/nvme[0-3]n1p* /dev/nvme[0-3]n1; for d in /dev/nvme[0-3]n1; do blkdiscard -qf $d; done; udevadm settle' >/dev/null 2>&1
        recovers "emptied as explain says, they are taken" scratch
        head_shows idle
        check "the node is back in service" $?
}

# --- blank disks, and a head node that comes up late ---------------------------------------------------------------------
part_late() {
        local boots i up
        vm_status
        boots=$(vm_py 'o["boots"]')
        # From now on the munge key is a credential of the machine's. Of the file nothing is left.
        vm_config "$(node_config '{"slurm": {"munge_key_file": null}}')"
        base64 -w 0 <"$HEAD/root/etc/munge/munge.key" >"$VM/munge_key"
        vm_pipe root 'cat >/etc/firstboot/conf.d/50-e2e.json && rm /etc/munge/munge.key && sync' "${vm_shared[@]}" <"$VM/files/etc/firstboot/conf.d/50-e2e.json"
        check "the node forgets its munge key" $?
        vm_off
        rm -f "$VM"/state/nvme*.raw
        head_stop "${HEAD_SERVICES[@]}"
        ! head_answers ldap && ! head_answers nfs && ! head_answers slurm
        check "node and head node are switched off" $?
        vm_on multi-user --load-credential "firstboot.slurm.munge_key:$VM/munge_key" && vm_reaches multi-user.target
        check "a node without its head node boots" $?
        [[ $rc -eq 0 ]] || exit 1
        vm 'firstbootctl status --wait --timeout 5s; echo "status $?"; cat /run/firstboot/ready; systemctl start slurmd; echo "slurmd $?"' >"$VM/answers" 2>&1
        grep -q '^status 3' "$VM/answers"
        check "firstbootctl status tells that it is still going" $?
        grep -q '^slurmd 1' "$VM/answers" && ! grep -q '^ready' "$VM/answers"
        check "it is not ready, and slurmd cannot be started" $?

        # Meanwhile, the disks: wiped between the boots, as when a machine in a cloud was stopped and started.
        vm_status
        up=$(vm_py 'o["started_usec"] // 10**6 + 120')
        step_is scratch done
        check "the disks do not wait for the head node" $?
        vm_is 'o["boots"]' $((boots + 1))
        check "it counts one boot more" $?
        [[ $(vm_py 'o["step"]["scratch"]["result"]["message"]') == *"4 disks made"* ]]
        check "all disks were wiped: the volume is made afresh" $?
        # And one goes: taken from the PCI bus, as a dying one is.
        vm 'umount /mnt/localdisk && vgchange -qan localscratch && echo 1 >"/sys/block/$(lsblk -dno NAME,SERIAL | sed -n "s/ *imgbuild2$//p")/device/device/remove"' \
                >"$VM/answers" 2>&1
        vm 'firstbootctl rerun scratch'
        step_is scratch failed && vm_is 'o["step"]["scratch"]["result"]["code"]' scratch.disk-missing &&
                [[ $(vm_py 'o["step"]["scratch"]["result"]["message"]') == *imgbuild2* ]]
        check "a disk that is missing: scratch.disk-missing, with its serial" $?
        vm 'firstbootctl explain' >"$VM/explain" 2>&1
        explained scratch.disk-missing 'set scratch.disks'
        check "a disk that is missing: explained" $?
        vm 'echo 1 >/sys/bus/pci/rescan; udevadm settle; firstbootctl rerun scratch'
        step_is scratch done && [[ $(vm_py 'o["step"]["scratch"]["result"]["message"]') == *adopted* ]]
        check "it comes back: the volume is adopted" $?

        while [[ $(vm 'cut -d. -f1 /proc/uptime') -lt $up ]]; do sleep 2; done
        vm_status
        vm_is 'o["node"]' starting
        check "after two minutes the node still waits" $?
        # And not all is well then: the file server dies as soon as it is in use.
        head_start nfs
        for ((i = 0; i < 300; i++)); do vm 'grep -q " nfs4 " /proc/mounts' && break; sleep 1; done
        head_stop nfs
        check "a file server that comes up two minutes late is found, and dies" "$([[ $i -lt 300 ]]; echo $?)"
        head_start ldap time munge slurm
        check "the rest of the head node comes up" $?
        vm_status
        vm_is 'o["node"]' starting
        check "without its files the node waits on" $?
        head_start nfs
        [[ $(vm_settles 900) == ready ]]
        check "the node is ready" $?
        head_shows idle
        check "and in service" $?
        vm 'firstbootctl config; stat -c "key %a %U" /etc/munge/munge.key; sha256sum </etc/munge/munge.key' >"$VM/answers" 2>&1
        grep -q 'munge_key .*credential firstboot\.slurm\.munge_key' "$VM/answers" && grep -q '^key 400 munge$' "$VM/answers" &&
                grep -q "^$(sha256sum <"$HEAD/root/etc/munge/munge.key" | cut -d' ' -f1)" "$VM/answers"
        check "with the munge key of a credential" $?
        ! grep -qF "$(cat "$VM/munge_key")" "$VM/answers" "$VM/save/journal.log" "$VM/save/console.log"
        check "which stands nowhere else" $?
}

for part in ${ONLY:-foreign late}; do
        [[ $part == foreign ]] || trouble_ready || exit 1
        "part_$part"
done
exit $rc
