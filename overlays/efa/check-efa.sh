#!/bin/sh
# libfabric has the EFA provider, NCCL's plugin and its tuner are where job scripts look for them, and nothing they need is missing.
set -eu
fail() { echo "$1"; exit 1; }

fi_info -l | grep -qx 'efa:' || fail "libfabric here has no provider efa: 'fi_info -l' shows what it has"
for name in libnccl-net.so libnccl-ofi-tuner.so; do
        file=/opt/amazon/ofi-nccl/lib/$(uname -m)-linux-gnu/$name
        [ -e "$file" ] || fail "$file is missing: look at the log of stage compile:efa/0"
        missing=$(ldd "$file" | sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p')
        [ -z "$missing" ] || fail "$file needs $missing, which is not here"
done
