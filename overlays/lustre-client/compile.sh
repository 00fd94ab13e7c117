#!/bin/bash
# Lustre's client alone, for $KERNEL: its modules, LNet over TCP, and what mounts and looks.
set -euo pipefail
work=$PWD
cd "$ARTIFACTS/lustre"
echo "Lustre $(sed -n 's/^DEFAULT_VERSION=//p' LUSTRE-VERSION-GEN) with kernel $KERNEL" >"$IMGBUILD_CONTEXT"

# --disable-tests leaves the folder of tests in, which wants archives of disks that not every copy of the source has.
sed -i 's|Documentation lustre/tests |Documentation |' Makefile
bash autogen.sh
# Where libraries of this machine are that no package has: EL's linker looks into lib64 first, and /usr/lib is for another machine's.
lib=/usr/lib
[[ ! -e /usr/lib64/libc.so.6 ]] || lib=/usr/lib64
source=/lib/modules/$KERNEL/source
[[ -e $source/Makefile ]] || source=/lib/modules/$KERNEL/build # EL's headers are one folder
# A client: no server, so neither ldiskfs nor ZFS. No InfiniBand (o2iblnd), no Kerberos.
./configure --libdir="$lib" --with-linux="$source" --with-linux-obj="/lib/modules/$KERNEL/build" --disable-server --disable-tests \
        --disable-manpages --disable-iokit --disable-doc --disable-gss --disable-l_getsepol --without-o2ib --without-gds
# Without DESTDIR, which is for what follows.
env -u DESTDIR make -j"$JOBS"
make install DESTDIR="$work/all"

# "updates" goes before the kernel's own modules in depmod's search order.
target=$DESTDIR/usr/lib/modules/$KERNEL/updates/lustre
mkdir -p "$target"
find "$work/all/lib/modules" -name '*.ko' | while read -r module; do strip --strip-debug -o "$target/${module##*/}" "$module"; done
if grep -q '^CONFIG_MODULE_COMPRESS_XZ=y' "/lib/modules/$KERNEL/build/.config"; then xz --check=crc32 --lzma2=dict=1MiB -T"$JOBS" "$target"/*.ko; fi

# Of the rest what a client uses; no headers, no archives, nothing of servers.
cd "$work/all"
install -D -t "$DESTDIR/usr/sbin" sbin/mount.lustre usr/sbin/{lctl,lnetctl,lustre_rmmod}
install -D -t "$DESTDIR/usr/bin" usr/bin/lfs usr/bin/lfs_migrate
install -D -m 0644 -t "$DESTDIR/usr/lib/udev/rules.d" usr/lib/udev/rules.d/99-lustre.rules
install -D -m 0644 -t "$DESTDIR/etc" etc/lnet.conf etc/lnet-sysctl.conf
install -D -m 0644 -t "$DESTDIR/etc/lustre" etc/lustre/mount.client.params
mkdir -p "$DESTDIR$lib"
cp -P ".$lib"/liblnetconfig.so.* ".$lib"/liblustreapi.so.* "$DESTDIR$lib/"
strip "$DESTDIR$lib"/lib*.so.*.* "$DESTDIR"/usr/sbin/{mount.lustre,lctl,lnetctl} "$DESTDIR/usr/bin/lfs"
