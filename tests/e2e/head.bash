# Sourced by the e2e tests of the agent: a head node, run natively from a trixie tree in sandboxes, each service by
# itself, in a network namespace of the test's own. There, every port is free, and a virtual machine on QEMU's user
# network reaches the namespace's loopback at 10.0.2.2; nothing reaches the real network.
#
#   head_build          makes the tree (needs the network, the first time)
#   head_tree           the same while no other script does, and ends the script where it fails
#   head_enter "$@"     runs the script again inside the namespaces; returns there
#   head_make           a fresh head node: keys, certificates, directory, exports
#   head_start NAME…    ldap, portmap, nfs, time, munge, slurm; returns once each answers
#   head_stop NAME…     as if the plug were pulled
#   head_pause, head_continue NAME…   accepts connections, answers nothing; goes on
#   head_run COMMAND…   a command on the head node
#   head_shows STATE [REASON]   within three minutes, what Slurm's controller shows of the node: a reason that begins so
#   node_config [JSON]      what a node of this head node is configured with, JSON merged over it

HEAD=$E2E/head
HEAD_LOG=$E2E/head-log
HEAD_SERVICES=(ldap nfs time munge slurm)
# HEAD_NFS3=1, set before head_make: NFS 3 as well, which wants portmap started before nfs.
NODE=node-e2e

# head_tree: the same for a script that shares the tree with others, of recipes that are up to date; without it there is nothing to test.
head_tree() { alone head_project || { echo "not ok - the head node's tree builds"; exit 1; }; }
head_project() { project && head_build; }
head_build() { build head >"$E2E/head-build.log" 2>&1 || { tail -n 40 "$E2E/head-build.log"; return 1; }; }

head_enter() {
        if [[ -z ${HEAD_INSIDE:-} ]]; then
                HEAD_INSIDE=1 exec unshare --net --mount --propagation private -- bash "$0" "$@"
        fi
        # Loopback up, and 10.0.2.2 on it as well: node and head know the head by the same address.
        python3 -c '
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def address(name, request, a):
    fcntl.ioctl(s, request, struct.pack("16sH2s4s8x", name, socket.AF_INET, b"", socket.inet_aton(a)))
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))       # SIOCSIFFLAGS: up, running
address(b"lo:1", 0x8916, "10.0.2.2")                                     # SIOCSIFADDR
address(b"lo:1", 0x891c, "255.255.255.255")                              # SIOCSIFNETMASK
'
        mkdir -p "$HEAD" "$HEAD_LOG" && mount -t tmpfs -o size=1G head "$HEAD"
        trap 'head_stop portmap "${HEAD_SERVICES[@]}"' EXIT
}

# head_layers [RECIPE]: the tree, as overlayfs wants it.
# shellcheck disable=SC2120 # other scripts give it one
head_layers() {
        local digest lower=''
        while read -r digest; do
                lower=$CACHE/layers/$digest/tree${lower:+:$lower}
        done < <("$IMGBUILD" plan "${1:-$RECIPES/head.json}" --cache "$CACHE" --offline --json |
                python3 -c 'import json, sys; [print(s["digest"][:32]) for s in json.load(sys.stdin)["stages"]]')
        echo "$lower"
}

# head_make: the overlay's upper side lies in memory and is gone with the namespace.
head_make() {
        local lower root=$HEAD/root
        head_stop portmap "${HEAD_SERVICES[@]}"
        mountpoint -q "$root" && umount "$root"
        mountpoint -q "$HEAD/export" && umount "$HEAD/export"
        rm -rf "${HEAD:?}"/{upper,work,run,pid} "${HEAD_LOG:?}"/*
        mkdir -p "$HEAD"/{root,upper,work,run/munge,run/slapd,run/ganesha,export,pid}
        # In memory, so that it can be exported wherever the tests run; mtab hides from ganesha that it is a tmpfs,
        # which it would pass over.
        mount -t tmpfs export "$HEAD/export" && mkdir "$HEAD"/export/{home,data}
        lower=$(head_layers)
        mount -t overlay -o "lowerdir=$lower,upperdir=$HEAD/upper,workdir=$HEAD/work" head "$root" || return 1
        printf 'sunrpc 111/%s portmapper\n' tcp udp >>"$root/etc/services" # netbase's, which rpcbind asks for
        rm -f "$root/etc/mtab" && echo 'export /export ext4 rw 0 0' >"$root/etc/mtab"
        printf '127.0.0.1 localhost\n10.0.2.2 head\n127.0.0.1 %s\n' "$NODE" >"$root/etc/hosts"
        head_keys && head_directory && head_exports && head_cluster
}

head_bwrap() { # OPTION… -- COMMAND…
        bwrap --bind "$HEAD/root" / --dev /dev --proc /proc --perms 1777 --tmpfs /tmp --bind "$HEAD/run" /run \
                --bind "$HEAD/export" /export --bind "$HEAD_LOG" /var/log/head --unshare-pid --unshare-uts --hostname head \
                --cap-add ALL --die-with-parent --new-session "$@"
}

head_run() { head_bwrap -- "$@"; }

head_keys() {
        local tls=$HEAD/root/etc/head
        mkdir -p "$tls"
        head_run sh -euc '
cd /etc/head
for ca in ca other-ca; do
        openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$ca" -keyout $ca.key -out $ca.pem
done
openssl req -newkey rsa:2048 -nodes -subj /CN=head -keyout head.key -out head.csr
printf "subjectAltName=DNS:head,IP:10.0.2.2\n" >san
openssl x509 -req -in head.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile san -out head.pem
for key in munge other-munge; do head -c 128 /dev/urandom >$key.key; done
install -o munge -g munge -m 0400 munge.key /etc/munge/munge.key
install -m 0400 munge.key other-munge.key /export/data
chown -R munge:munge /run/munge /var/lib/munge /var/log/munge' >"$HEAD_LOG/keys.log" 2>&1
}

# One user, "alice", whose ssh key comes from the directory, and one group, "crew".
head_directory() {
        local root=$HEAD/root
        make_key
        mkdir -p "$root/var/lib/head-ldap"
        cat >"$root/etc/head/slapd.conf" <<'CONF'
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey' EQUALITY octetStringMatch
        SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey' SUP top AUXILIARY MAY ( sshPublicKey $ uid ) )
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile /etc/head/ca.pem
TLSCertificateFile /etc/head/head.pem
TLSCertificateKeyFile /etc/head/head.key
security tls=1
database mdb
suffix dc=example,dc=org
directory /var/lib/head-ldap
CONF
        cat >"$root/etc/head/people.ldif" <<LDIF
dn: dc=example,dc=org
objectClass: organization
objectClass: dcObject
o: example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: uid=alice,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
objectClass: posixAccount
objectClass: ldapPublicKey
uid: alice
cn: Alice
sn: Alice
uidNumber: 20001
gidNumber: 20000
homeDirectory: /home/alice
loginShell: /bin/bash
sshPublicKey: $(cat "$KEY.pub")

dn: cn=crew,ou=groups,dc=example,dc=org
objectClass: posixGroup
cn: crew
gidNumber: 20000
memberUid: alice
LDIF
        head_run slapadd -f /etc/head/slapd.conf -l /etc/head/people.ldif >"$HEAD_LOG/slapadd.log" 2>&1
}

# The lease stays long: one of a few seconds expires on a busy machine, which a client tells its users as EIO.
head_exports() {
        local id=0 name
        {
                # With mount_path_pseudo, exports have the same names for NFS 3 as for 4.
                cat <<CONF
NFS_CORE_PARAM { Protocols = ${HEAD_NFS3:+3, }4; MNT_Port = 20048; mount_path_pseudo = true; NFS_Port = 2049; Bind_addr = 0.0.0.0; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
        allow_set_io_flusher_fail = true; }
NFSv4 { Graceless = true; }
CONF
                for name in home data; do
                        printf 'EXPORT { Export_Id = %d; Path = /export/%s; Pseudo = /%s; Access_Type = RW; ' $((++id)) $name $name
                        printf 'Squash = No_Root_Squash; SecType = sys; FSAL { Name = VFS; } }\n'
                done
        } >"$HEAD/root/etc/head/ganesha.conf"
        chmod 0755 "$HEAD"/export/*
}

head_cluster() {
        mkdir -p "$HEAD/root/etc/slurm" "$HEAD/root/var/spool/slurmctld"
        rm -f "$HEAD/root/etc/slurm/plugstack.conf" # job-env's plugin, which most tests' nodes have not
        cat >"$HEAD/root/etc/slurm/slurm.conf" <<CONF
ClusterName=e2e
SlurmctldHost=head
SlurmUser=root
AuthType=auth/munge
SlurmctldParameters=enable_configless
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
SlurmdTimeout=3600
MpiDefault=none
NodeName=$NODE NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
}

# Called by head_start: the service's own command line in a sandbox, in the background.
head_launch() {
        local name=$1
        shift
        head_bwrap --setenv TZ UTC -- "$@" >>"$HEAD_LOG/$name.log" 2>&1 &
        echo $! >"$HEAD/pid/$name"
}

head_answers() {
        case $1 in
        portmap) python3 -c 'import socket; socket.create_connection(("127.0.0.1", 111), 1)' ;;
        ldap) head_run sh -c 'LDAPTLS_CACERT=/etc/head/ca.pem ldapsearch -xLLL -H ldaps://head -b dc=example,dc=org -s base' ;;
        nfs) python3 -c 'import socket; socket.create_connection(("127.0.0.1", 2049), 1)' ;;
        time) head_run chronyc -n -h 127.0.0.1 tracking ;;
        munge) head_run sh -c 'munge -n | unmunge' ;;
        slurm) head_run scontrol ping | grep -q 'is UP' ;;
        esac >/dev/null 2>&1
}

head_start() {
        local name i
        for name in "$@"; do
                case $name in
                ldap) head_launch ldap slapd -d stats -f /etc/head/slapd.conf -h 'ldaps:/// ldap:///' ;;
                portmap) head_launch portmap rpcbind -f ;;
                nfs) head_launch nfs ganesha.nfsd -F -L STDOUT -N EVENT -f /etc/head/ganesha.conf -p /run/ganesha/pid ;;
                # -x: it tells the time and leaves the host's clock alone. One that was killed left its pid.
                time) rm -f "$HEAD/run/chronyd.pid"; head_launch time chronyd -d -x -u root 'local stratum 8' 'allow all' 'cmdallow 127/8' \
                        'pidfile /run/chronyd.pid' 'bindcmdaddress /' ;;
                munge) head_launch munge setpriv --reuid munge --regid munge --clear-groups munged --foreground --force ;;
                slurm) head_launch slurm slurmctld -D ;;
                esac
        done
        for name in "$@"; do
                for ((i = 0; i < 300; i++)); do head_answers "$name" && continue 2; sleep 0.2; done
                echo "# the head's $name does not answer:"
                tail -n 20 "$HEAD_LOG/$name.log"
                return 1
        done
}

# With all that it started: what nsenter put into a machine lives on without it. And a sandbox's own processes die a moment after bwrap; until
# then they hold the port that the next one wants.
head_stop() {
        local name pid inside i
        for name in "$@"; do
                [[ -s $HEAD/pid/$name ]] || continue
                pid=$(cat "$HEAD/pid/$name")
                rm -f "$HEAD/pid/$name"
                inside=$(head_descendants "$pid")
                kill -KILL "$pid" $inside 2>/dev/null
                wait "$pid" 2>/dev/null
                for ((i = 0; i < 600; i++)); do
                        [[ -n $inside ]] && ps -o stat= -p "${inside//$'\n'/,}" | grep -q '^[^Z]' || break
                        sleep 0.1
                done
        done
        return 0
}

head_shows() {
        local got end=$((SECONDS + 180))
        while ((SECONDS < end)); do
                got=$(head_run sinfo -h -N -o '%T|%E')
                [[ $got == "$1|${2:-}"* ]] && return 0
                sleep 1
        done
        echo "# the controller shows $got"
        return 1
}

head_descendants() {
        local child
        for child in $(pgrep -P "$1"); do echo "$child"; head_descendants "$child"; done
}
head_pause() { local name; for name in "$@"; do kill -STOP $(head_descendants "$(cat "$HEAD/pid/$name")"); done; }
head_continue() { local name; for name in "$@"; do kill -CONT $(head_descendants "$(cat "$HEAD/pid/$name")"); done; }

# node_config [JSON]: what a node of this head node is configured with; JSON is merged over it, null takes a key away.
node_config() {
        python3 - "${1:-{\}}" <<'P'
import json, sys
config = {
    "host": {"timezone": "Europe/Berlin", "sysctl": {"net.core.somaxconn": 8192},
             "limits": [{"item": "memlock", "value": "unlimited"}]},
    "scratch": {"disks": 4, "models": ["QEMU NVMe Ctrl"]},
    "mounts": [{"what": "head:/home", "where": "/home", "verify": "write"}, {"what": "head:/data", "where": "/data"}],
    "identity": {"uri": ["ldaps://head"], "base": "dc=example,dc=org", "ca_file": "/etc/firstboot/ca.pem",
                 "probe_user": "alice", "probe_group": "crew"},
    "slurm": {"controllers": ["head"], "munge_key_file": "/data/munge.key", "drain_on_failure": True},
    "metrics": {"directory": "/var/lib/firstboot"},
    "ready": {"command": ["/bin/sh", "-c", "cat >/run/told"], "on": "always"},
}
def merge(to, other):
    for key, value in other.items():
        if value is None:
            to.pop(key, None)
        elif isinstance(value, dict) and isinstance(to.get(key), dict):
            merge(to[key], value)
        else:
            to[key] = value
merge(config, json.loads(sys.argv[1]))
print(json.dumps(config))
P
}
