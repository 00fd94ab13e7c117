#!/bin/bash
# Horovod for Debian's PyTorch, or PyTorch's wheel, Open MPI and its own Gloo. The release is older than what it is compiled with.
set -euo pipefail
cd "$ARTIFACTS/horovod"
python=python3
[[ -e /usr/lib/python3/dist-packages/torch ]] || python=/opt/ml/torch/bin/python
site=$DESTDIR/opt/ml/torch/lib/$($python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages
# Where EL has its compilers for MPI.
PATH=$PATH:/usr/lib64/openmpi/bin

# PyTorch 2 is C++17; and an assignment in FlatBuffers that no compiler looked at before gcc 14.
sed -i 's/set(CMAKE_CXX_STANDARD 14)/set(CMAKE_CXX_STANDARD 17)/' CMakeLists.txt horovod/torch/CMakeLists.txt
sed -i 's/const size_type count_;/size_type count_;/' third_party/flatbuffers/include/flatbuffers/stl_emulation.h
# What it would fetch to be installed: cffi, which PyTorch has not asked for since 1.5.
sed -i '/setup_requires=/d' setup.py
export CXXFLAGS="-O2 -g0 -ffile-prefix-map=$PWD=horovod -include stdexcept -include cstdint -I/usr/include/torch/csrc/api/include"
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 MAKEFLAGS=-j$JOBS
$python setup.py build
mkdir -p "$site"
[[ $python == python3 ]] || cp -r "$ARTIFACTS/cloudpickle/cloudpickle" "$site/"
cp -r build/lib.*/horovod "$site/"
$python setup.py dist_info --output-dir "$site"
find "$site" -name '*.so' -exec strip {} +
$python -m compileall -q -j 1 --invalidation-mode unchecked-hash -s "$DESTDIR" "$site"
