#!/bin/bash
# The agent on a booted node with four NVMe disks, against a head node with real services: directory over TLS, NFS,
# munge and slurmctld. One boot, and all that a node in service must show.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
vm_suite "$@"

HEAD_NFS3=1
head_make && head_start portmap && head_start "${HEAD_SERVICES[@]}"
check "the head node serves LDAP over TLS, NFS 3 and 4, munge and Slurm" $?
vm_fresh
# Users by StartTLS; one mount inside another, named before it; one by NFS 3.
config=$(node_config '{"identity": {"uri": ["ldap://head"]}, "mounts": [{"what": "head:/data", "where": "/home/data"},
        {"what": "head:/home", "where": "/home", "verify": "write"}, {"what": "head:/data", "where": "/data"},
        {"what": "head:/data", "where": "/data3", "options": "vers=3", "verify": "write"}]}')
vm_config "$config"
vm_resume && [[ $(vm_settles 900) == ready ]] && vm_reaches node-ready.target
check "the node comes to node-ready.target" $?
[[ $rc -eq 0 ]] || { grep -a firstboot "$VM/save/journal.log" | tail -n 60; exit 1; }

# says NAME PATTERN: the answers of the node hold a line that matches.
says() {
        grep -qE -- "$2" "$VM/answers"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || { echo "# nothing like $2 in:"; head -c 4000 "$VM/answers"; }
}
ask() { vm "$1" >"$VM/answers" 2>&1; }

vm_status
vm_is 'o["node"]' ready && vm_is '[s["status"] for s in o["steps"] if s["name"] in ("host", "scratch", "mounts", "identity", "slurm")]' \
        "['done', 'done', 'done', 'done', 'done']"
check "every step is done" $?
vm_is 'max(a["finished_usec"] for s in o["steps"] for a in s["attempts"]) - o["settled_usec"] <= 0' True
check "ready comes after all of them" $?
vm_is 'o["step"]["scratch"]["attempts"][0]["started_usec"] < o["step"]["host"]["attempts"][0]["finished_usec"]' True
check "scratch is made while host is at work" $?

ask 'id alice; getent group crew; stat -c "home %U" /home; findmnt -no FSTYPE,SOURCE /home; findmnt -no FSTYPE,SOURCE /data; findmnt -no FSTYPE,OPTIONS /mnt/localdisk
        echo "inner $(findmnt -no FSTYPE,SOURCE /home/data)"; echo "old $(findmnt -no FSTYPE,SOURCE,OPTIONS /data3)"; firstbootctl status | grep identity
        df -B1 --output=size,target /mnt/localdisk; xfs_info /mnt/localdisk; lvs --noheadings -o vg_name,lv_name,stripes,stripe_size --units k
        stat -c "mode %a" /mnt/localdisk; blkid -s LABEL -o value /dev/localscratch/scratch; readlink /etc/localtime; cat /proc/sys/net/core/somaxconn
        cat /etc/security/limits.d/90-firstboot.conf; stat -c "key %a %U" /etc/munge/munge.key; stat -c "sssd %a" /etc/sssd/sssd.conf
        sshd -T | grep -i ^passwordauthentication; journalctl -b -u ssh | grep "Stopping OpenBSD" || echo "sshd was not stopped"
        df -B1 --output=size / | sed -n "s/^ */root /;2p"; firstbootctl log host
        [ "$(systemctl show -P ExecMainStartTimestampMonotonic firstboot-modules)" -lt "$(systemctl show -P InactiveExitTimestampMonotonic firstbootd)" ] &&
        [ "$(systemctl show -P Result firstboot-modules)" = success ] && grep -q ^xfs /proc/modules && echo "modules early"
        echo "weight $(systemctl show -P CPUWeight cloud-init-main)"
        echo "units $(journalctl -b -u firstboot@gpu -u firstboot@nccl -o cat | grep -c .)"
        systemctl is-active slurmd munge sssd node-ready.target; systemctl --failed --no-legend | grep . || echo "no unit failed"'
says "an LDAP user and his group are known" '^uid=20001\(alice\) gid=20000\(crew\)'
says "a group is looked up" '^crew:\*?:20000:'
says "/home is on NFS" '^nfs4 +head:/home'
says "/data is on NFS" '^nfs4 +head:/data'
says "one inside of it is seen, though it was named first" '^inner nfs4 +head:/data'
says "one is mounted by NFS 3" '^old nfs +head:/data .*vers=3'
says "the directory itself knew the user, after StartTLS" 'identity +done .*alice found in ldap://head and through sssd'
says "scratch is XFS with the options configured" '^xfs +.*noatime'
# Four disks of 1 GiB: more than three of them hold, less what XFS and LVM need.
size=$(awk '/\/mnt\/localdisk$/ { print $1 }' "$VM/answers")
[[ $size -gt 3800000000 && $size -lt 4294967296 ]]
check "df shows the four disks as one ($size bytes)" $?
says "xfs_info shows the stripes: 64 KiB on four disks" 'sunit=16 +swidth=64 blks'
says "the volume has four stripes" 'localscratch +scratch +4 +64\.00k'
says "everybody may write to scratch" '^mode 1777'
says "its label is the one configured" '^localscratch$'
says "the root file system fills the disk" '^root [56][0-9]{9}$'
says "partition and file system were grown" 'Growing partition 2 of /dev/vda'
says "the steps' kernel modules are asked for before there is a step; nobody waits for them" '^modules early$'
says "cloud-init has its share of the CPU again" '^weight \[not set\]$'
says "no unit was started for steps without anything to do" '^units 0$'
says "the time zone is set" 'Europe/Berlin$'
says "kernel settings are applied" '^8192$'
says "limits are written" '^\* - memlock unlimited'
says "the munge key is for munge alone" '^key 400 munge'
says "sssd.conf is for root and sssd alone" '^sssd 6[04]0'
says "passwords do not log in" '^passwordauthentication no'
says "cloud-init had nothing to change for that" '^sshd was not stopped'
says "no unit has failed" '^no unit failed'
[[ $(grep -c '^active$' "$VM/answers") -eq 4 ]]
check "slurmd, munge, sssd and node-ready.target are active" $?

[[ $(head_run sinfo -h -o '%n %T') == "$NODE idle" ]]
check "sinfo shows the node idle" $?
[[ $(head_run timeout 120 srun hostname 2>"$HEAD_LOG/srun.log") == "$NODE" ]]
check "srun runs on it" $?

vm_ssh alice 'pwd; df --output=source . | tail -n 1; echo hello >greeting && cat greeting; id -un' >"$VM/answers" 2>&1
check "the LDAP user logs in with the key from LDAP" $?
says "his home folder was made" '^/home/alice$'
says "on NFS" '^head:/home$'
[[ $(cat "$HEAD/export/home/alice/greeting" 2>/dev/null) == hello ]]
check "what he writes lands on the head node" $?

# firstbootctl
ask 'firstbootctl status; echo "status $?"; firstbootctl status --wait --timeout 5s >/dev/null; echo "wait $?"'
says "status exits with 0" '^status 0$'
says "so does status --wait" '^wait 0$'
says "status shows the node" '^Node is ready after'
says "status shows each step with what it did" 'scratch +done .*localscratch on 4 disks made and mounted'
vm 'firstbootctl status --json' | python3 -c 'import json, sys; o = json.load(sys.stdin); assert o["node"] == "ready" and len(o["steps"]) >= 5'
check "status --json is the same for programs" $?
ask 'firstbootctl blame; firstbootctl explain; firstbootctl explain scratch.foreign-signature; firstbootctl explain nonsense 2>&1; echo "nonsense $?"'
says "blame names the longest chain" '^Longest chain: slurm ← '
says "explain has nothing to say" '^Nothing is wrong'
says "explain CODE says what to do" 'wipefs'
says "an unknown code is an error" '^nonsense 1$'
vm 'firstbootctl plot' >"$VM/plot.svg" && python3 -c 'import sys, xml.dom.minidom as m
text = m.parse(sys.argv[1]).documentElement
assert text.tagName == "svg"' "$VM/plot.svg" && grep -q scratch "$VM/plot.svg"
check "plot draws the boot as SVG" $?
ask 'firstbootctl config; firstbootctl log scratch'
says "config tells where a value came from" 'munge_key_file.*50-e2e\.json'
says "log shows a step's own words" 'vgcreate'
ask 'journalctl -b -x -u firstbootd -o short --no-pager'
says "the journal tells the verdict" 'firstbootd\[.*Node is ready after'
says "journalctl -x explains it" '^░░ Subject: The node is ready'
ask 'journalctl -b -o json -u firstbootd STEP=scratch'
python3 - "$VM/answers" <<'P'
import json, sys
entries = [json.loads(line) for line in open(sys.argv[1])]
done = [e for e in entries if e.get("MESSAGE_ID") == "77aa0f22d84942d386d354cf67506119"]
assert len(done) == 1 and int(done[0]["DURATION_USEC"]) > 0 and done[0]["ATTEMPT"] == "1", entries
P
check "journal entries carry step, attempt and duration" $?
ask 'cat /run/firstboot/ready; cat /var/lib/firstboot/firstboot.prom; systemctl show -p StatusText firstbootd
        cat /run/told; echo; awk "/VmRSS/ { print \"rss\", \$2 }" /proc/$(systemctl show -P MainPID firstbootd)/status; stat -c "config %a" /run/firstboot/config.json'
says "the ready file says so" '^ready$'
says "node_exporter gets each step" '^firstboot_step_state\{step="slurm",state="done"\} 1'
says "systemctl shows the state" '^StatusText=.*[Rr]eady'
says "the command of ready.command was told" '"node": ?"ready"'
says "the merged configuration is for root alone" '^config 600'
rss=$(awk '$1 == "rss" { print $2 }' "$VM/answers")
[[ $rss -gt 0 && $rss -le 10240 ]]
check "firstbootd stays below 10 MiB ($rss KiB)" $?

# Checks: by hand, and as the unit that the watch starts.
ask 'firstbootctl check --quick; echo "quick $?"; firstbootctl check --full; echo "full $?"; rm -f /run/firstboot/check/quick.json
        systemctl start firstboot-check@quick; echo "unit $?"; grep -o "\"name\":\"slurm\"" /run/firstboot/check/quick.json
        umount /data; firstbootctl check --quick; echo "without data $?"; firstbootctl rerun --wait --timeout 5min mounts >/dev/null; firstbootctl check --quick; echo "with data $?"'
says "a quick check passes on a node in service" '^quick 0$'
says "so does a full one" '^full 0$'
says "the watch's unit leaves its report" '^"name":"slurm"$'
says "a mount that is gone is found" '^mounts\.lost: '
says "and fails the check" '^without data 1$'
says "back, it passes" '^with data 0$'

# Who may do what.
ask 'b="org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1 org.imgbuild.FirstBoot1.Manager"
        other="setpriv --reuid=nobody --regid=nogroup --clear-groups"
        $other busctl get-property $b State; busctl introspect org.imgbuild.FirstBoot1 /org/imgbuild/FirstBoot1/step/slurm | grep -o Description
        $other firstbootctl status >/dev/null; echo "stranger reads $?"
        $other firstbootctl rerun host; echo "stranger reruns $?"
        echo "polkit.addRule(function(a, s) { if (a.id == \"org.imgbuild.FirstBoot1.rerun\" && s.user == \"nobody\") return polkit.Result.YES; });" \
                >/etc/polkit-1/rules.d/50-e2e.rules
        for i in $(seq 60); do $other busctl call $b Rerun s host 2>/dev/null && { echo "let in"; break; }; sleep 1; done
        rm /etc/polkit-1/rules.d/50-e2e.rules; firstbootctl status --wait --timeout 5min >/dev/null; echo "again $?"'
says "everybody may read the state on the bus" '^s "ready"'
says "each step is an object on the bus" '^Description'
says "firstbootctl status is for everybody" '^stranger reads 0'
says "a stranger may not rerun a step" '^stranger reruns 1'
says "and is told who may" 'Only root, and whom polkit lets'
says "whom polkit lets may" '^let in'
says "the node is ready again" '^again 0'

# XFS on LVM, as many images have their root: on a partition that ends far before its disk, a loop device.
ask 'set -e; truncate -s 1G /mnt/localdisk/disk; d=$(losetup -Pf --show /mnt/localdisk/disk); echo "size=320M,type=lvm" | sfdisk -q "$d"; udevadm settle
        pvcreate -qy "${d}p1"; vgcreate -qy rootlike "${d}p1"; lvcreate -qy -l 100%FREE -n root rootlike; mkfs.xfs -q /dev/rootlike/root
        mkdir /grown; mount /dev/rootlike/root /grown; echo "before $(df -BM --output=size /grown | tail -n 1)"
        echo "{\"host\": {\"grow\": [\"/grown\"]}}" >/etc/firstboot/conf.d/60-grow.json; firstbootctl rerun --wait --timeout 10min config; echo "grow $?"
        echo "after $(df -BM --output=size /grown | tail -n 1)"; rm /etc/firstboot/conf.d/60-grow.json
        umount /grown; vgchange -qan rootlike; losetup -d "$d"; rm /mnt/localdisk/disk'
says "XFS on LVM is grown: it went well" '^grow 0$'
says "it filled its partition before" '^before +[23][0-9]{2}M'
says "and fills the disk after" '^after +9[0-9]{2}M'

# A node that is not ready has no slurmd; its state says why.
vm_status
boots=$(vm_py 'o["boots"]')
ask 'systemctl stop slurmd; rm -f /run/firstboot/slurmd-permit; systemctl start slurmd; echo "by hand $?"; systemctl is-active slurmd
        rm -f /run/firstboot/ready; systemctl stop node-ready.target; systemctl start node-ready.target; echo "target $?"
        firstbootctl rerun --wait slurm >/dev/null; echo "rerun $?"; systemctl is-active slurmd; cat /run/firstboot/ready'
says "slurmd cannot be started by hand before ready" '^by hand 1'
says "nor the target" '^target 1'
says "a rerun of the step brings both back" '^rerun 0'
[[ $boots == 1 ]]
check "this was the first boot" $?

# firstbootd and the bus may go at any time.
ask 'was=$(systemctl show -P MainPID firstbootd); kill -9 "$was"
        for i in $(seq 120); do
                is=$(systemctl show -P MainPID firstbootd)
                [ "$is" != 0 ] && [ "$is" != "$was" ] && systemctl -q is-active firstbootd && break
                sleep 1
        done
        systemctl is-active firstbootd; firstbootctl status; echo "status $?"; journalctl -b -u firstbootd | grep -c "Starting: " ; cat /run/firstboot/ready'
says "killed, firstbootd comes back" '^active'
says "with what it knew" '^status 0'
exit $rc
