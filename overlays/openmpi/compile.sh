#!/bin/sh
set -eu
# Where EL has its compilers for MPI, besides those of a module that is loaded.
PATH=$PATH:/usr/lib64/openmpi/bin
mkdir -p "$DESTDIR/usr/bin"
mpicc -O2 -Wall -o "$DESTDIR/usr/bin/mpi-hello" "$SRCDIR/mpi-hello.c"
