#!/bin/sh
# The sources lie beside the programs: users change them, and `make` them anew where there is a compiler.
set -eu
to=$DESTDIR/opt/nccl-examples
mkdir -p "$to"
cp -r "$SRCDIR" "$to/source"
make -C "$SRCDIR" BUILD="$to"
install -m 0755 "$SRCDIR/run.sh" "$to/run.sh"
