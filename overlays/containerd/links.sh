#!/bin/sh
# What comes from containerd's own releases looks for plugins in /opt/cni/bin; Debian's are elsewhere.
set -eu
mkdir -p /opt/cni
ln -sfn /usr/lib/cni /opt/cni/bin
