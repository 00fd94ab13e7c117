#!/bin/sh
# One line of plugstack.conf, whichever overlay's file that is. By name: a controller hands its nodes this file, but not the files that a
# pattern in it stands for.
set -eu
file=/etc/slurm/plugstack.conf
line='required spank_pyxis.so use_enroot_load=1'
sed -i '/^include .*\*/d' "$file"
grep -qxF "$line" "$file" || echo "$line" >>"$file"
