#!/bin/sh
# The programs find their libraries; without a GPU they say that there is none, and fail.
set -eu
export HOME=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for name in one-process process-per-gpu gpus-per-process; do
        said=$(/opt/nccl-examples/$name --help 2>&1) || { echo "$name --help does not run: $said"; exit 1; }
        if said=$(timeout 120 /opt/nccl-examples/$name -n 1000 2>&1); then
                case $said in
                *Success*) continue ;;
                esac
        else
                case $said in
                *'no GPU'*) continue ;;
                esac
        fi
        echo "$name says neither that it succeeded nor that there is no GPU: $said"
        exit 1
done
