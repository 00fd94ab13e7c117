#!/bin/bash
# A published tutorial's cloud-config as it stands, as the user data of a machine of ours (docs/clusters/containerd.md): on blank disks, after
# the disks were wiped, and on disks with a volume from an earlier life. And containers without root, of an image from a registry with a file
# of another group, by Podman and by containerd under rootlesskit, with a home folder on disk and one on NFS.
# Where their sources are there (SOURCES=FOLDER has nerdctl-2.0.3.tar.gz and bypass4netns-0.4.2.tar.gz), the tutorial's own containerd-rootless-setuptool.sh
# sets up containerd and bypass4netnsd, and bypass4netns carries a container's network. Without GPUs, and without nerdctl itself, which comes from its
# release alone. A smaller test is cli/firstboot-scratch.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
source "$TOP/tests/e2e/rootless.bash"
own_project
bypass4netns=$SOURCES/bypass4netns-0.4.2.tar.gz nerdctl=$SOURCES/nerdctl-2.0.3.tar.gz
cat >"$RECIPES/instance.json" <<'R'
{ "name": "instance", "extends": "debian-13-cpu", "overlays": ["containerd-rootless", "podman", "oci-compat"],
  "packages": ["docker-registry", "nfs-kernel-server", "iperf3"], "node": { "scratch": { "models": ["QEMU NVMe Ctrl"] } } }
R
if [[ -e $bypass4netns ]]; then
        bypass4netns_overlay "$PROJECT" "$bypass4netns"
        sed -i 's/"podman"/&, "bypass4netns"/' "$RECIPES/instance.json"
else
        echo "# bypass4netns is not tried: $bypass4netns is not there"
fi
if [[ -e $nerdctl ]]; then
        mkdir -p "$PROJECT/overlays/rootless-scripts/files/usr/local/bin"
        echo '{ "description": "The two scripts of nerdctl for users without root" }' >"$PROJECT/overlays/rootless-scripts/overlay.json"
        tar -xzf "$nerdctl" -C "$PROJECT/overlays/rootless-scripts/files/usr/local/bin" --strip-components=3 --wildcards '*/extras/rootless/containerd-rootless*.sh'
        sed -i 's/"podman"/&, "rootless-scripts"/' "$RECIPES/instance.json"
else
        echo "# containerd-rootless-setuptool.sh is not tried: $nerdctl is not there"
fi
build instance >"$E2E/build.log" 2>&1
s=$?
check "the image is made" $s
[[ $s -eq 0 ]] || { tail -n 30 "$E2E/build.log"; exit 1; }

cat >"$E2E/user-data" <<'U'
#cloud-config
#
# Change time zone to JST
timezone: Asia/Tokyo

runcmd:
#
# NVMe local storage setting
  - vgcreate nvme /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1
  - lvcreate -l 100%FREE nvme
  - mkfs.xfs -L localscratch /dev/nvme/lvol0
  - mkdir -p /mnt/localdisk
  - echo "LABEL=localscratch /mnt/localdisk/ xfs defaults,noatime 0 0" >> /etc/fstab
  - systemctl daemon-reload
  - mount /mnt/localdisk
#
# Stop firewalld
  - systemctl disable --now firewalld
#
# Expand root file system to those set by instance configuration
  - /usr/libexec/oci-growfs -y
U

state=$E2E/state
# boots NAME COMMANDS: the machine in $state is switched on, and asked.
boots() {
        {
                cat <<'C'
set -u
say() { echo "== $1"; }
cloud-init status --wait >/dev/null
say cloud; cloud-init status --format json | python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["status"], s["errors"], s["recoverable_errors"])'
say volume; vgs --noheadings -o vg_name,pv_count,lv_count | xargs -n 3
say mount; findmnt -n -l -o TARGET,FSTYPE,LABEL -S LABEL=localscratch | xargs -n 3
say ready; systemctl is-active node-ready.target
say word; cat /mnt/localdisk/word 2>&1; echo written >/mnt/localdisk/word
say zone; readlink /etc/localtime
say firewall; systemctl is-active firewalld; systemctl is-enabled firewalld
say root; test "$(df -B1 --output=size / | tail -n 1)" -gt 8000000000 && echo grown
say failed; systemctl --failed --plain --no-legend
C
                cat
                echo 'say end; sync'
        } >"$E2E/commands"
        # From the project: its lock of the tools tree is the one that the image was made with.
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/instance/instance.qcow2" --cache "$CACHE" --offline --progress plain --save "$E2E/save.$1" --state "$state" --power-off \
                --until ready --timeout 900 --nvme count=4,size=1G --disk-size 10G --user-data "$E2E/user-data" -- "$(cat "$E2E/commands")") >"$E2E/out" 2>"$E2E/log"
        local s=$?
        check "$2" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/log" "$E2E/out"; exit 1; }
        says "… cloud-init ends without an error" cloud 'done [] {}'
        says "… one volume, $3" volume "$3 4 1"
        says "… mounted once" mount '/mnt/localdisk xfs localscratch'
        says "… the node is ready" ready active
        says "… $5" word "$4"
        says "… and no unit has failed" failed ''
}

rm -rf "${state:?}"
{
        declare -f small_image bypass4netns_profile
        printf 'base64 -d >/root/push-image <<X\n%s\nX\n' "$(base64 "$TOP/tests/fixtures/push-image")"
        cat <<'C'
on() { "${@:2}"; }
as() { # USER COMMAND: in a session of his
        local id=$(id -u "$1")
        runuser -u "$1" -- env HOME="$(getent passwd "$1" | cut -d : -f 6)" XDG_RUNTIME_DIR=/run/user/$id DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$id/bus \
                bash -c "cd; $2" 2>/root/err || { echo "exit code $?"; tail -n 5 /root/err; }
}
printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: /var/lib/docker-registry } }\nhttp: { addr: ":5000" }\n' >/etc/docker/registry/config.yml
systemctl restart docker-registry
for i in $(seq 120); do python3 -c 'import socket; socket.create_connection(("127.0.0.1", 5000), 1)' 2>/dev/null && break; sleep 1; done
small_image /root/small; echo x >/root/small/etc/of-42; chgrp 42 /root/small/etc/of-42
python3 /root/push-image --owners http://127.0.0.1:5000 small 1 /root/small >/dev/null

useradd -m -d /home/usera -s /bin/bash -u 10000 usera
mkdir -p /srv/nfs/userb /mnt/nfs; echo '/srv/nfs *(rw,no_subtree_check)' >/etc/exports; systemctl restart nfs-server
useradd -M -d /mnt/nfs/userb -s /bin/bash -u 10001 userb; chown userb: /srv/nfs/userb
mount -t nfs4 localhost:/srv/nfs /mnt/nfs

cat >/usr/local/bin/own-containerd <<'S'
#!/bin/bash
# What containerd-rootless.sh does: rootlesskit, and containerd inside. Then an image and a container by containerd's own tool.
set -eu
run=$XDG_RUNTIME_DIR/own
mkdir -p "$run"
printf 'version = 2\nroot = "%s"\nstate = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "%s"\n' \
        "$HOME/.local/share/containerd" "$run/state" "$run/containerd.sock" >"$run/config.toml"
systemd-run -q --user --unit=own-containerd -p Delegate=yes rootlesskit --state-dir="$run/kit" --net=slirp4netns --mtu=65520 --port-driver=builtin \
        --copy-up=/etc --copy-up=/run --copy-up=/var/lib --propagation=rslave \
        sh -c 'rm -f /run/containerd /run/runc /run/xtables.lock; exec containerd -c "$1"' - "$run/config.toml"
trap 'systemctl --user stop own-containerd' EXIT
inside() { nsenter -U --preserve-credentials -m -n -t "$(cat "$run/kit/child_pid")" -- ctr -a "$run/containerd.sock" "$@"; }
for i in $(seq 120); do inside version >/dev/null 2>&1 && break; sleep 1; done
inside image pull --plain-http 10.0.2.2:5000/small:1 >/dev/null
inside run --rm --cgroup '' --cpu-shares 0 ${RUN_OPTIONS:-} 10.0.2.2:5000/small:1 one "$@"
S
chmod +x /usr/local/bin/own-containerd
# As the tutorial has it: containerd-rootless-setuptool.sh install, and install-bypass4netnsd; then a container by that containerd.
set_up() { # USER
        command -v containerd-rootless-setuptool.sh >/dev/null || return 0
        say setup-$1; as $1 'containerd-rootless-setuptool.sh install >setup.log 2>&1 || tail -n 5 setup.log; systemctl --user is-active containerd; systemctl --user is-enabled containerd'
        say bypassd-$1; as $1 '! command -v bypass4netnsd >/dev/null || { containerd-rootless-setuptool.sh install-bypass4netnsd >setup.log 2>&1 || tail -n 5 setup.log
                systemctl --user is-active bypass4netnsd; systemctl --user is-enabled bypass4netnsd; }'
        say tutorial-$1; as $1 'inside() { containerd-rootless-setuptool.sh nsenter -- ctr -a /run/containerd/containerd.sock "$@"; }
                inside images pull --plain-http 192.168.77.1:5000/small:1 >/dev/null
                inside run --rm --cgroup "" --cpu-shares 0 192.168.77.1:5000/small:1 two bash -c "ls -n /etc/of-42; id -u"' | awk 'NF > 3 { print $3, $4, $NF; next } { print }'
        as $1 'containerd-rootless-setuptool.sh uninstall-bypass4netnsd; containerd-rootless-setuptool.sh uninstall' >/dev/null 2>&1
}
# Another host: a network namespace behind a cable.
ip netns add away
ip link add cable type veth peer name cable netns away && ip address add 192.168.77.1/24 dev cable && ip link set cable up
ip -n away address add 192.168.77.2/24 dev cable && ip -n away link set cable up && ip -n away link set lo up
ip netns exec away iperf3 -s -D
# usera's container asks it, by slirp4netns and by bypass4netns. Not --net-host: with that, ctr has runc mount rootlesskit's /etc/hosts for reading alone, and a
# user may not where that stands on his /run/user, which is nosuid.
network() {
        local usr="--with-ns network:/proc/self/ns/net --mount type=bind,src=/usr,dst=/usr,options=rbind:ro" ask="iperf3 -c 192.168.77.2 -t 5 -J"
        # Its rate, or what was said in its place.
        gbit() { python3 -c '
import json, sys
text = sys.stdin.read()
try: print("%.3f" % (json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e9))
except (ValueError, KeyError): print(text[-500:])'; }
        say slirp4netns; as usera "RUN_OPTIONS='$usr' own-containerd $ask" | gbit
        say bypass4netns
        command -v bypass4netns >/dev/null || return 0
        as usera 'systemd-run -q --user --unit=bypass bypass4netns --ignore=127.0.0.0/8,10.0.0.0/8'
        for i in $(seq 60); do [ -S /run/user/10000/bypass4netns.sock ] && break; sleep 1; done
        bypass4netns_profile /run/user/10000/bypass4netns.sock >/usr/local/share/bypass4netns.json
        as usera "RUN_OPTIONS='$usr --seccomp --seccomp-profile /usr/local/share/bypass4netns.json' own-containerd $ask" | gbit
        as usera 'systemctl --user stop bypass'
}
for user in usera userb; do
        loginctl enable-linger $user
        for i in $(seq 120); do systemctl is-active -q "user@$(id -u $user)" && [ -S "/run/user/$(id -u $user)/bus" ] && break; sleep 1; done
        say home-$user; findmnt -n -o FSTYPE -T "$(getent passwd $user | cut -d : -f 6)"
        say podman-$user; as $user 'podman run --rm --tls-verify=false localhost:5000/small:1 bash -c "ls -n /etc/of-42; id -u"' | awk 'NF > 3 { print $3, $4, $NF; next } { print }'
        say store-$user; as $user 'podman info -f "{{.Store.GraphRoot}}"'
        say containerd-$user; as $user 'own-containerd bash -c "ls -n /etc/of-42; id -u"' | awk 'NF > 3 { print $3, $4, $NF; next } { print }'
        say layers-$user; as $user 'readlink .local/share/containerd'; ls "/mnt/localdisk/rootless/$(id -u $user)/containerd" | grep -c snapshotter.v1.overlayfs
        set_up $user
        [ $user != usera ] || network
        say left-$user; as $user 'podman ps -aq'; pgrep -u $user -l 'slirp4netns|rootlesskit|conmon|containerd|runc'
done
C
} >"$E2E/more"
boots first "the document's cloud-config on blank disks" nvme "cat: /mnt/localdisk/word: No such file or directory" "with nothing on it" <"$E2E/more"
says "the time zone" zone /usr/share/zoneinfo/Asia/Tokyo
says "firewalld is off" firewall $'inactive\ndisabled'
says "the root has grown" root grown
for user in usera userb; do
        id=10000 home=ext4
        [[ $user == usera ]] || id=10001 home=nfs4
        says "$user's home is on $home" home-$user $home
        says "Podman without root: a registry's image with a file of group 42" podman-$user $'0 42 /etc/of-42\n0'
        says "… on the scratch volume" store-$user /mnt/localdisk/rootless/$id/storage
        says "containerd under rootlesskit: the same" containerd-$user $'0 42 /etc/of-42\n0'
        says "… on the scratch volume" layers-$user "/mnt/localdisk/rootless/$id/containerd"$'\n1'
        if [[ -e $nerdctl ]]; then
                says "containerd-rootless-setuptool.sh install: his containerd runs, and will" setup-$user $'active\nenabled'
                [[ ! -e $bypass4netns ]] || says "… install-bypass4netnsd: so does that" bypassd-$user $'active\nenabled'
                says "… a container by it: the same" tutorial-$user $'0 42 /etc/of-42\n0'
        fi
        says "… and nothing is left running" left-$user ''
done
slirp=$(part slirp4netns) bypass=$(part bypass4netns)
is_rate() { [[ $1 =~ ^[0-9]+\.[0-9]+$ ]]; }
is_rate "$slirp"
check "a container's way to another host by slirp4netns: $slirp Gbit/s" $?
if [[ -e $bypass4netns ]]; then
        is_rate "$slirp" && is_rate "$bypass" && awk -v a="$slirp" -v b="$bypass" 'BEGIN { exit !(a > 0 && b > 1.2 * a) }'
        check "… by bypass4netns: $bypass Gbit/s, more than that" $?
fi

# The same disks under a new machine: group nvme from an earlier life.
rm -rf "${E2E:?}/wiped" && mv "$state" "$E2E/wiped" && mkdir "$state" && cp --sparse=always "$E2E"/wiped/nvme?.raw "$state/"
boots earlier "a new machine whose disks have the group from an earlier life" nvme written "with its data" </dev/null

# The first machine again, with blank disks.
rm -rf "${state:?}" && mv "$E2E/wiped" "$state" && rm "$state"/nvme?.raw
boots blank "the machine comes back with blank disks" "${GROUP:-localscratch}" "cat: /mnt/localdisk/word: No such file or directory" "with nothing on it" </dev/null
rm -rf "${state:?}"
exit $rc
