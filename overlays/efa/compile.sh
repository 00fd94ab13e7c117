#!/bin/bash
# NCCL's plugin for libfabric and its tuner, where AWS' own installer puts them: job scripts name /opt/amazon/ofi-nccl.
set -euo pipefail
cd "$ARTIFACTS/aws-ofi-nccl"
# A source archive has no git folder to ask for its version.
[[ -e .version ]] || sed -i 's/\[m4_normalize(fatal_esyscmd(\[m4\/get_version.sh\]))\]/[git-2daf7d30]/' configure.ac
cuda=$PWD/cuda
mkdir -p "$cuda/lib64"
toolkit=$(find /usr/local -maxdepth 3 -path '/usr/local/cuda-*/targets/x86_64-linux' | head -n 1)
if [[ -n $toolkit ]]; then
        cp -r "$toolkit/include" "$cuda/"
        cp -P "$toolkit"/lib/libcudart.so* "$cuda/lib64/"
else
        cp -r "$ARTIFACTS"/{cudart,nvcc}/include "$cuda/"
        cp -P "$ARTIFACTS"/cudart/lib/libcudart.so.12* "$cuda/lib64/"
        ln -s libcudart.so.12 "$cuda/lib64/libcudart.so"
fi
[[ -x configure ]] || autoreconf -i
lib=/opt/amazon/ofi-nccl/lib/$(uname -m)-linux-gnu
./configure --prefix=/opt/amazon/ofi-nccl --libdir="$lib" --with-cuda="$cuda" --enable-cudart-dynamic --enable-platform-aws --disable-tests CXXFLAGS='-O2 -g0'
make -j"$JOBS"
make install DESTDIR="$DESTDIR"
find "$DESTDIR" -name "*.la" -delete
