#!/bin/sh
# The sources lie beside the programs: users change them, and `make` them anew where there is a compiler.
set -eu
to=$DESTDIR/opt/nccl-examples
mkdir -p "$to"
cp -r "$SRCDIR" "$to/source"
# Which runtime it is, and where, is another thing on Debian and in NVIDIA's own packages. EL has its compilers for MPI out of the way.
PATH=$PATH:/usr/lib64/openmpi/bin
ldconfig
library() { ldconfig -p | sed -n "s,^[[:space:]]*$1 (.*x86-64.* => ,,p" | head -n 1; }
cudart=$(library 'libcudart\.so\.[0-9]*') nccl=$(library 'libnccl\.so\.2')
[ -n "$cudart" ] && [ -n "$nccl" ] || { echo "no libcudart.so.N or libnccl.so.2 that ldconfig knows of: $(ldconfig -p | grep -E 'libcuda|libnccl' || true)"; exit 1; }
sed -i "s/-l:libcudart\.so\.[0-9]*/-l:${cudart##*/}/; s,^\(GPU_LIBS = \),\1-L${cudart%/*} -L${nccl%/*} ," "$to/source/Makefile"
make -C "$to/source" BUILD="$to"
install -m 0755 "$SRCDIR/run.sh" "$to/run.sh"
