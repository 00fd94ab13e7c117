#!/bin/bash
# Into the folder that the image's Slurm loads its plugins from.
set -euo pipefail
for file in /usr/lib/*/slurm-wlm/select_cons_tres.so /usr/lib/*/slurm/select_cons_tres.so /usr/lib64/slurm/select_cons_tres.so; do
        [[ ! -e $file ]] || plugins=$(dirname "$file")
done
cd "$ARTIFACTS/pyxis"
make -j"$JOBS"
install -D -m 0644 spank_pyxis.so "$DESTDIR${plugins:?Slurm has no plugins here: its package has another folder now}/spank_pyxis.so"
