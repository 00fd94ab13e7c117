#!/bin/sh
# What containerd-rootless.sh calls is there.
set -eu
for program in rootlesskit slirp4netns newuidmap containerd runc nsenter iptables ip; do
        command -v "$program" >/dev/null || { echo "$program is missing: containerd-rootless.sh calls it"; exit 1; }
done
rootlesskit --version >/dev/null || { echo "rootlesskit does not run"; exit 1; }
