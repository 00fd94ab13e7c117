#!/bin/sh
# containerd's configuration names the runtime that the toolkit brought, and its network plugins are there.
set -eu
fail() { echo "$1"; exit 1; }
for program in nvidia-container-runtime containerd; do
        command -v "$program" >/dev/null || fail "$program is missing: overlay container-toolkit, container-toolkit-source or container-toolkit-el brings it"
done
grep -q 'BinaryName = "/usr/bin/nvidia-container-runtime"' /etc/containerd/config.toml ||
        fail "/etc/containerd/config.toml does not name nvidia-container-runtime: a package replaced it"
plugins=$(sed -n 's/^ *bin_dir = "\(.*\)"$/\1/p' /etc/containerd/config.toml)
for plugin in bridge host-local loopback portmap; do
        [ -x "$plugins/$plugin" ] || fail "$plugins/$plugin is missing: containerd makes no network without it"
done
