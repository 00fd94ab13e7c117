#!/bin/bash
# e2e/44-containerd with STARTS (200) containers of a user without root, started and ended one after the other, and nothing of them left.
set -u
export STARTS=${STARTS:-200}
exec bash "$TOP/tests/e2e/44-containerd.sh" "$@"
