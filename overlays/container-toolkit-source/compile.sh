#!/bin/bash
# The programs and units of the packages nvidia-container-toolkit and -base. What Go needs lies in the archive (vendor/).
set -euo pipefail
cd "$ARTIFACTS/toolkit"
export PATH=/usr/lib/go-1.25/bin:$PATH HOME=$PWD GOCACHE=$PWD/.cache GOTOOLCHAIN=local GOFLAGS='-mod=vendor -trimpath -buildvcs=false' GOMAXPROCS=$JOBS
mkdir -p "$DESTDIR/usr/bin"
programs=(nvidia-ctk nvidia-cdi-hook nvidia-container-runtime nvidia-container-runtime-hook)
make -j1 PREFIX="$DESTDIR/usr/bin" GIT_COMMIT= "${programs[@]/#/cmd-}"

install -D -m 0644 -t "$DESTDIR/usr/lib/systemd/system" deployments/systemd/nvidia-cdi-refresh.{service,path}
install -D -m 0644 -t "$DESTDIR/etc/nvidia-container-toolkit" deployments/systemd/nvidia-cdi-refresh.env
