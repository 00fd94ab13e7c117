# Sourced: power cuts during the first boot of a node, for make check and make soak. After head.bash and vm.bash.

# The agent's and its steps' lines so far. QEMU itself writes the journal: what is counted has happened.
agent_lines() { grep -ac '^SYSLOG_IDENTIFIER=firstboot' "$VM/save/journal.export" 2>/dev/null; }

# Whether LVM has begun to write.
has_label() { [[ $(dd if="$VM/state/nvme0.raw" bs=1 skip=512 count=8 status=none 2>/dev/null | tr -d '\0') == LABELONE ]]; }

# power_cut LINES|lvm: a new node; its plug is pulled once the agent has said LINES lines, or all it has to say, or once LVM
# writes to the first disk, and a moment has passed; then it is switched on again and must be ready.
power_cut() {
        local at moment=$((RANDOM % 1000))
        vm_fresh
        vm_config "$(node_config)"
        vm_resume
        check "a node goes through its first boot" $?
        while kill -0 "$vm_pid" 2>/dev/null; do
                at=$(agent_lines)
                if [[ $1 == lvm ]]; then has_label && break; else [[ ${at:-0} -ge $1 ]] && break; fi
                grep -aq '^MESSAGE=Node is ready after' "$VM/save/journal.export" && break
                sleep 0.2
        done
        sleep "0.$(printf %03d $moment)"
        at=$(agent_lines)
        kill -0 "$vm_pid" 2>/dev/null
        local alive=$? last
        vm_off
        last=$(grep -aA20 '^SYSLOG_IDENTIFIER=firstboot' "$VM/save/journal.export" | grep -a '^MESSAGE=' | tail -n 1)
        echo "# cut after $at lines; the last was ${last#MESSAGE=}"
        # What the controller shows is to come from the next boot.
        head_run scontrol update NodeName=$NODE State=DOWN Reason='power cut'
        [[ $alive -eq 0 && ${at:-0} -gt 0 ]]
        check "the node ran until its plug was pulled" $?
        vm_on ready
        check "power cut after $at lines of the agent: the next boot ends ready" $?
        vm_status
        vm_is 'o["node"]' ready || vm 'firstbootctl status'
        vm_is 'o["node"]' ready && vm_is 'o["boots"]' 2 && vm_is 'o["step"]["scratch"]["status"]' done
        check "its state is in order" $?
        vm 'findmnt -no FSTYPE /mnt/localdisk; vgs --noheadings -o vg_tags,pv_count localscratch; systemctl --failed --no-legend' >"$VM/answers" 2>&1
        [[ $(tr -s ' \n' ' ' <"$VM/answers") == 'xfs firstboot.scratch 4 ' ]] || { echo "# the node says:"; cat "$VM/answers"; false; }
        check "the volume is whole, on all disks" $?
        [[ $(head_run sinfo -h -o '%T') == idle ]]
        check "and the node in service" $?
}
