#!/bin/bash
# What goes wrong on a booted node: each service away, slow, or with the wrong keys; the clock; a configuration with errors.
# For each: state, reason code, explanation, and what Slurm's controller shows. 54-firstboot-late.sh has the head node that
# comes up late, and the disks.
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

ready_file() { vm 'cat /run/firstboot/ready 2>/dev/null; systemctl is-active node-ready.target'; }
forget_users() { vm 'systemctl stop sssd.service sssd-nss.service; rm -f /var/lib/sss/db/* /var/lib/sss/mc/*'; }

# --- services ----------------------------------------------------------------------------------------------------------
part_services() {
        # What a client keeps of a server that died is nothing to build other tests on: mounted afresh.
        vm 'umount /home /data'
        slow "a slow file server" mounts nfs
        forget_users
        slow "a slow directory" identity ldap
        slow "a slow controller" slurm slurm

        # Waiting is over: from here on, each step tells soon.
        short=$(node_config '{"identity": {"give_up": "10s"}, "slurm": {"give_up": "20s"},
                "steps": {"mounts": {"retries": 0}, "identity": {"retries": 0}, "slurm": {"retries": 0}, "scratch": {"retries": 0}}}' |
                python3 -c 'import json, sys; o = json.load(sys.stdin); [m.update(give_up="5s", timeout="10s") for m in o["mounts"]]; print(json.dumps(o))')
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
        head_shows drained '[firstboot] config.invalid: '
        check "and drained, for it is a member already" $?
        vm 'rm /etc/firstboot/conf.d/70-wrong.json'
        recovers "without them it is" config
        head_shows idle
        check "and in service" $?
}

# --- /run --------------------------------------------------------------------------------------------------------------
part_run() {
        local i
        vm "echo '{\"watch\": {\"healthy\": \"5s\"}}' >/etc/firstboot/conf.d/65-watch.json"
        recovers "a watch that is soon content" config
        # What others free is taken at once, so that none of it comes to who frees it to write something else.
        vm 'nohup perl -e "open F, q(>>), q(/run/full); while (1) { syswrite F, q(x) x 4096 }" >/dev/null 2>&1 & echo $! >/root/crowd'
        for ((i = 0; i < 600; i++)); do [[ $(vm 'test -e /run/firstboot/ready && echo there') == there ]] || break; sleep 0.2; done
        check "/run is full: the node is ready no more" $((i == 600))
        head_shows drained '[firstboot] run.not-writable: '
        check "/run is full: it is drained, with the reason" $? || vm 'journalctl -b -n 40 -u firstbootd -u "firstboot@*"'
        vm 'firstbootctl status; firstbootctl explain' >"$VM/explain" 2>&1
        explained run.not-writable 'df -h /run'
        check "/run is full: explained, and firstbootctl answers" $?
        vm 'firstbootctl check --quick' >"$VM/answers" 2>&1
        [[ $? -ne 0 ]]
        check "/run is full: no check passes" $?
        vm 'kill $(cat /root/crowd); sleep 0.5; rm -f /run/full'
        for ((i = 0; i < 600; i++)); do [[ $(ready_file) == *$'\n'active ]] && break; sleep 0.2; done
        check "with room again the node comes back by itself" $((i == 600))
        head_shows idle
        check "and its drain is lifted" $?
        vm 'rm /etc/firstboot/conf.d/65-watch.json'
}

# --- the root file system, for good: the machine is switched off afterwards -----------------------------------------------
part_root() {
        # As the kernel does it after an error of the disk.
        vm 'echo u >/proc/sysrq-trigger; for i in $(seq 300); do findmnt -no OPTIONS / | grep -qE "^ro(,|$)" && exit 0; sleep 0.2; done; exit 1'
        check "the root file system becomes read-only" $?
        vm 'firstbootctl check --step=host' >"$VM/answers" 2>&1
        [[ $? -eq 1 ]] && grep -q '^host.read-only: ' "$VM/answers" || { cat "$VM/answers"; false; }
        check "firstbootctl check finds it" $?
        vm 'systemctl restart firstbootd; firstbootctl rerun --wait host >/dev/null; s=$?; firstbootctl explain; exit $s' >"$VM/explain" 2>&1
        [[ $? -eq 1 ]] && explained host.read-only 'journalctl -k'
        check "an agent that starts then lives, and says why the node is not ready" $?
}

for part in ${ONLY:-services configuration run root}; do
        trouble_ready || exit 1
        "part_$part"
done
exit $rc
