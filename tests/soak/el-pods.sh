#!/bin/bash
# Containers and Kubernetes of family el: every overlay of theirs on an EL-like distribution of Debian's packages as RPMs. The packages of Docker, Kubernetes,
# NVIDIA and Apptainer are doubles under their names (tests/fixtures/el/containers), made of Debian's own programs where those have them: containerd,
# runc, dockerd, buildx, Podman, rootlesskit, node_exporter and CNI's plugins are real. First a tree with all of them, and what its checks find; then a disk of a
# Kubernetes node, booted until it is ready, where containerd and a user's Podman run a container each; and one of a node with local disks.
#
# SELINUX_POLICY=FOLDER  as in soak/el-disk
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/el.bash"
el_project el-pods-parts
el_vendors
el_from_here containerd docker kubernetes-node container-toolkit-el apptainer containerd-rootless monitoring nerdctl
recipe() { # NAME OVERLAYS [PACKAGE…]
        el_recipe "$1" "${@:3}" <<R
        "kernel": { "package": "kernel", "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check security=selinux" },
        "node": { "scratch": { "models": ["QEMU*"] } },
        "overlays": $2,
        "disk": { "formats": ["raw"] }
R
}
name=el-pods
in_tree() { "$IMGBUILD" shell "$RECIPES/$name.json" --cache "$CACHE" --progress none -- sh -c "$1" 2>>"$W/log"; }
said() { # NAME STATUS: and what the tree said
        check "$1" "$2"
        [[ $2 -eq 0 ]] || sed 's/^/# /' "$W/said"
}
# refused NAME TEXT: the check of the tree ends with it.
refused() {
        "$IMGBUILD" check "$RECIPES/$name.json" --cache "$CACHE" --progress plain >"$W/said" 2>&1
        [[ $? -ne 0 ]] && grep -qF -- "$2" "$W/said"
        said "$1" $?
}

recipe el-pods '["podman", "nerdctl", "docker", "apptainer", "container-toolkit-el", "container-toolkit-common", "kubernetes-rdma", "monitoring", "oci-compat", "scratch-on-root", "aws-paths", "slim"]'
tree_checks "$RECIPES/el-pods.json" "a tree with all of them is made, and every check passes"
in_tree 'rpm -q podman docker-ce containerd.io kubelet apptainer nvidia-container-toolkit | wc -l; rpm -q containerd runc docker.io prometheus-node-exporter | grep -c "not installed"
        readlink -f "$(command -v rootlesskit)" /usr/bin/prometheus-node-exporter; rootlesskit --version; getent passwd prometheus | cut -d: -f1; getent group docker | cut -d: -f1' >"$W/said"
[[ $(<"$W/said") == 6$'\n'4$'\n'/usr/local/bin/rootlesskit$'\n'/opt/node_exporter/bin/node_exporter$'\n'"rootlesskit version "*$'\n'prometheus$'\n'docker ]]
said "… of packages under Enterprise Linux' names, and of the projects' own releases" $?
in_tree 'containerd config dump' >"$W/said"
grep -qE '^ *BinaryName = "/usr/bin/nvidia-container-runtime"$' "$W/said" && grep -qE '^ *enable_cdi = true$' "$W/said" && grep -qE '^ *bin_dir = "/opt/cni/bin"$' "$W/said" &&
        ! grep -qE '^disabled_plugins = .*cri' "$W/said"
said "… containerd has the CRI plugin, CDI, NVIDIA's runtime and CNI's plugins" $?
in_tree 'for u in containerd docker docker.socket docker-scratch kubelet kubernetes-images nm-cloud-setup.timer swap.target firewalld prometheus-node-exporter apptainer-scratch; do
        echo "$u $(systemctl is-enabled "$u" 2>/dev/null)"; done' >"$W/said"
[[ $(<"$W/said") == 'containerd enabled
docker disabled
docker.socket disabled
docker-scratch enabled
kubelet disabled
kubernetes-images enabled
nm-cloud-setup.timer masked
swap.target masked
firewalld disabled
prometheus-node-exporter enabled
apptainer-scratch enabled' ]]
said "… and its units are as they should be" $?
# shellcheck disable=SC2016 # the tree's own
in_tree 'k=$(ls /usr/lib/modules); lsinitrd "/boot/initramfs-$k.img" -f etc/modprobe.d/ib_core.conf | tail -n 1; grep groups: /etc/cloud/cloud.cfg.d/20-oci-compat.cfg; readlink /usr/libexec/oci-growfs' >"$W/said"
[[ $(<"$W/said") == $'options ib_core netns_mode=0\n'*'groups: [adm, sudo, systemd-journal]'$'\n../lib/oci-compat/oci-growfs' ]]
said "… ib_core's option is in the initramfs, opc's groups are there, oci-growfs is where documents call it" $?
in_tree 'useradd -m -u 10000 usera && rm -f /etc/subuid /etc/subgid && /usr/lib/rootless/user start 10000; grep usera /etc/subuid' >"$W/said" 2>&1
grep -qx 'usera:655360000:65536' "$W/said"
said "… a user gets subordinate ids" $?

# What its checks are for.
overlays=$PROJECT/overlays
sed -i 's/"links.sh", "config.sh"/"links.sh"/' "$overlays/containerd/overlay.json"
sed -i 's/"containerd-config.sh"//' "$overlays/kubernetes-node/overlay.json"
rm "$overlays/container-toolkit-common/files/etc/containerd/config.toml"
refused "a containerd without CRI, as Docker's package leaves it, is refused" "switches the CRI plugin off"
cp "$TOP/overlays/container-toolkit-common/files/etc/containerd/config.toml" "$overlays/container-toolkit-common/files/etc/containerd/"
sed -i 's/"links.sh"/"links.sh", "config.sh"/' "$overlays/containerd/overlay.json"
sed -i 's/"run": \[\]/"run": ["containerd-config.sh"]/' "$overlays/kubernetes-node/overlay.json"
rm "$overlays/rdma-exclusive/files/etc/dracut.conf.d/ib_core.conf"
refused "an initramfs without ib_core's option is refused" 'was made without /etc/modprobe.d/ib_core.conf'
cp "$TOP/overlays/rdma-exclusive/files/etc/dracut.conf.d/ib_core.conf" "$overlays/rdma-exclusive/files/etc/dracut.conf.d/"

# Without Kubernetes, whose package has CNI's plugins itself.
recipe el-containerd '["nerdctl", "podman"]'
name=el-containerd
tree_checks "$RECIPES/el-containerd.json" "containerd for users, and Podman, without Kubernetes"
in_tree 'readlink /opt/cni/bin; grep ^version /etc/containerd/config.toml; containerd config dump | grep ^disabled_plugins; ls /etc/yum.repos.d' >"$W/said"
[[ $(<"$W/said") == $'/usr/libexec/cni\nversion = 2\ndisabled_plugins = []\ndocker-ce.repo\nos.repo' ]]
said "… finds CNI's plugins where Enterprise Linux has them, and has its CRI plugin" $?

# Disks, booted. Both with SELinux: without SELINUX_POLICY it only tells.
packages=(selinux-policy-targeted libselinux-utils policycoreutils tar)
# baked TEXT NAME OVERLAYS
baked() {
        recipe "$2" "$3" "${packages[@]}"
        build "$2" >>"$W/log" 2>&1
        local s=$?
        check "$1 is baked, every check passed" $s
        [[ $s -eq 0 ]] || { tail -n 60 "$W/log"; exit 1; }
}
# boots TEXT NAME [OPTION…]: with what it says in $W/commands
boots() {
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/$2/$2.raw" --cache "$CACHE" --offline --progress plain --until ready --timeout 1800 --save "$W/save" "${@:3}" -- "$(cat "$W/commands")") \
                >"$W/booted" 2>"$W/boot.log"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$W/boot.log" "$W/booted"; exit 1; }
}
part() { sed -n "/^== $1\$/,/^== /{/^== /!p}" "$W/booted"; }
# booted TEXT PART PATTERN
booted() {
        # shellcheck disable=SC2053 # a pattern
        [[ $(part "$2") == $3 ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || part "$2" | sed 's/^/# /'
}
enforced() {
        [[ -n ${SELINUX_POLICY:-} ]] || return 0
        booted "… with SELinux enforcing, by EL's own policy, where containers' programs are what it takes them for" enforced \
                $'Enforcing\ncontainerd container_runtime_t\ndockerd container_runtime_t\nfirstbootd unconfined_service_t'
        not_denied < <(part denied)
}
user=$'usera:655360000:65536\n/mnt/localdisk/rootless/10000/storage crun v2\nran as 0 0 10000 1 1 655360000 65536'

{
        declare -f small_image
        cat <<'C'
on() { "${@:2}"; }
say() { echo "== $1"; }
until [ "$(systemctl is-active docker)" = active ] || [ $((n++)) -gt 120 ]; do sleep 1; done
say units; for u in containerd docker prometheus-node-exporter kubelet; do echo "$u $(systemctl is-active $u) $(systemctl is-enabled $u 2>/dev/null)"; done
say failed; systemctl --failed --plain --no-legend
say modules; for m in overlay br_netfilter; do [ -d /sys/module/$m ] && echo $m; done; cat /proc/sys/net/bridge/bridge-nf-call-iptables
say cri; ctr plugins ls 2>&1 | grep -E 'cri +.*ok|cri +ok' | wc -l
say metrics; exec 3<>/dev/tcp/127.0.0.1/9100; printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; grep -oE '^(firstboot_node_state|node_uname_info)[^ {]*' <&3 | sort -u | head -n 2
say docker; docker info --format '{{.DockerRootDir}} {{.Driver}}' 2>&1; findmnt -n -o FSROOT,SOURCE -M /mnt/localdisk
small_image /root/small; tar -C /root/small -cf /tmp/small.tar .
podman import -q /tmp/small.tar localhost/small:1 >/dev/null 2>&1; podman save -q -o /tmp/small-image.tar localhost/small:1 >/dev/null 2>&1
say containerd; ctr -n k8s.io images import /tmp/small-image.tar >/dev/null && ctr -n k8s.io run --rm localhost/small:1 one sh -c 'echo "ran as $(id -u)"' 2>&1
say user; useradd -m -d /home/usera -s /bin/bash -u 10000 usera && rm -f /etc/subuid /etc/subgid && loginctl enable-linger usera
for i in $(seq 120); do [ -S /run/user/10000/bus ] && break; sleep 1; done
grep usera /etc/subuid
as() { runuser -u usera -- env HOME=/home/usera XDG_RUNTIME_DIR=/run/user/10000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/10000/bus bash -c "cd; $1" 2>/root/err || { echo "exit code $?"; tail -n 5 /root/err; }; }
as 'podman import -q /tmp/small.tar localhost/small:1 >/dev/null; podman info --format "{{.Store.GraphRoot}} {{.Host.OCIRuntime.Name}} {{.Host.CgroupsVersion}}"'
as 'podman run --rm --network=none localhost/small:1 sh -c "echo ran as \$(id -u); cat /proc/self/uid_map" | xargs'
say enforced; getenforce; ps -eo label=,comm= | grep -E '(containerd|dockerd|firstbootd)$' | awk '{ split($1, l, ":"); print $2, l[3] }' | sort -u
say labels; ls -dZ /mnt/localdisk /mnt/localdisk/docker /mnt/localdisk/rootless/10000/storage{,/overlay} | awk '{ split($1, l, ":"); print l[3] }'
say denied; journalctl -b -o cat -g 'avc: +denied'
say end
C
} >"$W/commands"

baked "a disk of a Kubernetes node with Podman and Docker" el-kubernetes '["firstboot", "kubernetes-node", "monitoring", "podman", "docker", "scratch-on-root", "slim"]'
boots "it boots until the node is ready" el-kubernetes
booted "… containerd, Docker and the exporter run, kubelet waits for its cluster" units $'containerd active enabled\ndocker active disabled\nprometheus-node-exporter active enabled\nkubelet inactive disabled'
booted "… no unit has failed" failed ''
booted "… modules and settings of pods' networks are there" modules $'overlay\nbr_netfilter\n1'
booted "… containerd answers kubelet" cri '[1-9]*'
booted "… the exporter shows the agent's figures" metrics $'firstboot_node_state\nnode_uname_info'
booted "… Docker's images are on the scratch volume, which is on the root disk" docker $'/mnt/localdisk/docker overlay2\n/var/lib/localdisk */dev/vda*'
booted "… containerd runs a container" containerd 'ran as 0'
booted "… so does a user's Podman, with ids of a rule and its data on the scratch volume" user "$user"
enforced

# With local disks: their file system is new, and has no labels but those that it is given.
baked "a disk for a machine with local disks" el-nvme '["firstboot", "containerd", "podman", "docker", "slim"]'
boots "it boots until the node is ready" el-nvme --nvme 2
booted "… Docker's images are on the volume of both" docker $'/mnt/localdisk/docker overlay2\n/ */dev/mapper/*'
booted "… containerd runs a container" containerd 'ran as 0'
booted "… so does a user's Podman, with its data there" user "$user"
[[ -z ${SELINUX_POLICY:-} ]] || booted "… labelled as below /var/lib" labels $'var_lib_t\ncontainer_var_lib_t\ncontainer_var_lib_t\ncontainer_ro_file_t'
enforced
exit $rc
