#!/bin/sh
# The first line of plugstack.conf, whichever overlay's file that is: behind Pyxis a task is inside of its container. By name: a controller
# hands its nodes this file, but not the files that a pattern in it stands for.
set -eu
file=/etc/slurm/plugstack.conf
line='optional spank_job_env.so'
mkdir -p /etc/slurm
touch "$file"
{
        echo "$line"
        grep -vxF "$line" "$file" | grep -v '^include .*\*' || true
} >"$file.new"
mv "$file.new" "$file"
