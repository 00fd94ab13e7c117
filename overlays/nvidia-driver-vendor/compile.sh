#!/bin/bash
# Builds the vendor's sources of the open modules and of GDRCopy for $KERNEL, without dkms, into $DESTDIR.
set -euo pipefail

modules=(nvidia nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem)

build=$ARTIFACTS/nvidia
version=$(sed -n 's/^NVIDIA_VERSION *= *//p' "$build/version.mk")
echo "open-gpu-kernel-modules $version with kernel $KERNEL" >"$IMGBUILD_CONTEXT"

# Debug information would be stripped below anyway and takes a third of the time, but newer kernels compute their symbol
# versions from it. Without it there is nothing to make BTF of.
config=/boot/config-$KERNEL
debug=-g0
if grep -q '^CONFIG_GENDWARFKSYMS=y' "$config"; then debug=; fi
make -C "$build" -j"$JOBS" modules KERNEL_UNAME="$KERNEL" KCFLAGS="$debug" CONFIG_DEBUG_INFO_BTF_MODULES=
for m in "${modules[@]}"; do ln -sf "kernel-open/$m.ko" "$build/$m.ko"; done

# GDRCopy's module on these very sources: with their symbols, not with those of the double that it brings, whose checksums could be others.
gdrcopy=$ARTIFACTS/gdrcopy
sed -i '/nv-p2p-dummy/d; s/obj-m += gdrdrv/obj-m := gdrdrv/' "$gdrcopy/src/gdrdrv/Makefile"
make -C "/lib/modules/$KERNEL/build" M="$gdrcopy/src/gdrdrv" -j"$JOBS" modules KBUILD_EXTRA_SYMBOLS="$build/kernel-open/Module.symvers" \
        NVIDIA_SRC_DIR="$build/kernel-open/nvidia" NVIDIA_IS_OPENSOURCE=y HAVE_VM_FLAGS_SET=y HAVE_PROC_OPS=y KCFLAGS="$debug" CONFIG_DEBUG_INFO_BTF_MODULES=
ln -sf "$gdrcopy/src/gdrdrv/gdrdrv.ko" "$build/gdrdrv.ko"
modules+=(gdrdrv)
make -C "$gdrcopy" lib
make -C "$gdrcopy" lib_install prefix=/usr libdir="/usr/lib/$(gcc -print-multiarch)" DESTDIR="$DESTDIR"
rm -r "$DESTDIR/usr/include" "$DESTDIR/usr/lib/$(gcc -print-multiarch)/libgdrapi.so"

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
