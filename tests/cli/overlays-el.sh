#!/bin/bash
# What overlays for containers, monitoring and others' paths do to a tree in which a distribution or a site has something already: their own scripts, with the
# tree's folders in the places of /etc, /usr, /opt and doubles of the programs that know what belongs to whom. A tree with all of them is
# soak/el-pods.
set -u
rc=0
T=$(mktemp -d) || exit 1
trap 'rm -rf "${T:?}"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out"; rc=1; fi; }
double() { # NAME SCRIPT
        printf '#!/bin/bash\n%s\n' "$2" >"$T/bin/$1"
        chmod +x "$T/bin/$1"
}
fresh() {
        rm -rf "${T:?}"/*
        mkdir -p "$T"/{bin,etc/{containerd,cloud/cloud.cfg.d},opt,usr/{bin,lib/{systemd/system,oci-compat,monitoring},share/zoneinfo},var}
        : >"$T/out"
}
# run OVERLAY/SCRIPT: in the tree.
run() {
        sed -E "s,(^|[ \"=(])/(etc|usr|opt|var)/,\\1$T/\\2/,g" "$TOP/overlays/$1" >"$T/script"
        PATH=$T/bin:$PATH sh "$T/script" >"$T/out" 2>&1
}

# containerd's configuration: the package's own, one that a site changed, Debian's.
config=$T/etc/containerd/config.toml
# As rpm says it of a file: its package, and what differs.
rpms() { double rpm "case \$1 in -qf) $1 ;; -Vf) echo '.......T.    /usr/bin/containerd'; [[ \$2 == --nomtime ]] || echo '.......T.  c $config'; $2 ;; esac"; }
fresh
rpms true :
echo 'disabled_plugins = ["cri"]' >"$config"
run containerd/config.sh && grep -qx 'version = 2' "$config" && ! grep -q disabled "$config"
check "Docker's own configuration, which switches CRI off, is replaced" $?
rpms true "echo 'S.5....T.  c $config'"
echo 'disabled_plugins = ["cri"] # as we want it' >"$config"
run containerd/config.sh && grep -q 'as we want it' "$config"
check "one that somebody has written over it stays" $?
rpms false :
echo 'version = 2 # of Debian' >"$config"
run containerd/config.sh && grep -q 'of Debian' "$config"
check "one that belongs to no RPM stays" $?
rm "$config"
run containerd/config.sh && grep -q '/opt/cni/bin' "$config"
check "where there is none one is made" $?

fresh
! run containerd/links.sh && grep -q containernetworking-plugins "$T/out"
check "without CNI's plugins their package is named" $?
mkdir -p "$T/usr/libexec/cni"
run containerd/links.sh && run containerd/links.sh && [[ $(readlink "$T/opt/cni/bin") == "$T/usr/libexec/cni" && -z $(ls "$T/usr/libexec/cni") ]]
check "Enterprise Linux' plugins are found, a second time too" $?
rm "$T/opt/cni/bin" && mkdir "$T/opt/cni/bin"
run containerd/links.sh && [[ ! -L $T/opt/cni/bin && -z $(ls "$T/opt/cni/bin") ]]
check "Kubernetes' folder of plugins stays as it is" $?

# oci-compat: Debian, Oracle Linux with its own program and a firewall that is on.
compat() {
        fresh
        cp "$TOP"/overlays/oci-compat/files/usr/lib/oci-compat/* "$T/usr/lib/oci-compat/"
        cp "$TOP"/overlays/oci-compat/files/etc/cloud/cloud.cfg.d/* "$T/etc/cloud/cloud.cfg.d/"
        double systemctl "echo \"\$*\" >>$T/asked"
        double getent "[ \"\$2\" = $1 ]"
}
compat sudo
run oci-compat/settle.sh && [[ $(readlink "$T/usr/libexec/oci-growfs") == ../lib/oci-compat/oci-growfs && -x $T/usr/libexec/oci-growfs ]] &&
        grep -q 'groups: \[adm, sudo,' "$T"/etc/cloud/cloud.cfg.d/* && grep -q 'is not in this image' "$T/usr/lib/systemd/system/firewalld.service"
check "without a firewalld who starts it is told so, and oci-growfs is ours" $?
compat wheel
mkdir -p "$T/usr/libexec"
echo vendor >"$T/usr/libexec/oci-growfs"
echo vendor >"$T/usr/lib/systemd/system/firewalld.service"
run oci-compat/settle.sh && [[ $(cat "$T/usr/libexec/oci-growfs" "$T/usr/lib/systemd/system/firewalld.service") == $'vendor\nvendor' ]] &&
        grep -qx 'disable firewalld.service' "$T/asked" && grep -q 'groups: \[adm, wheel,' "$T"/etc/cloud/cloud.cfg.d/*
check "the vendor's oci-growfs and firewalld stay, the latter off, and the user is in group wheel" $?

fresh
run apptainer/localtime.sh && [[ $(readlink "$T/etc/localtime") == ../usr/share/zoneinfo/UTC ]]
check "a tree without a time zone gets one" $?
mkdir -p "$T/usr/share/zoneinfo/Asia" && touch "$T/usr/share/zoneinfo/Asia/Tokyo"
ln -sf ../usr/share/zoneinfo/Asia/Tokyo "$T/etc/localtime"
run apptainer/localtime.sh && [[ $(readlink "$T/etc/localtime") == *Tokyo ]]
check "one that has one keeps it" $?

fresh
cp "$TOP"/overlays/monitoring/files/usr/lib/monitoring/*.service "$T/usr/lib/monitoring/"
double systemd-sysusers "echo \"\$*\" >>$T/asked"
run monitoring/exporter.sh && grep -qx prometheus-node-exporter.conf "$T/asked" && grep -q '^User=prometheus$' "$T/usr/lib/systemd/system/prometheus-node-exporter.service" &&
        [[ $(readlink "$T/usr/bin/prometheus-node-exporter") == "$T/opt/node_exporter/bin/node_exporter" && -d $T/var/lib/prometheus/node-exporter ]]
check "the exporter of its project's release has unit, user and folder" $?
fresh
double prometheus-node-exporter true
cp "$T/bin/prometheus-node-exporter" "$T/usr/bin/"
run monitoring/exporter.sh && [[ -z $(ls "$T/usr/lib/systemd/system") ]]
check "beside a package's there is nothing to do" $?

# SELinux: once, whatever kinds of policy there are.
fresh
mkdir -p "$T"/etc/selinux/{targeted,mls}/contexts/files "$T/var/lib/selinux/targeted/active"
touch "$T/etc/selinux/targeted/contexts/files/file_contexts.local.bin"
for kind in targeted mls; do printf '/a\tsystem_u:object_r:%s:s0\n' cert_t bin_t >"$T/etc/selinux/$kind/contexts/files/file_contexts"; done
mkdir -p "$T/etc/systemd/system"
for overlay in apptainer kubernetes-node monitoring; do
        for unit in "$TOP/overlays/$overlay"/files/etc/systemd/system/*.service; do sed -E "s,^(Exec.*=)/usr/,\\1$T/usr/," "$unit" >"$T/etc/systemd/system/${unit##*/}"; done
done
mkdir -p "$T/usr/share/service-labels"
printf '%s\tsystem_u:object_r:%s:s0\n' "$T/srv/cluster(/.*)?" cert_t /srv/x no_such_t >"$T/usr/share/service-labels/site"
run service-labels/label.sh && run service-labels/label.sh
[[ $(sed "s,^$T,," "$T/etc/selinux/targeted/contexts/files/file_contexts.local" | sort | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ') == "1 /srv/cluster(/.*)? 1 /usr/lib/kubernetes/.* 1 /usr/lib/monitoring/.* 1 /usr/lib/scratch-folder/.* " &&
        -e $T/etc/selinux/mls/contexts/files/file_contexts.local && ! -e $T/etc/selinux/targeted/contexts/files/file_contexts.local.bin ]]
check "programs that systemd starts are labelled as such, and places that overlays name, once" $?
cmp -s "$T/var/lib/selinux/targeted/active/file_contexts.local" "$T/etc/selinux/targeted/contexts/files/file_contexts.local" && [[ -z $(find "$T/var/lib/selinux" -path '*mls*') ]]
check "… in semanage's own files, too, which writes the others anew, and a type that the policy has not is left out" $?
# semanage puts blanks where file_contexts has a tab.
own="$T/srv/cluster(/.*)?    system_u:object_r:public_content_t:s0"
echo "$own" >"$T/etc/selinux/targeted/contexts/files/file_contexts.local"
run service-labels/label.sh && [[ $(grep -F /srv/cluster "$T/etc/selinux/targeted/contexts/files/file_contexts.local") == "$own" ]] &&
        grep -qF /usr/lib/kubernetes "$T/etc/selinux/targeted/contexts/files/file_contexts.local"
check "… and a place for which the image has a line, a vendor's or an admin's, keeps that" $?
exit $rc
