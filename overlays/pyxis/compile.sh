#!/bin/bash
# Into the folder that Debian's Slurm loads its plugins from.
set -euo pipefail
cd "$ARTIFACTS/pyxis"
make -j"$JOBS"
plugins=$(dirname "$(dpkg -L slurm-wlm-basic-plugins | grep -m 1 '/select_cons_tres\.so$')")
install -D -m 0644 spank_pyxis.so "$DESTDIR$plugins/spank_pyxis.so"
