#!/bin/sh
# ib_core gets the option whoever loads it first: on the root file system and in each initramfs; and each kernel's ib_core knows it.
set -eu
fail() { echo "$1"; exit 1; }
command -v rdma >/dev/null || fail "rdma(8) is missing: package iproute2 has it, iproute on Enterprise Linux"
modprobe --showconfig | grep -q '^options ib_core netns_mode=0$' || fail "/etc/modprobe.d/ib_core.conf does not set netns_mode=0"
[ "$(modprobe --showconfig | grep -c '^options ib_core .*netns_mode=')" -eq 1 ] || fail "two files below modprobe.d set netns_mode of ib_core"
list=lsinitramfs
command -v lsinitramfs >/dev/null || list=lsinitrd
found=0
for modules in /lib/modules/*; do
        kernel=${modules##*/}
        module=$(modinfo --set-version "$kernel" --field filename ib_core 2>/dev/null) || continue
        found=1
        [ "$module" != "(builtin)" ] || fail "ib_core is built into $kernel: give ib_core.netns_mode=0 on the kernel's command line"
        modinfo --set-version "$kernel" --parameters ib_core | grep -q '^netns_mode:' || fail "ib_core of $kernel does not know netns_mode"
        for initramfs in "/boot/initrd.img-$kernel" "/boot/initramfs-$kernel.img"; do
                [ -e "$initramfs" ] || continue
                "$list" "$initramfs" | grep -qE '(^| )etc/modprobe\.d/ib_core\.conf$' || fail "$initramfs was made without /etc/modprobe.d/ib_core.conf"
        done
done
[ $found -eq 1 ] || fail "no kernel of the image has ib_core: take linux-image-amd64, or kernel-modules-core on Enterprise Linux"
