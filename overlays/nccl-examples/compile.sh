#!/bin/sh
# The sources lie beside the programs: users change them, and `make` them anew where there is a compiler.
set -eu
to=$DESTDIR/opt/nccl-examples
mkdir -p "$to"
cp -r "$SRCDIR" "$to/source"
# Which runtime it is, and where, is another thing on Debian and in NVIDIA's own packages. EL has its compilers for MPI out of the way.
PATH=$PATH:/usr/lib64/openmpi/bin
ldconfig
for library in 'libcudart\.so\.[0-9]*' 'libnccl\.so\.2'; do
        file=$(ldconfig -p | sed -n "s,^[[:space:]]*$library (.*x86-64.* => ,,p" | head -n 1)
        [ -z "$file" ] || sed -i "s,-l:$library,-L${file%/*} -l:${file##*/}," "$to/source/Makefile"
done
make -C "$to/source" BUILD="$to"
install -m 0755 "$SRCDIR/run.sh" "$to/run.sh"
