#!/bin/sh
# Links, by a script and not in files/: packages of imgbuild would rewrite links that lead out of their own folders.
set -eu
mkdir -p /opt/nccl-tests
ln -sfn /usr/lib/ncclbench /opt/nccl-tests/build
ln -sfn mnt/localdisk /scratch
