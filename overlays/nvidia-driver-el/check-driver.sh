#!/bin/sh
# Modules for the image's kernels, and user space of the same version: the driver refuses any other, and so does fabric manager.
set -eu
fail() { echo "$1"; exit 1; }
driver=
for folder in /usr/lib/modules/*/; do
        kernel=$(basename "$folder")
        [ -e "$folder/modules.dep" ] || continue
        driver=$(modinfo -k "$kernel" -F version nvidia 2>/dev/null) || fail "kernel $kernel has no module nvidia: look at the log of stage run:nvidia-driver-el/0"
        license=$(modinfo -k "$kernel" -F license nvidia)
        case $license in
        *GPL*) ;;
        *) fail "kernel $kernel has the proprietary modules ($license), not the open ones" ;;
        esac
done
[ -n "$driver" ] || fail "there is no kernel with a module nvidia"
# rpm's database wants to be written beside, even for who only reads it.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
cp "$(rpm --eval '%_dbpath')"/* "$database"
for package in kmod-nvidia-open-dkms nvidia-driver-cuda nvidia-fabricmanager; do
        version=$(rpm --dbpath "$database" -q --queryformat '%{VERSION}' "$package") || fail "package $package is missing"
        [ "$version" = "$driver" ] || fail "the kernel modules are $driver, $package is $version: update them together, 'imgbuild lock RECIPE --update'"
done
for key in /var/lib/dkms/mok.key /var/lib/dkms/mok.pub; do
        [ ! -e "$key" ] || fail "$key is in the image: every node would sign its modules with it"
done
