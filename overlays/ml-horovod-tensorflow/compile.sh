#!/bin/bash
# Horovod for the environment's TensorFlow, Open MPI and its own Gloo. The release is older than what it is compiled with.
set -euo pipefail
cd "$ARTIFACTS/horovod"
python=/opt/ml/tensorflow/bin/python
site=$DESTDIR$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

# Where EL has its compilers for MPI.
PATH=$PATH:/usr/lib64/openmpi/bin
patch -p1 <"$SRCDIR/keras-3.patch"
# An assignment in FlatBuffers that no compiler looked at before gcc 14.
sed -i 's/const size_type count_;/size_type count_;/' third_party/flatbuffers/include/flatbuffers/stl_emulation.h
# Empty without GPUs, but for headers of XLA that are elsewhere now.
sed -i '/xla_mpi_ops\.cc/d' horovod/tensorflow/CMakeLists.txt
# What it would fetch to be installed: the environment has it.
sed -i '/setup_requires=/d' setup.py
export CXXFLAGS="-O2 -g0 -ffile-prefix-map=$PWD=horovod -include stdexcept -include cstdint"
export HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 MAKEFLAGS=-j$JOBS
$python setup.py build
mkdir -p "$site"
cp -r build/lib.*/horovod "$site/"
# horovodrun -cb takes the folder alone for PyTorch.
rm -r "$site/horovod/torch" "$site/horovod/mxnet"
$python setup.py dist_info --output-dir "$site"
find "$site" -name '*.so' -exec strip {} +
$python -m compileall -q -j 1 --invalidation-mode unchecked-hash -s "$DESTDIR" "$site"
