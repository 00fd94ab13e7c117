#!/bin/sh
# Docker's package for Enterprise Linux switches the CRI plugin off, by which kubelet and crictl talk to containerd. What another
# overlay brought, and Debian's own configuration, stay.
set -eu
config=/etc/containerd/config.toml
if [ ! -s "$config" ] || grep -qE '^ *disabled_plugins *=.*cri' "$config"; then
        mkdir -p "${config%/*}"
        cat >"$config" <<'C'
# containerd 1.7 reads version 2, and containerd 2 makes its own of it.
version = 2

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"
C
fi
