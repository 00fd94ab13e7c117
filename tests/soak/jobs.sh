#!/bin/bash
# e2e/41 with an array of COUNT (200) jobs in containers over two nodes, and nothing of them left: processes, mounts, host files, files of imports.
# Those nodes are without cgroups; soak/containers has them, on machines.
set -u
export COUNT=${COUNT:-200}
exec bash "$TOP/tests/e2e/41-containers.sh" "$@"
