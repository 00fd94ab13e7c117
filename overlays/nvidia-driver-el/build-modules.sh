#!/bin/bash
# The vendor's packages have the modules' source and let dkms compile it, for the kernel that runs where they are installed: here that is the
# builder's. So once more, for the image's own.
set -euo pipefail
shopt -s nullglob
sources=(/usr/src/nvidia*/dkms.conf)
if [[ ${#sources[@]} -ne 1 ]]; then
        echo "/usr/src has ${#sources[@]} sources of the driver, not one: what kmod-nvidia-open-dkms is this?"
        exit 1
fi
value() { sed -n "s/^$1=\"\\{0,1\\}\\([^\"]*\\)\"\\{0,1\\} *\$/\\1/p" "${sources[0]}"; }
name=$(value PACKAGE_NAME) version=$(value PACKAGE_VERSION)

# A key that is made here would be every node's. A node that compiles a module makes one of its own.
mkdir -p /etc/dkms/framework.conf.d
config=/etc/dkms/framework.conf.d/image.conf
trap 'rm -f "$config"' EXIT
echo 'sign_file=/nonexistent' >"$config"

rm -rf "/var/lib/dkms/$name"
dkms add "$name/$version"
# Debug information is stripped, and takes a third of the time.
if ! KCFLAGS=-g0 dkms install "$name/$version" -k "$KERNEL" --force; then
        tail -n 40 "/var/lib/dkms/$name/$version/build/make.log" || true
        exit 1
fi
# How long it took, and when.
rm -rf "/var/lib/dkms/$name/$version/$KERNEL"/*/log
