#!/bin/bash
# drivers/infiniband/hw/efa alone, against the headers of the image's kernel. Nothing where the kernel has the driver itself.
set -euo pipefail
config=/boot/config-$KERNEL
[[ -e $config ]] || config=/usr/lib/modules/$KERNEL/config
if grep -qE '^CONFIG_INFINIBAND_EFA=[ym]' "$config"; then exit 0; fi
if ! command -v dpkg-query >/dev/null; then
        echo "kernel $KERNEL is without CONFIG_INFINIBAND_EFA, and this distribution has no source of it to compile: EL's own kernel and UEK have the driver"
        exit 1
fi
if ! grep -qE '^CONFIG_INFINIBAND_USER_ACCESS=[ym]' "$config"; then
        echo "kernel $KERNEL is without CONFIG_INFINIBAND_USER_ACCESS, which EFA stands on: name linux-image-amd64 in the recipe's kernel.package"
        exit 1
fi

archive=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz')
source=$(dpkg-query -W -f '${Version}' "$(basename "$archive" .tar.xz)")
kernel=$(dpkg-query -W -f '${Version}' "linux-headers-$KERNEL")
if [[ $source != "$kernel" ]]; then
        echo "linux-source is $source and the kernel $kernel: run 'imgbuild lock --update linux-source RECIPE'"
        exit 1
fi
tar -xf "$archive" --strip-components=1 --wildcards '*/drivers/infiniband/hw/efa'
module=$PWD/drivers/infiniband/hw/efa
make -C "/lib/modules/$KERNEL/build" M="$module" -j"$JOBS" CONFIG_INFINIBAND_EFA=m CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-g0 modules

# "updates" goes before the kernel's own modules in depmod's search order.
target=$DESTDIR/usr/lib/modules/$KERNEL/updates/efa
mkdir -p "$target"
strip --strip-debug -o "$target/efa.ko" "$module/efa.ko"
if grep -q '^CONFIG_MODULE_COMPRESS_XZ=y' "$config"; then xz --check=crc32 --lzma2=dict=1MiB "$target/efa.ko"; fi
