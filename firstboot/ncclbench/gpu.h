/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One GPU of this process: context, stream, the two kernels and the buffers. */

#include "ncclbench/gpu-api.h"
#include "ncclbench/pattern.h"
#include "ncclbench/reason.h"

typedef struct Gpu {
        int device; /* CUDA's number */
        int rank;
        CUdevice handle;
        CUcontext context;
        CUstream stream;
        CUmodule module;
        CUfunction fill, check;
        CUdeviceptr found;   /* two uint64_t: see kernels.cu */
        CUdeviceptr scratch; /* 16 bytes for barriers */
        int multiprocessors, compute_major;
        char name[96];
        char pci[16]; /* "0000:1b:00.0" */

        void *send, *receive;
        size_t bytes;
        ncclComm_t parent; /* non-blocking: set up, watched, aborted */
        ncclComm_t comm;   /* what operations run on: see group.c */
} Gpu;

typedef struct GpuCheck {
        uint64_t wrong;
        uint64_t first;     /* element, where wrong > 0 */
        uint64_t got, want; /* its bits */
} GpuCheck;

/* cuInit and the number of GPUs. The Failure is set on -EIO, here and below. */
int gpu_count(const CudaApi *cuda, unsigned *ret, Failure *f);

/* `gpu` has device and rank set. */
int gpu_open(const CudaApi *cuda, Gpu *gpu, Failure *f);

/* Buffers of `bytes` each, from NCCL's allocator where it has one (as nccl-tests), else CUDA's. */
int gpu_allocate(const CudaApi *cuda, const NcclApi *nccl, Gpu *gpu, size_t bytes, Failure *f);

/* The kernels as the text that the driver compiles. */
extern const char gpu_kernels_ptx[];
extern const size_t gpu_kernels_ptx_size; /* with its NUL */

/* Makes its context the current one. */
int gpu_use(const CudaApi *cuda, const Gpu *gpu, Failure *f);

/* Both only start the work on the GPU's stream. */
int gpu_fill(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, void *data, Failure *f);
int gpu_poison(const CudaApi *cuda, const Gpu *gpu, void *data, size_t bytes, Failure *f);
int gpu_check_start(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, const void *data,
                Failure *f);

/* After the stream has come to rest. */
int gpu_check_result(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, const void *data,
                GpuCheck *ret, Failure *f);

/* Changes the bits of one element: the self-test of the check. */
int gpu_corrupt(const CudaApi *cuda, const Gpu *gpu, unsigned type, void *data, uint64_t element,
                Failure *f);
