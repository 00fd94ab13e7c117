#!/bin/bash
# Horovod for the environment's PyTorch and NCCL, Open MPI and its own Gloo. The release is older than what it is compiled with.
set -euo pipefail
cd "$ARTIFACTS/horovod"
python=/opt/ml/torch/bin/python
environment=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
site=$DESTDIR$environment

# PyTorch 2 is C++17; and an assignment in FlatBuffers that no compiler looked at before gcc 14.
sed -i 's/set(CMAKE_CXX_STANDARD 14)/set(CMAKE_CXX_STANDARD 17)/' CMakeLists.txt horovod/torch/CMakeLists.txt
sed -i 's/const size_type count_;/size_type count_;/' third_party/flatbuffers/include/flatbuffers/stl_emulation.h
# What it would fetch to be installed: cffi, which PyTorch has not asked for since 1.5.
sed -i '/setup_requires=/d' setup.py
# The wheel has NCCL's library by its full name alone, which linkers do not look for.
mkdir nccl
ln -s "$environment/nvidia/nccl/lib/libnccl.so.2" nccl/libnccl.so
export HOROVOD_NCCL_INCLUDE=$environment/nvidia/nccl/include HOROVOD_NCCL_LIB=$PWD/nccl HOROVOD_NCCL_LINK=SHARED
export HOROVOD_GPU=CUDA HOROVOD_GPU_OPERATIONS=NCCL HOROVOD_BUILD_CUDA_CC_LIST=70,80,90
if [[ -d /usr/local/cuda-12.8 ]]; then # EL, whose own compiler is 11; and where it has its compilers for MPI
        export HOROVOD_CUDA_HOME=/usr/local/cuda-12.8
        PATH=$PATH:/usr/local/cuda-12.8/bin:/usr/lib64/openmpi/bin
else # CUDA 12.4 knows compilers up to 13.
        export HOROVOD_CUDA_HOME=/usr/lib/nvidia-cuda-toolkit CC=gcc-13 CXX=g++-13
fi
export CXXFLAGS="-O2 -g0 -ffile-prefix-map=$PWD=horovod -include stdexcept -include cstdint" LDFLAGS="-Wl,-rpath,\$ORIGIN/../../nvidia/nccl/lib:\$ORIGIN/../../nvidia/cuda_runtime/lib"
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 MAKEFLAGS=-j$JOBS
$python setup.py build
mkdir -p "$site"
cp -r build/lib.*/horovod "$site/"
# For a framework that is not in the environment.
rm -r "$site/horovod/mxnet"
$python setup.py dist_info --output-dir "$site"
find "$site" -name '*.so' -exec strip {} +
$python -m compileall -q -j 1 --invalidation-mode unchecked-hash -s "$DESTDIR" "$site"
