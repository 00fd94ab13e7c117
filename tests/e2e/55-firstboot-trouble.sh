#!/bin/bash
# What goes wrong on a booted node, one machine switched on three times: a head node that comes up two minutes late;
# each service away, slow, or with the wrong keys; the clock; disks that are missing, foreign or wiped. For each: state,
# reason code, explanation, and what Slurm's controller shows.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
vm_suite "$@"

# explained CODE PATTERN: firstbootctl explain, kept by the last question, names the code and says what to do.
explained() { grep -qF "$1" "$VM/explain" && grep -qE "$2" "$VM/explain" || { echo "# explain said:"; cat "$VM/explain"; false; }; }

# fails NAME STEP CODE EXPLANATION: the step, run again, fails with this code, and so does the node.
fails() {
        local status
        vm "firstbootctl rerun --wait --timeout 20min $2 >/dev/null; s=\$?; firstbootctl explain; exit \$s" >"$VM/explain" 2>&1
        status=$?
        vm_status
        vm_is 'o["node"]' failed && vm_is "o[\"step\"][\"$2\"][\"result\"][\"code\"]" "$3" && [[ $status -eq 1 ]]
        check "$1: $3" $?
        explained "$3" "$4"
        check "$1: explained" $?
}

# recovers NAME STEP: the step, run again, brings the node back to ready. The limits are so short that a machine with much
# else to do may need more than one try.
recovers() {
        local i s
        for i in 1 2 3 4 5; do
                vm "firstbootctl rerun --wait --timeout 20min $2" >"$VM/answers" 2>&1
                s=$?
                [[ $s -eq 0 ]] && break
        done
        check "$1" $s
        [[ $s -eq 0 ]] || cat "$VM/answers"
}

# slow NAME STEP SERVICE: the service takes connections and is silent for ten seconds; the step, begun then, waits for it.
slow() {
        local from=$SECONDS s
        head_pause "$3"
        { sleep 10; head_continue "$3"; } &
        vm "firstbootctl rerun --wait --timeout 20min $2" >"$VM/answers" 2>&1
        s=$?
        wait $!
        [[ $s -eq 0 && $((SECONDS - from)) -ge 10 ]]
        s=$?
        check "$1 is waited for" $s
        [[ $s -eq 0 ]] || cat "$VM/answers"
}

step_is() { # STEP STATUS: within ten minutes
        local i
        for ((i = 0; i < 200; i++)); do
                vm_status && vm_is "o[\"step\"][\"$1\"][\"status\"]" "$2" >/dev/null && return 0
                sleep 3
        done
        vm_is "o[\"step\"][\"$1\"][\"status\"]" "$2"
}
ready_file() { vm 'cat /run/firstboot/ready 2>/dev/null; systemctl is-active node-ready.target'; }
forget_users() { vm 'systemctl stop sssd.service sssd-nss.service; rm -f /var/lib/sss/db/* /var/lib/sss/mc/*'; }

# --- a head node that comes up late ----------------------------------------------------------------------------------
part_late() {
        head_make
        check "the head node is made, and stays off" $?
        vm_fresh
        vm_config "$(node_config)"
        vm_resume && vm_reaches multi-user.target
        check "a node without its head node boots" $?
        [[ $rc -eq 0 ]] || exit 1
        vm 'firstbootctl status --wait --timeout 5s; echo "status $?"; cat /run/firstboot/ready; systemctl start slurmd; echo "slurmd $?"' >"$VM/answers" 2>&1
        grep -q '^status 3' "$VM/answers"
        check "firstbootctl status tells that it is still going" $?
        grep -q '^slurmd 1' "$VM/answers" && ! grep -q '^ready' "$VM/answers"
        check "it is not ready, and slurmd cannot be started" $?

        # Meanwhile, one disk goes: taken from the PCI bus, as a dying one is.
        vm_status
        up=$(vm_py 'o["started_usec"] // 10**6 + 120')
        step_is scratch done
        check "the disks do not wait for the head node" $?
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

        while [[ $(vm 'cut -d. -f1 /proc/uptime') -lt $up ]]; do sleep 5; done
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
}

# --- services ----------------------------------------------------------------------------------------------------------
part_services() {
        # What a client keeps of a server that died is nothing to build other tests on: mounted afresh.
        vm 'umount /home /data'
        slow "a slow file server" mounts nfs
        forget_users
        slow "a slow directory" identity ldap
        slow "a slow controller" slurm slurm

        # Waiting is over: from here on, each step tells soon.
        short=$(node_config '{"identity": {"give_up": "20s"}, "slurm": {"give_up": "20s"},
                "steps": {"mounts": {"retries": 0}, "identity": {"retries": 0}, "slurm": {"retries": 0}, "scratch": {"retries": 0}}}' |
                python3 -c 'import json, sys; o = json.load(sys.stdin); [m.update(give_up="10s", timeout="15s") for m in o["mounts"]]; print(json.dumps(o))')
        vm "cat >/etc/firstboot/conf.d/60-short.json <<'J'
$short
J"
        recovers "a configuration that changed is taken over" config

        head_stop ldap
        forget_users
        fails "no directory" identity identity.unreachable 'firewall to the LDAP'
        head_shows drained '[firstboot] identity.unreachable: '
        check "no directory: the node is drained, with the reason" $?
        [[ $(ready_file) == inactive ]]
        check "no directory: it is ready no more" $?
        head_start ldap
        head_pause ldap
        fails "a directory that hangs" identity identity.unreachable 'says nothing'
        head_continue ldap
        vm 'cp /etc/firstboot/ca.pem /root/'
        vm "cat >/etc/firstboot/ca.pem <<'P'
$(cat "$HEAD/root/etc/head/other-ca.pem")
P"
        forget_users
        fails "a wrong CA" identity identity.certificate 'Compare identity.ca_file'
        head_shows drained '[firstboot] identity.certificate: '
        check "a wrong CA: the controller shows the new reason" $?
        vm 'mv /root/ca.pem /etc/firstboot/ca.pem'
        recovers "with the right CA the node is ready" identity
        head_shows idle
        check "and back in service, for the drain was its own" $?

        head_stop slurm
        fails "no controller" slurm slurm.controller-unreachable '6817'
        head_start slurm
        head_pause slurm
        fails "a controller that hangs" slurm slurm.controller-unreachable '6817'
        head_continue slurm
        vm 'cp -p /data/munge.key /root/ && cat /data/other-munge.key >/data/munge.key'
        check "another munge key is put in its place" $?
        fails "a wrong munge key" slurm slurm.munge-mismatch 'Compare the sums'
        # A controller that begins anew cannot ask this slurmd, and does not again for twenty minutes (SlurmdTimeout).
        head_stop slurm
        head_start slurm
        vm '[ -s /root/munge.key ] && cat /root/munge.key >/data/munge.key && rm /root/munge.key'
        check "and the right one back" $?
        vm 'date -s "+10 minutes" >/dev/null'
        fails "a clock ten minutes ahead" slurm slurm.clock-skew 'chronyc tracking'
        vm 'date -s "-10 minutes" >/dev/null'
        recovers "with key, clock and controller the node is ready" slurm
        head_run scontrol update NodeName=$NODE State=DRAIN Reason='bad fan'
        vm 'firstbootctl rerun --wait --timeout 20min slurm >/dev/null; s=$?; firstbootctl explain; exit $s' >"$VM/explain" 2>&1
        [[ $? -eq 2 ]] && explained slurm.drained 'state=resume'
        check "a drain of somebody else's: degraded, exit code 2, explained" $?
        head_shows drained 'bad fan'
        check "and left as it is" $?
        head_run scontrol update NodeName=$NODE State=RESUME
        recovers "resumed by him who drained it, the node is ready" slurm

        # Last, for the same reason.
        vm 'umount /home /data'
        head_stop nfs
        fails "no file server" mounts mounts.unreachable 'route'
        head_start nfs
        head_pause nfs
        fails "a file server that hangs" mounts mounts.timeout 'network may drop'
        head_continue nfs
        recovers "with the file server the node is ready" mounts
        head_stop nfs
        fails "a file server that dies" mounts mounts.not-readable 'root_squash'
        head_shows drained '[firstboot] mounts.not-readable: '
        check "a file server that dies: the node is drained" $?
        head_start nfs
        recovers "it comes back: the node is ready" mounts
        head_shows idle
        check "and back in service" $?
}

# --- configuration -----------------------------------------------------------------------------------------------------
part_configuration() {
        vm 'echo "{\"scratch\": {\"disks\": \"four\"}, \"mounst\": []}" >/etc/firstboot/conf.d/70-wrong.json
                firstbootctl rerun --wait config >/dev/null; s=$?; firstbootctl explain; exit $s' >"$VM/explain" 2>&1
        [[ $? -eq 1 ]] && explained config.invalid 'did you mean "mounts"' && grep -q '70-wrong.json' "$VM/explain"
        check "a configuration with errors: config.invalid, each fault with its file" $?
        [[ $(ready_file) == inactive ]]
        check "with it the node is not ready" $?
        vm 'rm /etc/firstboot/conf.d/70-wrong.json'
        recovers "without them it is" config
}

# --- disks of somebody else's --------------------------------------------------------------------------------------------
part_foreign() {
        # Made on the node itself, where the programs are: one blank, one ext4, one LVM of another host's, one partitioned.
        vm 'rm -f /etc/firstboot/conf.d/60-short.json
                set -e; umount /mnt/localdisk; vgchange -qan localscratch; for d in /dev/nvme[0-3]n1; do blkdiscard -qf $d; done
                d() { echo "/dev/$(lsblk -dno NAME,SERIAL | sed -n "s/ *imgbuild$1$//p")"; }
                mkfs.ext4 -q -L precious "$(d 1)"; vgcreate -q otherhost "$(d 2)"; printf "label: gpt\n,,L\n" | sfdisk -q "$(d 3)"; sync' >"$VM/answers" 2>&1
        check "disks of another host's are put in" $?
        vm_off
        before=$(cd "$VM/state" && sha256sum nvme[123].raw)
        vm_on 'Node is not ready'
        vm_settles 600 >/dev/null
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
        [[ $(cd "$VM/state" && sha256sum nvme[123].raw) == "$before" ]]
        check "foreign disks: not a byte of them has changed" $?
        vm 'wipefs -qa /dev/nvme[0-3]n1p* /dev/nvme[0-3]n1; for d in /dev/nvme[0-3]n1; do blkdiscard -qf $d; done; udevadm settle' >/dev/null 2>&1
        recovers "emptied as explain says, they are taken" scratch
        head_shows idle
        check "the node is back in service" $?
}

# --- stopped and started: the local disks are blank ----------------------------------------------------------------------
part_wiped() {
        local boots
        vm_status
        boots=$(vm_py 'o["boots"]')
        vm_off
        rm -f "$VM"/state/nvme*.raw
        vm_on ready
        check "with all disks wiped between boots the node is ready" $?
        vm_status
        vm_is 'o["boots"]' $((boots + 1)) && [[ $(vm_py 'o["step"]["scratch"]["result"]["message"]') == *"4 disks made"* ]]
        check "it counts one boot more, with the volume made afresh" $?
        head_shows idle
        check "and in service" $?
}

for part in ${ONLY:-late services configuration foreign wiped}; do
        if [[ $part != late && -z ${vm_pid:-} ]]; then # only some of it: the machine is not on yet
                head_make && head_start "${HEAD_SERVICES[@]}"
                vm_fresh
                vm_config "$(node_config)"
                vm_resume && [[ $(vm_settles 900) == ready ]] || exit 1
        fi
        "part_$part"
done
exit $rc
