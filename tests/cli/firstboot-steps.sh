#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The host, mounts, identity and slurm steps, each as a program, with doubles of what they call: systemd's manager,
# hostname1 and timedate1 on a private bus, and scontrol, getent, growpart … on PATH.
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
run_step() { PATH=$NODE/bin:$PATH timeout 60 "$node_build/firstboot-step" "$1" >>"$NODE/agent.log" 2>&1; rc=$?; step=$1; }
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
config '{"host":{"grow_root":false,"firewall":"keep","sysctl":{"net.core.nonsense":1}}}'
run_step host
check "host: an unknown kernel setting fails" test "$(result code) $rc" = "host.sysctl 1"
config '{"host":{"grow_root":false,"firewall":"on"}}'
rm "$NODE/etc/systemd/system/firewalld.service"
run_step host
check "host: a firewall that is not installed cannot be on" verdict "failed host.firewall"
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
python3 -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], file=open(sys.argv[1], "w"), flush=True); time.sleep(120)' "$NODE/port" &
nfs_pid=$!
for _ in $(seq 100); do [[ -s $NODE/port ]] && break; sleep 0.05; done
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
cd "$NODE/tls" && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other-key.pem -out other.pem 2>/dev/null
cd "$TOP" || exit 1
# An LDAP server as far as TLS goes: TLS at once on one port, after StartTLS on the next, silence on the last.
python3 - "$NODE/tls" <<'PY' &
import socket, ssl, sys, threading
folder = sys.argv[1]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
def serve(listener, starttls):
    while True:
        connection, _ = listener.accept()
        try:
            if starttls:
                connection.recv(1000)
                connection.sendall(bytes.fromhex("300c02010178070a010004000400"))
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            pass
listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
for l, starttls in zip(listeners, (False, True)):
    threading.Thread(target=serve, args=(l, starttls), daemon=True).start()
silent = socket.create_server(("127.0.0.1", 0))
print(*(l.getsockname()[1] for l in listeners + [silent]), file=open(folder + "/ports", "w"), flush=True)
threading.Event().wait(120)
PY
ldap_pid=$!
for _ in $(seq 100); do [[ -s $NODE/tls/ports ]] && break; sleep 0.05; done
read -r ldaps_port ldap_port silent_port <"$NODE/tls/ports"
identity() { config "{\"identity\":{\"uri\":[\"$1\"],\"base\":\"dc=x\",\"ca_file\":\"$2\",\"starttls\":true,\"probe_user\":\"alice\",\"probe_group\":\"users\",\"ssh_keys\":true,\"mkhomedir\":true,\"give_up\":\"1s\"}}"; }
cp "$NODE/tls/cert.pem" "$NODE/etc/ca.pem"; cp "$NODE/tls/other.pem" "$NODE/etc/other.pem"; echo nonsense >"$NODE/etc/bad.pem"
printf 'passwd: files\ngroup: files\nshadow: files\n' >"$NODE/etc/nsswitch.conf"
echo 'session optional pam_mkhomedir.so' >"$NODE/etc/pam.d/common-session"
identity "ldaps://localhost:$ldaps_port" /etc/ca.pem
run_step identity
check "identity: without sssd it fails" verdict "failed identity.not-installed"
touch "$NODE/usr/sbin/sssd"; chmod +x "$NODE/usr/sbin/sssd"
tool getent <<<'exit 0'
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
tool getent <<<'exit 2'
: >"$NODE/calls"
run_step identity
check "identity: an sssd that finds nobody is started afresh, once" test "$(grep -c '^RestartUnit sssd.service' "$NODE/calls")" = 1
# The helper looks at files below the root it is told of by path, so the CA is named as the host has it.
ln -s "$NODE/etc" "$NODE/real-etc"
run_tls() { identity "$1" "$2"; [[ $2 == /* && -e $2 ]] && mkdir -p "$NODE$(dirname "$2")" && cp "$2" "$NODE$2"; run_step identity; }
run_tls "ldaps://localhost:$ldaps_port" "$NODE/tls/cert.pem"
check "identity: TLS is good, so it is the user" verdict "failed identity.no-user"
check "identity: between tries sssd is told to go online" grep -q KillUnit "$NODE/calls"
check "identity: and that is said" grep -q 'though TLS to ldaps://localhost:[0-9]* works' "$NODE/run/firstboot/results/identity.json"
mv "$NODE/usr/lib/firstboot/firstboot-helper" "$NODE/usr/lib/firstboot/helper-away"
run_step identity
check "identity: no claim about TLS where it could not be tried" grep -q 'TLS to ldaps://localhost:[0-9]* could not be tried' "$NODE/run/firstboot/results/identity.json"
mv "$NODE/usr/lib/firstboot/helper-away" "$NODE/usr/lib/firstboot/firstboot-helper"
run_tls "ldaps://localhost:$ldaps_port" "$NODE/tls/other.pem"
check "identity: a wrong CA is told" verdict "failed identity.certificate"
run_tls "ldaps://127.0.0.1:$ldaps_port" "$NODE/tls/cert.pem"
check "identity: a wrong name is told" verdict "failed identity.certificate"
run_tls "ldap://localhost:$ldap_port" "$NODE/tls/cert.pem"
check "identity: StartTLS is spoken" verdict "failed identity.no-user"
run_tls "ldap://localhost:$ldap_port" "$NODE/tls/other.pem"
check "identity: and its certificate examined" verdict "failed identity.certificate"
run_tls "ldaps://localhost:1" "$NODE/tls/cert.pem"
check "identity: a server that is away is told" verdict "failed identity.unreachable"
run_tls "ldaps://localhost:$silent_port" "$NODE/tls/cert.pem"
check "identity: so is one that says nothing" verdict "failed identity.unreachable"
run_tls "ldap://localhost:$silent_port" "$NODE/tls/cert.pem"
check "identity: to StartTLS neither" verdict "failed identity.unreachable"
identity "ldaps://localhost:$ldaps_port" /etc/bad.pem
run_step identity
check "identity: a CA file without certificate is told" verdict "failed identity.ca-file"
identity "ldaps://localhost:$ldaps_port" /etc/ca.pem
tool getent <<<'[[ $3 == passwd ]]'
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
slurm() { config "{\"slurm\":{\"controllers\":[\"head:6817\"],\"cluster_name\":\"c\",\"node_name\":\"n7\",\"gres\":\"auto\",\"give_up\":\"${give_up:-1s}\",\"clock_skew_max\":\"60s\"${1:+,$1}}}"; }
status() { echo "{\"steps\":[$1]}" >"$NODE/run/firstboot/status.json"; }
skew() { echo "$1" >"$NODE/skew"; }
# A controller in a file: node.state holds "STATE REASON".
tool scontrol <<'TOOL'
[[ $SLURM_CONF == *slurm-client.conf && $TZ == UTC ]] || exit 9
[[ -e $FIRSTBOOT_ROOT/scontrol.says ]] && { cat "$FIRSTBOOT_ROOT/scontrol.says"; exit 1; }
node=$FIRSTBOOT_ROOT/node.state
case "$*" in
"show config") date -d "$(cat "$FIRSTBOOT_ROOT/skew") seconds" '+Configuration data as of %Y-%m-%dT%H:%M:%S' ;;
*"show node"*) [[ -e $node ]] || { echo "Node n7 not found"; exit 1; }; read -r s r <"$node"; echo "NodeName=n7 State=$s ${r:+Reason=$r [root@2026-01-01T00:00:00]}"
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
: >"$NODE/calls"
run_step slurm
check "slurm: a second run restarts nothing" bash -c '! grep -q RestartUnit "$1"' - "$NODE/calls"
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
run_step slurm
check "slurm: a clock ten minutes off fails" verdict "failed slurm.clock-skew"
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
echo 'IDLE+DRAIN bad fan' >"$NODE/node.state"
run_step slurm
check "slurm: a drain of somebody else's stays" verdict "degraded slurm.drained"
check "slurm: with its reason" bash -c '[[ $1 == *"bad fan"* ]]' - "$(result message)"
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
give_up=20s slurm "\"munge_key\":\"$key\""
: >"$NODE/tools"
run_step slurm
check "slurm: a node is resumed once, and heard of, before it is in service" test "$(grep -c State=UNDRAIN "$NODE/tools") $(grep -c 'show node' "$NODE/tools")" = "1 4"
check "slurm: on recovery a drain of ours is lifted" bash -c '[[ $1 == done && $2 == IDLE* ]]' - "$(result status)" "$(cat "$NODE/node.state")"
status '{"name":"scratch","status":"failed","required":true,"result":{"code":"a.b","message":"x"}}'
rm "$NODE/node.state"
slurm "\"munge_key\":\"$key\""
run_step slurm
check "slurm: a node that cannot be drained does not run slurmd" verdict "failed slurm.drain-failed"
check "slurm: and may not" bash -c '[[ ! -e $1/run/firstboot/slurmd-permit ]] && grep -q "StopUnit slurmd.service" "$1/calls"' - "$NODE"
status '{"name":"scratch","status":"done","required":true}'
echo slurmd.service >"$NODE/fail"
run_step slurm
check "slurm: slurmd that does not start is told" verdict "failed slurm.slurmd"
node_end
[[ -z $failed ]]
