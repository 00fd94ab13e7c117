#!/bin/bash
# The vendor's packages have the modules' source and let dkms compile it, for the kernel that runs where they are installed: here that is the
# builder's. So once more, for the image's own.
set -euo pipefail
# Not by its folder's name: nvidia-fs and others have theirs beside it. A part of NVIDIA's source has one of its own.
source=$(rpm -q --list kmod-nvidia-open-dkms | grep -E '^/usr/src/[^/]+/dkms\.conf$') || { echo "kmod-nvidia-open-dkms has no source for dkms"; exit 1; }
value() { sed -n "s/^$1=\"\\{0,1\\}\\([^\"]*\\)\"\\{0,1\\} *\$/\\1/p" "$source"; }
name=$(value PACKAGE_NAME) version=$(value PACKAGE_VERSION)
if [[ -z $name || -z $version ]]; then
        echo "$source names no PACKAGE_NAME and PACKAGE_VERSION: what kmod-nvidia-open-dkms is this?"
        exit 1
fi

headers=/lib/modules/$KERNEL/build
if [[ ! -e $headers/Makefile ]]; then
        echo "There is nothing to compile modules for kernel $KERNEL against: add \"kernel-devel-\${kernel}\" to the recipe's packages, \
\"kernel-uek-devel-\${kernel}\" for Oracle's UEK"
        exit 1
fi
# A kernel of another compiler than the system's brings that one as a toolset (UEK 8: gcc-toolset-14).
compiler=$(sed -n 's/^CONFIG_GCC_VERSION=\([0-9]*\)[0-9]\{4\}$/\1/p' "$headers/.config" 2>/dev/null || true)
if [[ -d /opt/rh/gcc-toolset-$compiler/root/usr/bin ]]; then
        PATH=/opt/rh/gcc-toolset-$compiler/root/usr/bin:$PATH
fi

# A key that is made here would be every node's. A node that compiles a module makes one of its own.
mkdir -p /etc/dkms/framework.conf.d
config=/etc/dkms/framework.conf.d/image.conf
trap 'rm -f "$config"' EXIT
echo 'sign_file=/nonexistent' >"$config"

rm -rf "/var/lib/dkms/$name"
dkms add "$name/$version"
if ! dkms install "$name/$version" -k "$KERNEL" --force; then
        tail -n 40 "/var/lib/dkms/$name/$version/build/make.log" || true
        exit 1
fi
# How long it took, and when.
rm -rf "/var/lib/dkms/$name/$version/$KERNEL"/*/log
