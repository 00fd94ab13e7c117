# Sourced after head.bash, inside head_enter: compute nodes without machines, each for itself. A node mounts the image's layers for itself
# (overlayfs) and has network, process, mount and host name namespaces of its own; a cable (veth) goes to a bridge of the head's. The real
# munged and slurmd run in it, sssd and sshd where the image has them. For what needs no kernel of its own, and hosts that are really apart:
# mpirun, Gloo, ssh. The user is alice of the directory; without sssd, of a file.
#
#   node_prepare N [LINE…] head_make has been called: the names n1 … nN, Slurm's controller (lines of slurm.conf besides), the directory
#   node_start NAME        from nothing, as after a power-on; node_stop NAME pulls the plug, and what was on its disk is gone
#   node_run NAME COMMAND… as root there;  node_as NAME USER COMMAND… as a user who has logged in there
#   node_ready N           waits until N nodes are idle
#   node_end               ends everything
#   NODE_LAYERS            set before: the layers, as overlayfs wants them; those of the head's tree without it

APART=$HEAD/apart

node_prepare() { # N [LINE…]
        local count=$1 n
        shift
        mkdir -p "$APART"
        : "${NODE_LAYERS:=$(head_layers)}"
        ip link add nodes type bridge && ip address add 10.9.0.254/24 dev nodes && ip link set nodes up || return 1
        for ((n = 1; n <= count; n++)); do echo "10.9.0.$n n$n" >>"$HEAD/root/etc/hosts"; done
        echo 'CgroupPlugin=disabled' >"$HEAD/root/etc/slurm/cgroup.conf"
        echo 'optional spank_job_env.so' >"$HEAD/root/etc/slurm/plugstack.conf"
        sed -i -E '/^(NodeName|PartitionName|MpiDefault|SlurmdTimeout)=/d' "$HEAD/root/etc/slurm/slurm.conf"
        {
                # More processors than there are, for where tasks lie is the matter here; a node that dies is missed soon.
                printf '%s\n' SelectTypeParameters=CR_CPU SlurmdParameters=config_overrides SlurmdTimeout=20 UnkillableStepTimeout=300 TreeWidth=16 "$@"
                cat "$TOP"/overlays/pmix/files/etc/hpc-head/slurm.conf.d/*.conf
                for ((n = 1; n <= count; n++)); do echo "NodeName=n$n CPUs=4 RealMemory=4000"; done
                echo 'PartitionName=compute Nodes=ALL Default=YES State=UP'
        } >>"$HEAD/root/etc/slurm/slurm.conf"
        # Slurm's controller knows a user by number; the nodes ask the directory.
        echo 'alice:x:20001:20000::/home/alice:/bin/bash' | tee -a "$HEAD/root/etc/passwd" >"$APART/alice"
        install -d -o 20001 -g 20000 -m 0700 "$HEAD"/export/home/alice{,/.ssh}
        install -o 20001 -g 20000 -m 0600 "$KEY" "$HEAD/export/home/alice/.ssh/id_ed25519"
        install -o 20001 -g 20000 -m 0600 "$KEY.pub" "$HEAD/export/home/alice/.ssh/authorized_keys"
        head_start ldap munge slurm
}

# What a node's first process does, in its namespaces.
node_init() {
        cat >"$APART/init" <<'I'
#!/bin/bash
# Ends when one of its services does, as a machine would be found out.
set -u
mkdir -p /run/munge /run/sshd /run/sssd /var/lib/sss/{db,pipes/private,mc,pubconf} /var/log/sssd
chown munge:munge /run/munge
setpriv --reuid munge --regid munge --clear-groups munged --foreground --force &
if [[ -x /usr/sbin/sssd ]]; then sssd -i --logger=stderr & else grep -q ^alice: /etc/passwd || cat /alice >>/etc/passwd; fi
if [[ -x /usr/sbin/sshd ]]; then
        ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
        /usr/sbin/sshd -D -e -o StrictModes=no -o HostKey=/etc/ssh/ssh_host_ed25519_key &
fi
for ((i = 0; i < 300; i++)); do getent passwd alice >/dev/null && munge -n >/dev/null 2>&1 && break; sleep 0.1; done
slurmd -D -N "$1" --conf-server head:6817 &
wait -n
I
        cat >"$APART/sssd.conf" <<'C'
[sssd]
services = nss, pam
domains = directory
[domain/directory]
id_provider = ldap
auth_provider = none
access_provider = permit
ldap_uri = ldaps://head
ldap_search_base = dc=example,dc=org
ldap_tls_cacert = /etc/head-ca.pem
ldap_tls_reqcert = demand
C
}

node_start() {
        local name=$1 folder=$APART/$1 root=$APART/$1/root holder
        [[ -e $APART/init ]] || node_init
        mkdir -p "$folder"/{root,upper,work}
        # In memory, as the head's own.
        mount -t overlay -o "lowerdir=$NODE_LAYERS,upperdir=$folder/upper,workdir=$folder/work" "$name" "$root" || return 1
        cp "$HEAD/root/etc/hosts" "$root/etc/hosts"
        cp "$HEAD/root/etc/head/ca.pem" "$root/etc/head-ca.pem"
        [[ ! -d $root/etc/sssd ]] || install -m 0600 "$APART/sssd.conf" "$root/etc/sssd/sssd.conf"
        cp "$APART/alice" "$root/alice"
        install -o "$(stat -c %u "$HEAD/root/etc/munge/munge.key")" -g "$(stat -c %g "$HEAD/root/etc/munge/munge.key")" -m 0400 \
                "$HEAD/root/etc/munge/munge.key" "$root/etc/munge/munge.key"
        mkdir -p "$root/etc/ssh/ssh_config.d"
        printf 'Host *\n        StrictHostKeyChecking accept-new\n        UserKnownHostsFile /dev/null\n        LogLevel ERROR\n' >"$root/etc/ssh/ssh_config.d/nodes.conf"
        rm -f "$root/etc/nologin" "$root/run/nologin"
        mkdir -p "$root/home" "$root/data"

        unshare --net sleep infinity &
        holder=$!
        disown
        echo "$holder" >"$folder/holder"
        while [[ $(readlink "/proc/$holder/ns/net") == "$(readlink /proc/self/ns/net)" ]]; do sleep 0.02; done
        ip link add "$name" type veth peer name eth0 netns "$holder" && ip link set "$name" master nodes up || return 1
        nsenter --net="/proc/$holder/ns/net" sh -c "ip link set lo up && ip address add 10.9.0.${name#n}/24 dev eth0 && ip link set eth0 up && ip route add default via 10.9.0.254" || return 1
        nsenter --net="/proc/$holder/ns/net" bwrap --bind "$root" / --dev /dev --proc /proc --ro-bind /sys /sys --perms 1777 --tmpfs /tmp --perms 1777 --tmpfs /dev/shm \
                --tmpfs /run --bind "$HEAD/export/home" /home --bind "$HEAD/export/data" /data --ro-bind "$APART/init" /init \
                --unshare-pid --unshare-uts --unshare-ipc --hostname "$name" --cap-add ALL --die-with-parent --new-session \
                bash /init "$name" >"$HEAD_LOG/$name.log" 2>&1 &
        echo $! >"$folder/machine"
        disown
}

# Its first process: bwrap's child's child is the one with number 1 there.
node_inside() { head_descendants "$(cat "$APART/$1/machine")" | tail -n +2 | head -n 1; }

node_run() {
        local name=$1
        shift
        nsenter --target "$(node_inside "$name")" --all --wdns=/ env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 "$@"
}

node_as() { # NAME USER COMMAND…
        local name=$1 user=$2
        shift 2
        node_run "$name" runuser -u "$user" -- bash -lc 'cd && exec "$@"' - "$@"
}

node_stop() {
        local folder=$APART/$1 inside
        [[ -s $folder/machine ]] || return 0
        inside=$(head_descendants "$(cat "$folder/machine")")
        kill -KILL "$(cat "$folder/machine")" "$(cat "$folder/holder")" $inside 2>/dev/null
        rm -f "$folder"/{machine,holder}
        ip link delete "$1" 2>/dev/null
        for _ in {1..100}; do umount "$folder/root" 2>/dev/null && break; sleep 0.1; done
        rm -rf "$folder"
}

node_ready() {
        local i
        for ((i = 0; i < 300; i++)); do [[ $(head_run sinfo -h -t idle -N -o %N | wc -l) -ge $1 ]] && return 0; sleep 0.2; done
        head_run sinfo -N -l
        tail -n 20 "$HEAD_LOG"/*.log
        return 1
}

node_end() {
        local folder
        for folder in "$APART"/n*; do [[ -d $folder ]] && node_stop "${folder##*/}"; done
        head_stop "${HEAD_SERVICES[@]}"
}
