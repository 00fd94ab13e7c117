#!/bin/sh
# What a document about RDMA types.
set -eu
for program in ibv_devinfo ibv_rc_pingpong rping ib_write_bw ib_read_lat ibstat ibhosts rdma; do
        command -v "$program" >/dev/null || { echo "$program is missing"; exit 1; }
done
