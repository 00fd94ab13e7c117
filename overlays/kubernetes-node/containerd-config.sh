#!/bin/sh
# containerd's configuration imports what is in conf.d, whoever brought the former; NVIDIA's runtime is named where it is.
set -eu
config=/etc/containerd/config.toml
[ -s "$config" ] || echo 'version = 2' >"$config"
if ! grep -q '^imports' "$config"; then
        # Before the first table: a key belongs to the table above it.
        sed '0,/^version/s|^version.*|&\nimports = ["/etc/containerd/conf.d/*.toml"]|' "$config" >"$config.new"
        cat "$config.new" >"$config"
        rm "$config.new"
fi
grep -q '^imports = \["/etc/containerd/conf.d/\*.toml"\]$' "$config" ||
        { echo "$config has imports of its own, or no version: add /etc/containerd/conf.d/*.toml to them"; exit 1; }
if ! command -v nvidia-container-runtime >/dev/null; then
        sed -i '/# begin nvidia/,/# end nvidia/d' /etc/containerd/conf.d/20-kubernetes.toml
fi
