#!/bin/sh
# Podman runs, and a user's containers are where the user's folder is made.
set -eu
fail() { echo "$1"; exit 1; }
podman --version >/dev/null || fail "podman does not run"
folder=$(sed -n 's/^FOLDER=//p' /etc/rootless.conf)
grep -q "^rootless_storage_path = \"$folder/" /etc/containers/storage.conf ||
        fail "/etc/containers/storage.conf has rootless_storage_path elsewhere than FOLDER in /etc/rootless.conf ($folder)"
