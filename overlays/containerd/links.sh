#!/bin/sh
# What comes from containerd's own releases looks for plugins in /opt/cni/bin; the distribution's are elsewhere. Kubernetes' package has
# a folder of that name with all of them.
set -eu
plugins=
for folder in /usr/lib/cni /usr/libexec/cni; do [ ! -d "$folder" ] || plugins=$folder; done
[ -n "$plugins" ] || { echo "There are no plugins of CNI: containernetworking-plugins has them, below /usr/lib/cni or /usr/libexec/cni"; exit 1; }
mkdir -p /opt/cni
[ -d /opt/cni/bin ] && [ ! -L /opt/cni/bin ] || ln -sfn "$plugins" /opt/cni/bin
