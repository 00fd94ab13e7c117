#!/bin/sh
# Docker reads its configuration, its client has buildx, and nothing starts it before the scratch volume is there.
set -eu
fail() { echo "$1"; exit 1; }

said=$(dockerd --validate --config-file /etc/docker/daemon.json 2>&1) || fail "/etc/docker/daemon.json: $said"
# Docker 29 would keep images with containerd, on the root disk.
grep -q '"containerd-snapshotter": false' /etc/docker/daemon.json || fail "/etc/docker/daemon.json does not say \"containerd-snapshotter\": false: images would not be below its data-root"
docker buildx version >/dev/null 2>&1 || fail "docker has no buildx: is the package docker-buildx (docker-buildx-plugin on Enterprise Linux) installed?"
for unit in docker.service docker.socket; do
        state=$(systemctl is-enabled "$unit" 2>/dev/null) || true
        [ "$state" = disabled ] || fail "$unit is $state: it would start before the scratch volume is mounted"
done
