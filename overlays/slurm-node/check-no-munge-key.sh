#!/bin/sh
# Nothing in the tree may be the cluster's shared secret, nor start slurmd before the node is ready.
set -eu
if [ -e /etc/munge/munge.key ]; then
        echo "/etc/munge/munge.key is in the image: remove it, the key comes to the node at boot"
        exit 1
fi
for unit in slurmd.service munge.service; do
        state=$(systemctl is-enabled "$unit" || true)
        if [ "$state" != disabled ] && [ "$state" != masked ]; then
                echo "$unit is $state: only a ready node may start it; put it under services.disable"
                exit 1
        fi
done
