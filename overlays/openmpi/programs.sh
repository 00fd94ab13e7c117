#!/bin/sh
# EL keeps Open MPI out of the way, for users who load the module mpi/openmpi-x86_64. It is this image's MPI: mpirun and what it starts on other hosts
# are found without, by ssh too, and so are the libraries. The module is there nonetheless.
set -eu
here=/usr/lib64/openmpi
[ -d "$here/bin" ] || exit 0
for program in mpirun mpiexec orterun orted prterun prted ompi_info; do
        if [ -x "$here/bin/$program" ] && [ ! -e "/usr/bin/$program" ]; then ln -s "$here/bin/$program" "/usr/bin/$program"; fi
done
if [ -d "$here/lib" ]; then
        echo "$here/lib" >/etc/ld.so.conf.d/openmpi.conf
        ldconfig
fi
