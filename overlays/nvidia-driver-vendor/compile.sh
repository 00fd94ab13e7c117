#!/bin/bash
# Builds the vendor's source of the open modules for $KERNEL, without dkms, into $DESTDIR.
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
