#!/bin/bash
# Builds Debian's source of the modules for $KERNEL, without dkms, into $DESTDIR.
set -euo pipefail

source_package=nvidia-open-kernel-source
archive=/usr/src/nvidia-open-kernel.tar.xz
modules=(nvidia nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem)

version=$(dpkg-query -W -f '${Version}' "$source_package")
version=${version%-*}
echo "$source_package $version with kernel $KERNEL" >"$IMGBUILD_CONTEXT"

build=$PWD/source
mkdir "$build"
tar -C "$build" --strip-components=2 -xf "$archive"

# Debug information would be stripped below anyway and takes a third of the time, but newer kernels compute their symbol
# versions from it.
config=/boot/config-$KERNEL
debug=-g0
if grep -q '^CONFIG_GENDWARFKSYMS=y' "$config"; then debug=; fi
make -C "$build" -j"$JOBS" modules KERNEL_UNAME="$KERNEL" KCFLAGS="$debug"

# "updates" goes before the kernel's own modules in depmod's search order.
target=$DESTDIR/usr/lib/modules/$KERNEL/updates/nvidia
mkdir -p "$target"
for m in "${modules[@]}"; do
        strip --strip-debug -o "$target/$m.ko" "$build/$m.ko"
done

# Compressed as the kernel can read it: small dictionaries and crc32 are what its decoder takes.
if grep -q '^CONFIG_MODULE_COMPRESS_XZ=y' "$config"; then
        xz --check=crc32 --lzma2=dict=1MiB -T"$JOBS" "$target"/*.ko
elif grep -q '^CONFIG_MODULE_COMPRESS_ZSTD=y' "$config"; then
        zstd -q --rm -T"$JOBS" "$target"/*.ko
fi
