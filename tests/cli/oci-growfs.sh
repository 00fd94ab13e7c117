#!/bin/bash
# The overlay oci-compat's /usr/libexec/oci-growfs with doubles of what it calls: which commands it gives for which root, and that a root
# which is grown already is no failure, for it is the last line of a document's runcmd.
set -u
rc=0
T=$(mktemp -d) || exit 1
trap 'rm -rf "${T:?}"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out" "$T/asked"; rc=1; fi; }
double() { # NAME SCRIPT
        printf '#!/bin/bash\necho "%s $*" >>%s/asked\n%s\n' "$1" "$T" "$2" >"$T/bin/$1"
        chmod +x "$T/bin/$1"
}
grow() { : >"$T/asked"; PATH=$T/bin:$PATH OCI_GROWFS_SYS=$T/sys "$TOP/overlays/oci-compat/files/usr/lib/oci-compat/oci-growfs" "$@" >"$T/out" 2>&1 </dev/null; }
mkdir -p "$T"/bin "$T/sys/class/block/vda1"
echo 1 >"$T/sys/class/block/vda1/partition"
double findmnt '[[ "$*" == *FSTYPE* ]] && echo ext4 || echo /dev/vda1'
double lsblk 'case "$*" in *TYPE\ /dev/vda1) echo part ;; *PKNAME*) echo /dev/vda ;; esac'
double growpart 'echo "CHANGED: partition=1"'
double resize2fs 'true'

grow -y && grep -qx 'growpart /dev/vda 1' "$T/asked" && grep -qx 'resize2fs /dev/vda1' "$T/asked"
check "the root partition and its file system take the whole disk" $?
double growpart 'echo "NOCHANGE: partition 1 is size 1"; exit 1'
grow -y
check "a root that is grown already is no failure" $?
double growpart 'echo "FAILED: disk is busy"; exit 2'
grow -y
[[ $? -ne 0 && $(cat "$T/out") == *"disk is busy"* ]] && ! grep -q resize2fs "$T/asked"
check "a partition that cannot be grown fails, with growpart's words" $?
grow
[[ $? -ne 0 ]] && ! grep -q growpart "$T/asked"
check "without -y nothing is done before somebody said yes" $?

double findmnt '[[ "$*" == *FSTYPE* ]] && echo xfs || echo /dev/mapper/ocivolume-root'
double lsblk 'case "$*" in *-d*TYPE*) echo lvm ;; *-s*) printf "/dev/mapper/ocivolume-root lvm\n/dev/vda1 part\n/dev/vda disk\n" ;; *PKNAME*) echo /dev/vda ;; esac'
double growpart 'echo "CHANGED: partition=1"'
double pvresize 'true'
double lvextend 'true'
double xfs_growfs 'true'
grow --yes && grep -q '^pvresize .*/dev/vda1$' "$T/asked" && grep -q '^lvextend .*/dev/mapper/ocivolume-root$' "$T/asked" && grep -qx 'xfs_growfs /' "$T/asked"
check "a root on a logical volume: partition, physical volume, logical volume, file system" $?
grow --force
[[ $? -eq 2 ]]
check "an option that it does not know is told" $?
exit $rc
