#!/bin/sh
set -eu
mkdir -p "$DESTDIR/usr/bin"
mpicc -O2 -Wall -o "$DESTDIR/usr/bin/mpi-hello" "$SRCDIR/mpi-hello.c"
