#!/bin/bash
# Two ranks add up an array; mpi4py found Open MPI, and mpirun's ranks are one world.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/sum.py" <<'P'
from mpi4py import MPI
import numpy

world = MPI.COMM_WORLD
total = numpy.zeros(1000)
world.Allreduce(numpy.full(1000, world.rank + 1.0), total)
if world.rank == 0:
    print(MPI.Get_library_version().split(",")[0].split(" v")[0], world.size, total.min(), total.max())
P
said=$(HOME=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun --map-by :OVERSUBSCRIBE -n 2 \
        /opt/ml/mpi4py/bin/python "$work/sum.py" 2>&1) || true
[[ $(tail -n 1 <<<"$said") == 'Open MPI 2 3.0 3.0' ]] || { echo "mpirun -n 2 with mpi4py does not work: $said"; exit 1; }
