#!/bin/sh
# Each kernel of the image has the driver, compiled for it.
set -eu
for folder in /usr/lib/modules/*/; do
        kernel=$(basename "$folder")
        if ! magic=$(modinfo -k "$kernel" -F vermagic efa 2>/dev/null) || [ -z "$magic" ]; then
                echo "kernel $kernel has no module efa: CONFIG_INFINIBAND_EFA is off in /boot/config-$kernel, and none was compiled; or the package that has it is missing (EL: kernel-modules)"
                exit 1
        fi
        case $magic in
        "$kernel "* | "(builtin)"*) ;;
        *) echo "efa was compiled for '$magic', not for kernel $kernel"; exit 1 ;;
        esac
done
