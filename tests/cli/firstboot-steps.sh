#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The host, mounts, identity and slurm steps, each as a program, with doubles of what they call: systemd's manager,
# hostname1 and timedate1 on a private bus, and scontrol, getent, growpart … on PATH.
#
# long: yes
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=

node_with_bus() {
        node_new
        mkdir -p "$NODE/bin" "$NODE/proc/self" "$NODE/etc"
        : >"$NODE/proc/self/mounts"
        bus_start
        manager_start
}

# tool NAME: a program of the test's own; its calls go to $NODE/tools.
tool() {
        { echo '#!/bin/bash'; echo 'echo "$(basename "$0") $*" >>$FIRSTBOOT_ROOT/tools'; cat; } >"$NODE/bin/$1"
        chmod +x "$NODE/bin/$1"
}
config() { echo "{\"config\":$1,\"instance\":{\"id\":\"i\"}}" >"$NODE/run/firstboot/config.json"; }
run_step() { PATH=$NODE/bin:$PATH timeout 180 "$node_build/firstboot-step" "$1" >>"$NODE/agent.log" 2>&1; rc=$?; step=$1; }
result() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]+"/run/firstboot/results/"+sys.argv[3]+".json")).get(sys.argv[2],""))' "$NODE" "$1" "$step"; }
verdict() { [[ "$(result status) $(result code)" == "$1" ]] || { echo "# $(result status) $(result code): $(result message)"; return 1; }; }

# --- host -----------------------------------------------------------------------------------------------------------
node_with_bus
mkdir -p "$NODE"/{etc/systemd/system,proc/sys/net/core,sys/block/vda/vda1,sys/dev/block,sys/class/block}
touch "$NODE/etc/systemd/system/firewalld.service"
echo 1 >"$NODE/proc/sys/net/core/somaxconn"
echo old >"$NODE/etc/hostname"
# A root partition of 1 GiB on a disk of 10 GiB.
echo '22 1 254:1 / / rw shared:1 - ext4 /dev/vda1 rw' >"$NODE/proc/self/mountinfo"
echo 20971520 >"$NODE/sys/block/vda/size"; echo 2048 >"$NODE/sys/block/vda/vda1/start"; echo 2097152 >"$NODE/sys/block/vda/vda1/size"
echo 1 >"$NODE/sys/block/vda/vda1/partition"
ln -s ../../block/vda/vda1 "$NODE/sys/dev/block/254:1"; ln -s ../../block/vda/vda1 "$NODE/sys/class/block/vda1"; ln -s ../../block/vda "$NODE/sys/class/block/vda"
tool growpart <<<'exit 0'
tool resize2fs <<<'exit 0'
config '{"host":{"hostname":"node-7","timezone":"Etc/UTC","firewall":"off","grow_root":true,"sysctl":{"net.core.somaxconn":4096},"limits":[{"domain":"*","type":"-","item":"memlock","value":"unlimited"}]}}'
run_step host
check "host: done" verdict "done "
check "host: the name is set through hostname1" grep -q '^SetStaticHostname node-7' "$NODE/calls"
check "host: the time zone through timedate1" grep -q '^SetTimezone Etc/UTC' "$NODE/calls"
check "host: the firewall is disabled and stopped" bash -c 'grep -q "^DisableUnitFiles firewalld.service" "$1" && grep -q "^StopUnit firewalld.service" "$1"' - "$NODE/calls"
check "host: kernel settings are applied" test "$(cat "$NODE/proc/sys/net/core/somaxconn")" = 4096
check "host: and kept" grep -q '^net.core.somaxconn = 4096' "$NODE/etc/sysctl.d/90-firstboot.conf"
check "host: limits are written" grep -q '^\* - memlock unlimited' "$NODE/etc/security/limits.d/90-firstboot.conf"
check "host: partition and file system are grown" bash -c 'grep -q "^growpart /dev/vda 1" "$1" && grep -q "^resize2fs /dev/vda1" "$1"' - "$NODE/tools"
echo node-7 >"$NODE/etc/hostname"; ln -s /usr/share/zoneinfo/Etc/UTC "$NODE/etc/localtime"
echo 20969472 >"$NODE/sys/block/vda/vda1/size"; : >"$NODE/calls"; : >"$NODE/tools"
run_step host
check "host: what is right already is not asked for" bash -c '! grep -qE "SetStaticHostname|SetTimezone" "$1" && ! grep -q growpart "$2"' - "$NODE/calls" "$NODE/tools"
tool resize2fs <<<'echo "resize2fs: no room"; exit 1'
run_step host
check "host: a tool that fails is quoted" bash -c '[[ $1 == "resize2fs: resize2fs: no room" ]]' - "$(result message)"
check "host: with code host.grow, to be tried again" test "$(result code) $rc" = "host.grow 75"
# An encrypted root without LVM. Its key is not at hand.
echo '22 1 253:0 / / rw - ext4 /dev/mapper/root rw' >"$NODE/proc/self/mountinfo"
mkdir -p "$NODE"/sys/block/dm-0/{dm,slaves}
echo CRYPT-LUKS2-0123-root >"$NODE/sys/block/dm-0/dm/uuid"; echo root >"$NODE/sys/block/dm-0/dm/name"
ln -s ../../block/dm-0 "$NODE/sys/dev/block/253:0"; ln -s ../../vda/vda1 "$NODE/sys/block/dm-0/slaves/vda1"
echo 2097152 >"$NODE/sys/block/vda/vda1/size"; : >"$NODE/tools"
tool resize2fs <<<'exit 0'
tool cryptsetup <<<'echo "No key available with this passphrase."; exit 2'
config '{"host":{"grow_root":true}}'
run_step host
check "host: an encrypted root is no failure" verdict "done "
check "host: partition, mapping and file system are grown" bash -c '[[ $(cut -d" " -f1,2 "$1" | tr "\n" " ") == "growpart /dev/vda cryptsetup resize resize2fs /dev/mapper/root " ]]' - "$NODE/tools"
# XFS on LVM, on a partition that ends far before its disk: as root, and as another file system.
echo LVM-x >"$NODE/sys/block/dm-0/dm/uuid"; echo 2097152 >"$NODE/sys/block/vda/vda1/size"
rm "$NODE/usr/lib/firstboot/firstboot-lvm"
for t in growpart xfs_growfs firstboot-lvm; do tool "$t" <<<'exit 0'; done
ln -s "$NODE/bin/firstboot-lvm" "$NODE/usr/lib/firstboot/firstboot-lvm"
for where in / /srv; do
        echo "22 1 253:0 / $where rw shared:1 - xfs /dev/mapper/vg-root rw" >"$NODE/proc/self/mountinfo"
        [[ $where == / ]] && config '{"host":{"grow_root":true}}' || config '{"host":{"grow_root":false,"grow":["/srv"]}}'
        : >"$NODE/tools"; run_step host
        check "host: XFS on LVM at $where is grown from the bottom up" test "$(tr '\n' ';' <"$NODE/tools")" = \
                "growpart /dev/vda 1;firstboot-lvm pvresize /dev/vda1;firstboot-lvm lvextend --extents +100%FREE /dev/mapper/vg-root;xfs_growfs $where;"
done
tool firstboot-lvm <<<'[[ $1 == lvextend ]] && { echo "nothing to extend"; exit 5; }; exit 0'
run_step host
check "host: a group with nothing to give is no failure" verdict "done "
tool firstboot-lvm <<<'echo "lvm: device busy"; [[ $1 != pvresize ]]'
: >"$NODE/tools"; run_step host
check "host: a volume that cannot be resized is told, and the file system left alone" bash -c '[[ $1 == host.grow ]] && ! grep -q xfs_growfs "$2"' - "$(result code)" "$NODE/tools"
tool growpart <<<'exit 1'; tool firstboot-lvm <<<'exit 0'
: >"$NODE/tools"; run_step host
check "host: a partition with another behind it stays, what is above may grow" bash -c '[[ $1 == done ]] && grep -q xfs_growfs "$2"' - "$(result status)" "$NODE/tools"
config '{"host":{"grow_root":false,"grow":["/srv/"]}}'
run_step host
check "host: a slash at the end makes no other place" verdict "done "
config '{"host":{"grow_root":false,"grow":["/nowhere"]}}'
run_step host
check "host: what is not mounted cannot be grown, and is told" verdict "failed host.grow"
config '{"host":{"grow_root":false,"firewall":"keep","sysctl":{"net.core.nonsense":1}}}'
run_step host
check "host: an unknown kernel setting fails" test "$(result code) $rc" = "host.sysctl 1"
# SELinux's booleans: none where it is off, those that are configured, and home folders' where they come by NFS.
homes='"mounts":[{"what":"s:/home","where":"/home","type":"nfs"},{"what":"s:/x","where":"/x","type":"lustre"}]'
config '{"host":{"grow_root":false,"selinux_booleans":{"container_use_devices":true}},'"$homes"'}'
run_step host
check "host: without SELinux there are no booleans to switch" bash -c '[[ $1 == done && ! -e $2/sys/fs/selinux ]]' - "$(result status)" "$NODE"
booleans=$NODE/sys/fs/selinux/booleans
selinux() { mkdir -p "$booleans"; : >"$booleans/../commit_pending_bools"; for b in use_nfs_home_dirs container_use_devices; do echo "0 0" >"$booleans/$b"; done; }
said() { (cd "$booleans" && head -qn 1 use_nfs_home_dirs container_use_devices ../commit_pending_bools | tr '\n' ';'); }
selinux; run_step host
check "host: SELinux's booleans are switched and put into force, homes' of itself" test "$(said) $(result status)" = "1;1;1; done"
config '{"host":{"grow_root":false},"mounts":[{"what":"s:/home","where":"/homes","type":"nfs"},{"what":"s:/home","where":"/home/x","type":"lustre"}]}'
selinux; run_step host
check "host: … not where a mount is no NFS, or no home folders" test "$(said) $(result status)" = "0 0;0 0; done"
config '{"host":{"grow_root":false,"selinux_booleans":{"use_nfs_home_dirs":false}},'"$homes"'}'
selinux; echo "1 1" >"$booleans/use_nfs_home_dirs"; run_step host
check "host: … and not where the configuration says no" test "$(said) $(result status)" = "0;0 0;1; done"
config '{"host":{"grow_root":false,"selinux_booleans":{"no_such":true,"../enforce":false}}}'
selinux; echo 1 >"$booleans/../enforce"; run_step host
check "host: a boolean that the policy has not degrades, and none leads out of its folder" test "$(result status) $(result code) $(cat "$booleans/../enforce")" = "degraded host.selinux 1"
config '{"host":{"grow_root":false},'"$homes"'}'
selinux; rm "$booleans/use_nfs_home_dirs"; run_step host
check "host: a policy without homes' is no finding" verdict "done "
rm -r "$NODE/sys/fs/selinux"
config '{"host":{"grow_root":false,"firewall":"on"}}'
rm "$NODE/etc/systemd/system/firewalld.service"
run_step host
check "host: a firewall that is not installed cannot be on" verdict "failed host.firewall"
config '{"host":{"grow_root":false}}'
if mount -t tmpfs -o ro none "$NODE/var/lib/firstboot" 2>/dev/null; then
        run_step host
        check "host: a root file system that is read-only fails the node" verdict "failed host.read-only"
        umount "$NODE/var/lib/firstboot"
fi
run_step host
check "host: a writable one does not" verdict "done "
node_end

# --- mounts ---------------------------------------------------------------------------------------------------------
node_with_bus
entry() { printf '{"what":"%s","where":"%s","type":"nfs","verify":"%s","required":%s,"timeout":"2s","give_up":"%s"}' "$@"; }
config '{}'
run_step mounts
check "mounts: none configured, step skipped" verdict "skipped "
config "{\"mounts\":[$(entry "127.0.0.1:/a" "$NODE/m/a" write true 5s),$(entry "127.0.0.1:/b" "$NODE/m/b" read true 5s)]}"
mkdir -p "$NODE/m/a" "$NODE/m/b"
run_step mounts
check "mounts: two are mounted by transient units and used" verdict "done "
check "mounts: mount.nfs does not repeat by itself" grep -q 'Options=_netdev,retry=0' "$NODE/calls"
n=$(grep -c StartTransientUnit "$NODE/calls")
run_step mounts
check "mounts: what is mounted is only checked" test "$(grep -c StartTransientUnit "$NODE/calls")" = "$n"
check "mounts: the test file is gone" test -z "$(ls -A "$NODE/m/a")"
# A server that forgot what it had exported: opening the folder fails as it does then.
gcc -shared -fPIC -x c -o "$NODE/stale.so" - <<<'#include <errno.h>
void *opendir(const char *name) { errno = ESTALE; return name ? 0 : 0; }'
LD_PRELOAD=$NODE/stale.so ASAN_OPTIONS=verify_asan_link_order=0 run_step mounts
check "mounts: a stale handle is told from a read error" verdict "failed mounts.stale"
rmdir "$NODE/m/b"
run_step mounts
check "mounts: a mount that cannot be read fails" verdict "failed mounts.not-readable"
: >"$NODE/proc/self/mounts"
for m in a b; do systemd-escape -p --suffix=mount "$NODE/m/$m"; done >"$NODE/fail"
start=$SECONDS
run_step mounts
check "mounts: a server that refuses connections is told from one that refuses the mount" verdict "failed mounts.unreachable"
check "mounts: entries are tried at the same time" test $((SECONDS - start)) -le 12
check "mounts: and more than once" bash -c '[[ $1 =~ \(([0-9]+)\ tries\) && ${BASH_REMATCH[1]} -ge 2 ]]' - "$(result message)"
check "mounts: failures of the network may pass" test "$rc" = 75
config "{\"mounts\":[$(entry "127.0.0.1:/a" "$NODE/m/a" read false 1s)]}"
run_step mounts
check "mounts: an optional one only degrades" verdict "degraded mounts.unreachable"
config "{\"mounts\":[{\"what\":\"127.0.0.1@tcp:/fsx\",\"where\":\"$NODE/m/fsx\",\"type\":\"lustre\",\"verify\":\"read\",\"required\":true,\"timeout\":\"2s\",\"give_up\":\"300s\"}]}"
run_step mounts
check "mounts: Lustre without its client in the image is told at once, not tried again" verdict "failed mounts.no-client"
check "mounts: … and names the program" bash -c '[[ $1 == *mount.lustre*"(1 tries)"* ]]' - "$(result message)"
mkdir -p "$NODE/usr/sbin" "$NODE/m/fsx" && printf '#!/bin/sh\n' >"$NODE/usr/sbin/mount.lustre" && chmod +x "$NODE/usr/sbin/mount.lustre"
: >"$NODE/calls"
run_step mounts
check "mounts: with it, Lustre is mounted as a network file system" verdict "done "
check "mounts: … of its own type" grep -q 'Type=lustre' "$NODE/calls"
check "mounts: … without what is NFS's alone" bash -c '! grep -q "retry=" "$1"' - "$NODE/calls"
config "{\"mounts\":[{\"what\":\"127.0.0.1@tcp:/b\",\"where\":\"$NODE/m/b\",\"type\":\"lustre\",\"verify\":\"none\"},{\"what\":\"127.0.0.1:/c\",\"where\":\"$NODE/m/c\",\"type\":\"nfs\",\"verify\":\"none\"}]}"
mv "$NODE/fail" "$NODE/no-fail"; : >"$NODE/calls"
run_step mounts
check "mounts: a try has half a minute, with Lustre, which cannot be interrupted, two minutes" test "$(grep -o 'TimeoutUSec=.*' "$NODE/calls" | sort | xargs)" = "TimeoutUSec=120000000 TimeoutUSec=30000000"
mv "$NODE/no-fail" "$NODE/fail"
# The parent named last, and slow to come: its own server is away.
nested=$(entry "127.0.0.1:/a/in" "$NODE/m/a/in" read true 1s),$(entry "127.0.0.1:/a/" "$NODE/m/a/" read true 1s)
config "{\"mounts\":[$nested]}"
: >"$NODE/calls"
run_step mounts
check "mounts: what lies in a mount that failed is not mounted elsewhere" bash -c '! grep -q "What=127.0.0.1:/a/in" "$1/calls" && ! grep -q /in "$1/proc/self/mounts"' - "$NODE"
check "mounts: and is told, behind the one above, which is the reason" bash -c '[[ $1 == mounts.unreachable ]] && grep -q "a/in: not mounted, for $2/m/a above it has failed" "$2/agent.log"' - "$(result code)" "$NODE"
mv "$NODE/fail" "$NODE/no-fail"
: >"$NODE/calls"; mkdir -p "$NODE/m/a/in"
run_step mounts
check "mounts: nested ones are mounted in their order" test "$(grep -o 'What=.*' "$NODE/calls" | tr '\n' ' ')" = 'What=127.0.0.1:/a What=127.0.0.1:/a/in '
check "mounts: a slash at the end makes no other mount" verdict "done "
: >"$NODE/calls"; run_step mounts
check "mounts: nor does it on the next boot" bash -c '[[ $1 == done ]] && ! grep -q StartTransientUnit "$2"' - "$(result status)" "$NODE/calls"
printf '1 0 8:1 / / rw - ext4 /dev/vda rw\n2 1 0:9 / %s rw - nfs 127.0.0.1:/a/in rw\n3 1 0:8 / %s rw - nfs 127.0.0.1:/a rw\n' "$NODE/m/a/in" "$NODE/m/a" >"$NODE/proc/self/mountinfo"
run_step mounts
check "mounts: one that another hides is no mount" verdict "failed mounts.hidden"
rm "$NODE/proc/self/mountinfo"; : >"$NODE/proc/self/mounts"
echo '{"steps":[{"name":"scratch","status":"running"}]}' >"$NODE/run/firstboot/status.json"
config "{\"scratch\":{\"mount_point\":\"$NODE/m/s\"},\"mounts\":[$(entry "127.0.0.1:/a" "$NODE/m/s/a" read true 1s)]}"
run_step mounts
check "mounts: what lies on scratch waits for it" verdict "failed mounts.parent"
echo "/dev/x $NODE/m/s xfs rw 0 0" >"$NODE/proc/self/mounts"
run_step mounts
check "mounts: and comes after it" verdict "done "
rm "$NODE/run/firstboot/status.json"; : >"$NODE/proc/self/mounts"; mv "$NODE/no-fail" "$NODE/fail"
python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], file=open(sys.argv[1], "w"), flush=True); time.sleep(120)' "$NODE/port" &
nfs_pid=$!
for _ in $(seq 2400); do [[ -s $NODE/port ]] && break; sleep 0.05; done
other_port=$(entry "127.0.0.1:/a" "$NODE/m/a" read true 1s)
config "{\"mounts\":[${other_port%\}},\"options\":\"vers=4,port=$(cat "$NODE/port")\"}]}"
run_step mounts
check "mounts: a server is looked for at the port that the options name" verdict "failed mounts.refused"
kill "$nfs_pid"; wait "$nfs_pid" 2>/dev/null
echo "other:/x $NODE/m/a nfs rw 0 0" >"$NODE/proc/self/mounts"
config "{\"mounts\":[$(entry "127.0.0.1:/a" "$NODE/m/a" read true 1s)]}"
run_step mounts
check "mounts: a mount point that is taken fails" verdict "failed mounts.blocked"
node_end

# --- identity -------------------------------------------------------------------------------------------------------
node_with_bus
mkdir -p "$NODE"/{usr/sbin,etc/pam.d,etc/ssh} "$NODE/tls"
cd "$NODE/tls" && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=directory -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other-key.pem -out other.pem 2>/dev/null
cd "$TOP" || exit 1
printf 'alice 20001\nusers 20000\n' >"$NODE/tls/names"
tests/fixtures/ldap-double "$NODE/tls" &
ldap_pid=$!
for _ in $(seq 2400); do [[ -s $NODE/tls/ports ]] && break; sleep 0.05; done
read -r ldaps_port ldap_port silent_port <"$NODE/tls/ports"
# identity URI[","URI…] CA-FILE
identity() { config "{\"identity\":{\"uri\":[\"$1\"],\"base\":\"dc=x\",\"ca_file\":\"$2\",\"starttls\":true,\"probe_user\":\"alice\",\"probe_group\":\"users\",\"ssh_keys\":true,\"mkhomedir\":true,\"give_up\":\"${give_up:-1s}\"}}"; }
cp "$NODE/tls/cert.pem" "$NODE/etc/ca.pem"; cp "$NODE/tls/other.pem" "$NODE/etc/other.pem"; echo nonsense >"$NODE/etc/bad.pem"
printf 'passwd: files\ngroup: files\nshadow: files\n' >"$NODE/etc/nsswitch.conf"
echo 'session optional pam_mkhomedir.so' >"$NODE/etc/pam.d/common-session"
identity "ldaps://127.0.0.1:$ldaps_port" /etc/ca.pem
run_step identity
check "identity: without sssd it fails" verdict "failed identity.not-installed"
touch "$NODE/usr/sbin/sssd"; chmod +x "$NODE/usr/sbin/sssd"
tool getent <<'TOOL'
[[ $3 != passwd ]] || echo 'alice:*:20001:20000:Alice:/home/alice:/bin/bash'
TOOL
run_step identity
check "identity: done when the probe user is found" verdict "done "
check "identity: sssd.conf is for root only" test "$(stat -c %a "$NODE/etc/sssd/sssd.conf")" = 600
check "identity: nsswitch asks sssd" grep -q '^passwd: files sss$' "$NODE/etc/nsswitch.conf"
check "identity: sshd asks sssd for keys" grep -q sss_ssh_authorizedkeys "$NODE/etc/ssh/sshd_config.d/50-firstboot.conf"
check "identity: sshd reads its configuration while sssd starts" test \
        "$(grep -n '^RestartUnit sssd.service' "$NODE/calls" | cut -d: -f1)" -lt "$(grep -n '^ReloadOrTryRestartUnit ssh.service' "$NODE/calls" | cut -d: -f1)"
check "identity: the user is asked of sssd itself" grep -q '^getent -s sss passwd alice' "$NODE/tools"
: >"$NODE/calls"
run_step identity
check "identity: no socket is waited for that is not enabled" bash -c '! grep -q sssd-nss.socket "$1"' - "$NODE/calls"
mkdir -p "$NODE/etc/systemd/system/sssd.service.wants"; touch "$NODE/etc/systemd/system/sssd.service.wants/sssd-nss.socket"
run_step identity
check "identity: the responder's socket is, where sssd has one" grep -q '^StartUnit sssd-nss.socket' "$NODE/calls"
rm -r "$NODE/etc/systemd/system/sssd.service.wants"; run_step identity
: >"$NODE/calls"
run_step identity
check "identity: a second run does not restart sssd" bash -c '! grep -q RestartUnit "$1"' - "$NODE/calls"
echo ssh.service >"$NODE/aliases"; rm "$NODE/etc/ssh/sshd_config.d/50-firstboot.conf"
start=$SECONDS
run_step identity
check "identity: a unit that answers under another name is not waited for in vain" test $((SECONDS - start)) -lt 40
check "identity: sshd is reloaded once" test "$(grep -c ReloadOrTryRestartUnit "$NODE/calls")" = 1
# EL: authselect has PAM and NSS, refuses what others wrote there, and is told nothing that it knows.
printf 'passwd: files\ngroup: files\nshadow: files\n' >"$NODE/etc/nsswitch.conf"
: >"$NODE/selected"
tool authselect <<'TOOL'
case $1 in
current) [[ -s $FIRSTBOOT_ROOT/selected ]] || { echo "No existing configuration detected."; exit 2; }; cat "$FIRSTBOOT_ROOT/selected" ;;
select)
        grep -q sss "$FIRSTBOOT_ROOT/etc/nsswitch.conf" && { echo "[error] Unexpected changes to the configuration were detected."; exit 1; }
        shift; echo "$*" >"$FIRSTBOOT_ROOT/selected" ;;
enable-feature) sed -i "s/$/ $2/" "$FIRSTBOOT_ROOT/selected" ;;
esac
TOOL
run_step identity
check "identity: authselect's profile is chosen before anything of its is written" verdict "done "
check "identity: with homes" grep -qx 'sssd with-mkhomedir' "$NODE/selected"
: >"$NODE/tools"; run_step identity
check "identity: once" bash -c '! grep -qE "^authselect (select|enable)" "$1"' - "$NODE/tools"
echo 'custom/site with-faillock' >"$NODE/selected"; run_step identity
check "identity: a site's own profile is kept, with homes" grep -qx 'custom/site with-faillock with-mkhomedir' "$NODE/selected"
rm "$NODE/bin/authselect"; : >"$NODE/tools"
# What needs a second try has all the time for it, and ends with it.
found_once() { tool getent <<<"grep -q '$1' \$FIRSTBOOT_ROOT/calls || exit 2; [[ \$3 != passwd ]] || echo 'alice:*:20001:20000:Alice:/home/alice:/bin/bash'"; }
found_once '^RestartUnit sssd.service'
: >"$NODE/calls"
give_up=120s identity "ldaps://127.0.0.1:$ldaps_port" /etc/ca.pem
run_step identity
check "identity: an sssd that finds nobody is started afresh" verdict "done "
check "identity: once" test "$(grep -c '^RestartUnit sssd.service' "$NODE/calls")" = 1
identity "ldaps://127.0.0.1:$ldaps_port" /etc/other.pem
run_step identity
found_once '^KillUnit'
: >"$NODE/calls"
give_up=120s identity "ldaps://127.0.0.1:$ldaps_port" /etc/ca.pem
run_step identity
check "identity: one that was started just now is told to go online" verdict "done "
tool getent <<<'exit 2'
identity "ldaps://127.0.0.1:$ldaps_port" /etc/ca.pem
run_step identity
check "identity: that is said, for the directory has him" bash -c '[[ $1 == failed\ identity.no-user\ *"has user alice, but sssd does not find him" ]]' - "$(result status) $(result code) $(result message)"

# A cache that has everybody, and what the directory itself says.
tool getent <<'TOOL'
[[ $3 != passwd ]] || echo 'alice:*:20001:20000:Alice:/home/alice:/bin/bash'
TOOL
says() { # NAME URI CA-FILE STATUS CODE WORDS [GIVE-UP]
        give_up=${7:-} identity "$2" "$3"
        run_step identity
        [[ "$(result status) $(result code)" == "$4 $5" && "$(result message)" == *"$6"* ]]
        s=$?
        [[ $s -eq 0 ]] || echo "# $(result status) $(result code): $(result message)"
        check "identity: $1" test $s = 0
}
good=ldaps://127.0.0.1:$ldaps_port
says "StartTLS is spoken" "ldap://127.0.0.1:$ldap_port" /etc/ca.pem done '' 'alice found in ldap://'
says "the cache alone only degrades: nobody is there" ldaps://127.0.0.1:1 /etc/ca.pem degraded identity.cache-only 'Connection refused'
check "identity: it is asked again later, slowly" test "$(result transient)" = True
says "a server that says nothing" "ldaps://127.0.0.1:$silent_port" /etc/ca.pem degraded identity.cache-only 'then says nothing'
says "a wrong CA" "$good" /etc/other.pem degraded identity.cache-only 'self-signed certificate'
says "a wrong name" "ldaps://localhost:$ldaps_port" /etc/ca.pem degraded identity.cache-only 'hostname mismatch'
says "one of two servers down" "ldaps://127.0.0.1:1\",\"$good" /etc/ca.pem done '' "alice found in $good"
mv "$NODE/usr/lib/firstboot/firstboot-helper" "$NODE/usr/lib/firstboot/helper-away"
says "no claim about a directory that could not be asked" "$good" /etc/ca.pem degraded identity.cache-only 'could not be asked'
mv "$NODE/usr/lib/firstboot/helper-away" "$NODE/usr/lib/firstboot/firstboot-helper"
echo 'users 20000' >"$NODE/tls/names"
says "a user who is gone from the directory and in the cache" "$good" /etc/ca.pem failed identity.no-user "what sssd knows of users is its cache's"
says "that counts more than a server that is away" "ldaps://127.0.0.1:1\",\"$good" /etc/ca.pem failed identity.no-user 'user alice is not in'
echo 'alice 20001' >"$NODE/tls/names"
says "a group that the directory does not have" "$good" /etc/ca.pem failed identity.no-group 'group users is not in'
printf 'alice 777\nusers 20000\n' >"$NODE/tls/names"
tool sss_cache <<<'exit 0'
says "another number in the cache" "$good" /etc/ca.pem failed identity.stale 'number 20001, ldaps'
: >"$NODE/tools"
tool sss_cache <<'TOOL'
printf '#!/bin/bash\n[[ $3 != passwd ]] || echo "alice:*:777:20000:Alice:/home/alice:/bin/bash"\n' >"$FIRSTBOOT_ROOT/bin/getent"
TOOL
says "it is taken for out of date, which helps" "$good" /etc/ca.pem done '' "alice found in $good" 120s
check "identity: by sss_cache" grep -q '^sss_cache -u alice' "$NODE/tools"
tool getent <<<'[[ $3 != passwd ]] || echo "alice:*:20001:20000:Alice:/home/alice:/bin/bash"'
printf 'alice 20001\nusers 20000\n' >"$NODE/tls/names"
# Without a cache, the same reasons are failures.
tool getent <<<'exit 2'
says "a wrong CA is told" "$good" /etc/other.pem failed identity.certificate 'self-signed certificate'
says "a server that is away is told" ldaps://127.0.0.1:1 /etc/ca.pem failed identity.unreachable 'Connection refused'
says "a server that does not do StartTLS" "ldap://127.0.0.1:$ldaps_port" /etc/ca.pem failed identity.protocol 'StartTLS'
identity "ldaps://127.0.0.1:$ldaps_port" /etc/bad.pem
run_step identity
check "identity: a CA file without certificate is told" verdict "failed identity.ca-file"
identity "ldaps://127.0.0.1:$ldaps_port" /etc/ca.pem
tool getent <<<'[[ $3 == passwd ]] && echo alice:x:20001:'
run_step identity
check "identity: a group that is not found is told" verdict "failed identity.no-group"
echo sssd.service >"$NODE/fail"
run_step identity
check "identity: sssd that does not start is told" verdict "failed identity.sssd"
kill "$ldap_pid"; wait "$ldap_pid" 2>/dev/null
node_end

# --- slurm ----------------------------------------------------------------------------------------------------------
node_with_bus
mkdir -p "$NODE"/{usr/sbin,dev}
touch "$NODE/usr/sbin/slurmd" "$NODE/dev/nvidia0" "$NODE/dev/nvidia1" "$NODE/dev/nvidiactl"; chmod +x "$NODE/usr/sbin/slurmd"
key=$(head -c 128 /dev/zero | tr '\0' k | base64 -w0)
slurm() { config "{\"slurm\":{\"controllers\":[\"head:6817\"],\"cluster_name\":\"c\",\"node_name\":\"n7\",\"gres\":\"auto\",\"give_up\":\"${give_up:-60s}\",\"clock_skew_max\":\"60s\"${1:+,$1}}}"; }
status() { echo "{\"steps\":[$1]}" >"$NODE/run/firstboot/status.json"; }
skew() { echo "$1" >"$NODE/skew"; }
# A controller in a file: node.state holds "STATE REASON".
tool scontrol <<'TOOL'
[[ $SLURM_CONF == *slurm-client.conf && $TZ == UTC ]] || exit 9
[[ -e $FIRSTBOOT_ROOT/scontrol.says ]] && { cat "$FIRSTBOOT_ROOT/scontrol.says"; exit 1; }
node=$FIRSTBOOT_ROOT/node.state
case "$*" in
"show config") date -d "$(cat "$FIRSTBOOT_ROOT/skew") seconds" '+Configuration data as of %Y-%m-%dT%H:%M:%S' ;;
*"show node"*) [[ -e $node && $* == *" n7" ]] || { echo "Node ${*: -1} not found"; exit 1; }; read -r s r <"$node"; echo "NodeName=n7 State=$s ${r:+Reason=$r [root@2026-01-01T00:00:00]}"
        [[ $s != 'IDLE*' ]] || echo IDLE >"$node" ;;
"update NodeName=n7 State=DRAIN "*) [[ -e $node ]] || { echo "Invalid node name"; exit 1; }; r=${*: -1}; echo "IDLE+DRAIN ${r#Reason=}" >"$node" ;;
"update NodeName=n7 State=RESUME "* | "update NodeName=n7 State=UNDRAIN "*) echo 'IDLE*' >"$node" ;; # as slurmctld does, until it has heard of the node
*) exit 8 ;;
esac
TOOL
# munged answers; so do the node's checks.
tool munge <<<'exit 0'
mkdir -p "$NODE/usr/bin"; printf '#!/bin/sh\n[ "$*" = "check --quick" ]\n' >"$NODE/usr/bin/firstbootctl"; chmod +x "$NODE/usr/bin/firstbootctl"
skew 0
config '{}'
run_step slurm
check "slurm: not configured, step skipped" verdict "skipped "
slurm
run_step slurm
check "slurm: without firstbootd's status nothing joins" verdict "failed slurm.slurmd"
status '{"name":"host","status":"done","required":true}'
run_step slurm
check "slurm: without a key it fails" verdict "failed slurm.munge-key"
slurm "\"munge_key\":\"$key\""
echo IDLE >"$NODE/node.state"
run_step slurm
check "slurm: a node that registers is in service" verdict "done "
check "slurm: the key is put in place, 0400" test "$(stat -c %a "$NODE/etc/munge/munge.key") $(wc -c <"$NODE/etc/munge/munge.key")" = "400 128"
check "slurm: slurmd may start, and is started" bash -c 'grep -q "Unit slurmd.service" "$1/calls" && [[ -e $1/run/firstboot/slurmd-permit ]]' - "$NODE"
check "slurm: without a local configuration" grep -q "conf-server head:6817 -N n7'" "$NODE/run/firstboot/slurmd.env"
check "slurm: the key is in no log" bash -c '! grep -q "$2" "$1"/agent.log "$1"/tools' - "$NODE" "$key"
restarts() { grep -c 'RestartUnit slurmd.service' "$NODE/calls"; }
: >"$NODE/calls"
run_step slurm
check "slurm: a second run restarts nothing" bash -c '! grep -q RestartUnit "$1"' - "$NODE/calls"
mv "$NODE/run/firstboot/status.json" "$NODE/told"
run_step slurm
check "slurm: a member of which nothing is known fails for that" verdict "failed run.not-writable"
check "slurm: and is drained" grep -q '^IDLE+DRAIN \[firstboot\] run.not-writable: /run/firstboot/status.json does not tell' "$NODE/node.state"
echo '{"steps":7}' >"$NODE/run/firstboot/status.json"
run_step slurm
check "slurm: so it is where the status makes no sense" bash -c 'grep -q "^IDLE+DRAIN \[firstboot\] slurm.slurmd: .*no list of steps" "$1"' - "$NODE/node.state"
check "slurm: slurmd is left alone" bash -c '! grep -qE "(Stop|Restart)Unit slurmd" "$1"' - "$NODE/calls"
mv "$NODE/told" "$NODE/run/firstboot/status.json"
run_step slurm
check "slurm: known again, it is well" verdict "done "
check "slurm: and in service" bash -c '! grep -q DRAIN "$1"' - "$NODE/node.state"
# A slurmd that the controller does not hear of takes its time to end, and its successor registers a little later.
mkdir -p "$NODE/exec"
printf '#!/bin/sh\nsleep 8; (sleep 2; echo IDLE >"%s/node.state") &\n' "$NODE" >"$NODE/exec/slurmd.service"
chmod +x "$NODE/exec/slurmd.service"
echo IDLE+NOT_RESPONDING >"$NODE/node.state"
give_up=14s slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: the time that its restart takes is not the controller's" verdict "done "
check "slurm: … which it was restarted for once" test "$(restarts)" = 1
rm "$NODE/exec/slurmd.service"
slurm "\"munge_key\":\"$key\""
: >"$NODE/calls"
# Another night: the controller is another host, and the node gets another name.
moved() { sed -i "s/head:6817/spare:6817/; s/\"n7\"/\"${1:-n7}\"/" "$NODE/run/firstboot/config.json"; run_step slurm; }
moved
check "slurm: a controller that moved: slurmd and scontrol go to its new host" bash -c \
        'grep -q "conf-server spare:6817 -N n7" "$1/slurmd.env" && grep -q "=spare" "$1/slurm-client.conf" && ! grep -q head "$1/slurm-client.conf"' - "$NODE/run/firstboot"
check "slurm: … for which slurmd is restarted, once" test "$(restarts) $(moved; restarts)" = "1 1"
status '{"name":"scratch","status":"failed","required":true,"result":{"code":"scratch.disk-missing","message":"S1"}}'
slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: … also of a node that is drained meanwhile" bash -c 'grep -q "conf-server head:6817" "$1/run/firstboot/slurmd.env" && [[ $(cat "$1/node.state") == IDLE+DRAIN* && $2 == 2 ]]' \
        - "$NODE" "$(restarts)"
status '{"name":"host","status":"done","required":true}'
run_step slurm
check "slurm: … and comes back" bash -c '[[ $1 == done && $2 == IDLE* ]]' - "$(result status)" "$(cat "$NODE/node.state")"
give_up=1s slurm "\"munge_key\":\"$key\""
moved n8
check "slurm: a node with a new name that the controller has not been told of" verdict "failed slurm.not-registered"
check "slurm: … which is named" bash -c '[[ $1 == *"no node n8"* ]]' - "$(result message)"
slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: … under the old one it is in service" verdict "done "
mkfifo "$NODE/etc/hangs"
slurm '"munge_key_file":"/etc/hangs"'
run_step slurm
check "slurm: a file server that hangs, with a key in place, is no obstacle" verdict "done "
mv "$NODE/etc/munge/munge.key" "$NODE/etc/munge/away"
slurm '"munge_key_file":"/etc/nowhere"'
run_step slurm
check "slurm: a key file that is not there is told" verdict "failed slurm.munge-key"
mv "$NODE/etc/munge/away" "$NODE/etc/munge/munge.key"
slurm "\"munge_key\":\"$key\",\"dynamic\":true,\"features\":[\"a\",\"b\"]"
run_step slurm
check "slurm: a dynamic node tells features and GPUs" grep -q -- '-Z --conf "Feature=a,b Gres=gpu:2"' "$NODE/run/firstboot/slurmd.env"
slurm "\"munge_key\":\"$key\""
skew 600
give_up=1s slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: a clock ten minutes off fails" verdict "failed slurm.clock-skew"
check "slurm: how far and how much is allowed, in minutes" bash -c '[[ $1 == *" by "*" min"*"; at most 1 min is allowed" ]]' - "$(result message)"
skew 0
for words in "Munge decode failed: Invalid credential|slurm.munge-mismatch" "Munge decode failed: Rewound credential|slurm.clock-skew" \
        "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)|slurm.controller-unreachable"; do
        echo "${words%|*}" >"$NODE/scontrol.says"
        run_step slurm
        check "slurm: \"${words%|*}\" is ${words#*|}" verdict "failed ${words#*|}"
done
check "slurm: without NTP a refusal may be the clock's, and is said to be" bash -c '[[ $(cat "$1/agent.log") == *"a clock five minutes off looks the same"* ]]' - "$NODE"
rm "$NODE/scontrol.says"
rm "$NODE/node.state"
run_step slurm
check "slurm: a node that the controller does not know is told" verdict "failed slurm.not-registered"
slurm "\"munge_key\":\"$key\""
echo 'IDLE+DRAIN bad fan' >"$NODE/node.state"
run_step slurm
check "slurm: a drain of somebody else's stays" verdict "degraded slurm.drained"
check "slurm: with its reason" bash -c '[[ $1 == *"bad fan"* ]]' - "$(result message)"
if [[ $EUID -eq 0 ]]; then
        # To Slurm, every node.
        config "{\"slurm\":{\"controllers\":[\"head:6817\"],\"munge_key\":\"$key\"}}"
        status '{"name":"scratch","status":"failed","required":true,"result":{"code":"scratch.foreign-signature","message":"disk"}}'
        : >"$NODE/tools"
        PATH=$NODE/bin:$PATH unshare --uts sh -c 'hostname all && exec timeout 180 "$1" slurm' - "$node_build/firstboot-step" >>"$NODE/agent.log" 2>&1
        step=slurm
        check "slurm: a host called all is told, and drains nobody" verdict "failed slurm.node-name"
        check "slurm: … Slurm is not asked" test ! -s "$NODE/tools"
        slurm "\"munge_key\":\"$key\""
fi
status '{"name":"scratch","status":"failed","required":true,"result":{"code":"scratch.foreign-signature","message":"disk \"X\""}}'
echo IDLE >"$NODE/node.state"; rm -f "$NODE/run/firstboot/slurmd-permit"
: >"$NODE/calls"; : >"$NODE/tools"
run_step slurm
check "slurm: after a failure the node registers as DRAIN" verdict "degraded slurm.drained-by-firstboot"
check "slurm: with the reason for sinfo -R" grep -q '^IDLE+DRAIN \[firstboot\] scratch.foreign-signature: disk  X' "$NODE/node.state"
check "slurm: drained before slurmd starts" bash -c 'grep -q "State=DRAIN" "$1/tools" && [[ $(cat "$1/run/firstboot/slurmd-permit") == drain ]]' - "$NODE"
status '{"name":"identity","status":"failed","required":true,"result":{"code":"identity.no-user","message":"user alice is not found"}}'
run_step slurm
check "slurm: a reason that says \"not found\" hides no node" verdict "degraded slurm.drained-by-firstboot"
status '{"name":"scratch","status":"done","required":true}'
slurm "\"munge_key\":\"$key\""
: >"$NODE/tools"
run_step slurm
check "slurm: a node is resumed once, and heard of, before it is in service" test "$(grep -c State=UNDRAIN "$NODE/tools") $(grep -c 'show node' "$NODE/tools")" = "1 4"
check "slurm: on recovery a drain of ours is lifted" bash -c '[[ $1 == done && $2 == IDLE* ]]' - "$(result status)" "$(cat "$NODE/node.state")"
status '{"name":"scratch","status":"failed","required":true,"result":{"code":"a.b","message":"x"}}'
rm "$NODE/node.state"
give_up=1s slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: a node that cannot be drained does not run slurmd" verdict "failed slurm.drain-failed"
check "slurm: and may not" bash -c '[[ ! -e $1/run/firstboot/slurmd-permit ]] && grep -q "StopUnit slurmd.service" "$1/calls"' - "$NODE"
status '{"name":"scratch","status":"done","required":true}'
echo slurmd.service >"$NODE/fail"
run_step slurm
check "slurm: slurmd that does not start is told" verdict "failed slurm.slurmd"
node_end
[[ -z $failed ]]
