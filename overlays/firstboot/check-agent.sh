#!/bin/sh
# The agent's programs find their libraries, its steps make a graph, and the baked configuration has no faults:
# better found here than by every node.
set -eu
for program in /usr/lib/firstboot/firstbootd /usr/lib/firstboot/firstboot-helper /usr/lib/firstboot/firstboot-step \
        /usr/lib/firstboot/firstboot-lvm /usr/lib/firstboot/firstboot-slurm \
        /usr/lib/firstboot/rdma-exporter /usr/bin/firstbootctl /usr/bin/firstboot-get; do
        if ldd "$program" | grep 'not found'; then
                echo "$program: a library is missing; name its package in overlays/firstboot/overlay.json"
                exit 1
        fi
done
if [ "$(systemctl is-enabled firstbootd.service)" != enabled ]; then
        echo "firstbootd.service is not enabled: no node of this image would ever be ready"
        exit 1
fi
faults=$(/usr/lib/firstboot/firstboot-helper check) || {
        echo "the baked node configuration is faulty:"
        echo "$faults"
        exit 1
}
