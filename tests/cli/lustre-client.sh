#!/bin/bash
# What the overlay lustre-client's check says of trees that are not right. modprobe, modinfo, ldd and lfs are doubles; e2e/36 has a whole tree,
# soak/lustre the real client.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
mkdir -p "$T/bin" "$T/modules/6.12.1-a"
double() { printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1" && chmod +x "$T/bin/$1"; }
sed "s,/usr/lib/modules/,$T/modules/," "$TOP/overlays/lustre-client/check-lustre.sh" >"$T/check"

# A tree that is right.
good() {
        double lfs 'echo lfs 2.17.57'
        double modprobe '[ "$2" = 6.12.1-a ] && printf "insmod /m/libcfs.ko.xz \ninsmod /m/%s.ko.xz networks=tcp \n" "$4"'
        double modinfo 'case $* in *vermagic*) echo "6.12.1-a SMP preempt mod_unload modversions " ;; *) echo 2.17.57 ;; esac'
        double ldd 'printf "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"'
        for p in mount.lustre lctl lnetctl; do double $p :; done
}
says() { # WHAT STATUS TEXT
        local said status
        said=$(PATH=$T/bin:/usr/bin:/bin sh "$T/check" 2>&1)
        status=$?
        if [[ $status -eq $2 && ($said == *"$3"* && -n $3 || -z $said$3) ]]; then echo "ok - $1"; else echo "not ok - $1"; echo "# $status: $said"; rc=1; fi
        good
}
good
says "the client for the image's kernel passes, without a word" 0 ""
double modinfo 'case $* in *libcfs*vermagic* | *vermagic*libcfs*) echo "6.12.2-b SMP " ;; *vermagic*) echo "6.12.1-a SMP " ;; *) echo 2.17.57 ;; esac'
says "a module below it that was compiled for another kernel" 1 "/m/libcfs.ko.xz was compiled for '6.12.2-b SMP ', not for kernel 6.12.1-a"
double modprobe '[ "$4" != ksocklnd ] && printf "insmod /m/%s.ko.xz \n" "$4"'
says "LNet without TCP" 1 "kernel 6.12.1-a has no module ksocklnd"
mkdir "$T/modules/6.12.9-new"
says "a second kernel without the client" 1 "kernel 6.12.9-new has no module lustre"
rmdir "$T/modules/6.12.9-new"
double lfs 'echo lfs 2.15.0'
says "tools of another version" 1 "kernel 6.12.1-a is 2.17.57, lfs is 2.15.0"
double lfs 'echo "lfs: error while loading shared libraries: liblustreapi.so.1" >&2; exit 127'
says "tools that do not start" 1 "lfs does not tell its version: lfs: error while loading"
double ldd 'case $1 in *lnetctl) printf "\tlibyaml-0.so.2 => not found\n" ;; esac'
says "a library that is missing" 1 "needs libyaml-0.so.2, which is not here"
rm "$T/bin/mount.lustre"
says "no mount.lustre" 1 "mount.lustre is missing"
exit $rc
