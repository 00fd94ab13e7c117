#!/bin/bash
# Into the folder that Debian's Slurm loads its plugins from.
set -euo pipefail
plugins=$(dirname "$(dpkg -L slurm-wlm-basic-plugins | grep -m 1 '/select_cons_tres\.so$')")
mkdir -p "$DESTDIR$plugins"
gcc -shared -fPIC -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -o "$DESTDIR$plugins/spank_job_env.so" "$SRCDIR/job-env.c"
