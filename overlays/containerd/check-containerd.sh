#!/bin/sh
# containerd reads its configuration, has a runtime, and finds the plugins that networks are made of.
set -eu
fail() { echo "$1"; exit 1; }
said=$(containerd config dump 2>&1) || fail "/etc/containerd/config.toml: $said"
runc --version >/dev/null 2>&1 || fail "runc does not run"
for plugin in bridge host-local loopback portmap firewall; do
        [ -x "/opt/cni/bin/$plugin" ] || fail "/opt/cni/bin/$plugin is missing: containernetworking-plugins has it, below /usr/lib/cni or /usr/libexec/cni"
done
state=$(systemctl is-enabled containerd.service 2>/dev/null) || true
[ "$state" = enabled ] || fail "containerd.service is $state"
