#!/bin/sh
# The driver refuses user space of another release, and fabric manager, IMEX and NSCQ refuse a driver of another: all are one version.
# imgbuild's own rules look into libraries and programs (nvidia.version, nccl.version); this one knows the packages that they do not.
set -eu
fail() { echo "$1"; exit 1; }
version_of() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; }

driver=
for folder in /usr/lib/modules/*/; do
        [ -d "$folder" ] || continue
        kernel=$(basename "$folder")
        driver=$(modinfo -k "$kernel" -F version nvidia 2>/dev/null) || fail "kernel $kernel has no module nvidia: look at the log of stage compile:nvidia-driver-vendor/0"
done
[ -n "$driver" ] || fail "there is no kernel with a module nvidia"

# GDRCopy: on this driver's symbols, module and library of one version.
for folder in /usr/lib/modules/*/; do
        kernel=$(basename "$folder")
        module=$(modinfo -k "$kernel" -F version gdrdrv 2>/dev/null) || fail "kernel $kernel has no module gdrdrv: look at the log of stage compile:nvidia-driver-vendor/0"
        on=$(modinfo -k "$kernel" -F depends gdrdrv)
        [ "$on" = nvidia ] || fail "gdrdrv stands on '$on', not on the driver"
        set -- /usr/lib/*/libgdrapi.so.2.*
        [ -e "$1" ] || fail "there is no libgdrapi.so.2, GDRCopy's library"
        [ "${1##*.so.}" = "$module" ] || fail "GDRCopy's module is $module, its library ${1##*.so.}"
done

others=
for package in libcuda1 libnvidia-ml1 nvidia-smi nvidia-persistenced nvidia-modprobe firmware-nvidia-gsp nvidia-fabricmanager nvidia-imex libnvidia-nscq; do
        version=$(version_of "$package") || fail "package $package is missing"
        [ "${version%-*}" = "$driver" ] || others="$others $package $version,"
done
[ -z "$others" ] || fail "the kernel modules are $driver, but${others%,}: name one release in overlay nvidia-driver-vendor, in packages and compile alike"

core=$(version_of datacenter-gpu-manager-4-core) || fail "package datacenter-gpu-manager-4-core is missing"
cuda=$(version_of datacenter-gpu-manager-4-cuda13) || fail "package datacenter-gpu-manager-4-cuda13 is missing"
[ "$core" = "$cuda" ] || fail "DCGM's packages differ: core $core, cuda13 $cuda"
nccl=$(version_of libnccl2) || fail "package libnccl2 is missing"
case $nccl in
*+cuda*) ;;
*) fail "libnccl2 $nccl is not the vendor's, which names its CUDA (+cuda13.x)" ;;
esac
