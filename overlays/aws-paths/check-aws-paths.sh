#!/bin/sh
# Every program of nccl-tests that job scripts name answers.
set -eu
for name in all_reduce all_gather broadcast reduce reduce_scatter alltoall scatter gather sendrecv hypercube; do
        if ! "/opt/nccl-tests/build/${name}_perf" --help >/dev/null 2>&1; then
                echo "/opt/nccl-tests/build/${name}_perf does not run: ncclbench brings it to /usr/lib/ncclbench"
                exit 1
        fi
done
if [ "$(readlink -f /scratch)" != /mnt/localdisk ]; then
        echo "/scratch is not /mnt/localdisk, where the scratch volume is mounted"
        exit 1
fi
