#!/bin/sh
# What is to be root's folder is that in the end, whatever was there.
set -eu
make=/usr/lib/scratch-folder/make
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s /nowhere "$work/folder"
"$make" 0755 "$work/folder" 2>"$work/said" || { echo "$make does not run: $(cat "$work/said")"; exit 1; }
[ "$(stat -c '%F %u %a' "$work/folder")" = "directory 0 755" ] || { echo "$make leaves $(stat -c '%F of %u, mode %a' "$work/folder") where a folder of root's is asked for"; exit 1; }
