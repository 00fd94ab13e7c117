#!/bin/sh
# munge makes a key when it is installed. The cluster's key comes to the node at boot, never in the image.
set -eu
rm -f /etc/munge/munge.key
