#!/bin/sh
# MPI starts and passes data inside of one host; between hosts nothing can be shown before there is a cluster.
set -eu
said=$(HOME=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun --map-by :OVERSUBSCRIBE -n 2 mpi-hello 2>&1) || true
case $said in
*'the ring of 2 is well'*) ;;
*)
        echo "mpirun -n 2 mpi-hello does not work: $said"
        exit 1
        ;;
esac
