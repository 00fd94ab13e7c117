#!/bin/sh
# Builds the agent against the image's own libraries.
set -eu
make -C "$SRCDIR" -j"$JOBS" BUILD="$PWD/build" PREFIX=/usr DESTDIR="$DESTDIR" install
find "$DESTDIR" -type f -perm -u+x -exec strip {} +
