/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens a GPU, fills and checks its buffers by kernels. */

#include "ncclbench/gpu.h"
#include "ncclbench/types.h"

/* The kernels in kernels.cu, as PTX that the driver compiles for the GPU it finds. */
const char gpu_kernels_ptx[] =
#include "ncclbench/kernels.ptx.inc"
                ;
const size_t gpu_kernels_ptx_size = sizeof(gpu_kernels_ptx);

#define BLOCK_THREADS 256
#define BLOCKS_PER_MULTIPROCESSOR 8

/* Names the call and the device, so that a message leads to a GPU. */
static int cuda_failure(
                const CudaApi *cuda, CUresult error, const char *call, const Gpu *gpu, Failure *f) {
        _cleanup_free_ char *text = cuda_error_text(cuda, error);

        if (!gpu)
                return failure_set(f, reason_from_cuda(error), "%s: %s", call, strempty(text));
        return failure_set(f, reason_from_cuda(error), "%s on GPU %d%s%s%s: %s", call, gpu->device,
                        gpu->pci[0] ? " (" : "", gpu->pci, gpu->pci[0] ? ")" : "", strempty(text));
}

#define TRY(cuda, gpu, f, name, ...)                                       \
        do {                                                               \
                CUresult _e = (cuda)->name(__VA_ARGS__);                   \
                if (_e != CUDA_SUCCESS)                                    \
                        return cuda_failure(cuda, _e, "cu" #name, gpu, f); \
        } while (0)

int gpu_count(const CudaApi *cuda, unsigned *ret, Failure *f) {
        int n = 0;

        TRY(cuda, NULL, f, Init, 0);
        TRY(cuda, NULL, f, DeviceGetCount, &n);
        if (n <= 0)
                return failure_set(f, REASON_CUDA_NO_DEVICE, "CUDA sees no GPU");
        *ret = (unsigned) n;
        return 0;
}

int gpu_open(const CudaApi *cuda, Gpu *gpu, Failure *f) {
        TRY(cuda, gpu, f, DeviceGet, &gpu->handle, gpu->device);
        TRY(cuda, gpu, f, DeviceGetName, gpu->name, (int) sizeof(gpu->name), gpu->handle);
        TRY(cuda, gpu, f, DeviceGetPCIBusId, gpu->pci, (int) sizeof(gpu->pci), gpu->handle);
        TRY(cuda, gpu, f, DeviceGetAttribute, &gpu->multiprocessors,
                        CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->handle);
        TRY(cuda, gpu, f, DeviceGetAttribute, &gpu->compute_major,
                        CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->handle);
        /* The primary context is the one that the CUDA runtime inside NCCL uses too. */
        TRY(cuda, gpu, f, PrimaryCtxRetain, &gpu->context, gpu->handle);
        TRY(cuda, gpu, f, CtxSetCurrent, gpu->context);
        TRY(cuda, gpu, f, StreamCreate, &gpu->stream, CUDA_STREAM_NON_BLOCKING);
        TRY(cuda, gpu, f, ModuleLoadData, &gpu->module, gpu_kernels_ptx);
        TRY(cuda, gpu, f, ModuleGetFunction, &gpu->fill, gpu->module, "ncclbench_fill");
        TRY(cuda, gpu, f, ModuleGetFunction, &gpu->check, gpu->module, "ncclbench_check");
        TRY(cuda, gpu, f, MemAlloc, &gpu->found, 2 * sizeof(uint64_t));
        TRY(cuda, gpu, f, MemAlloc, &gpu->scratch, 16);
        return 0;
}

int gpu_use(const CudaApi *cuda, const Gpu *gpu, Failure *f) {
        TRY(cuda, gpu, f, CtxSetCurrent, gpu->context);
        return 0;
}

int gpu_allocate(const CudaApi *cuda, const NcclApi *nccl, Gpu *gpu, size_t bytes, Failure *f) {
        void **buffers[] = { &gpu->send, &gpu->receive };
        int r;

        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        bytes = MAX(bytes, (size_t) 16);
        for (size_t i = 0; i < ELEMENTSOF(buffers); i++) {
                CUdeviceptr p = 0;

                if (nccl->MemAlloc && nccl->MemFree &&
                                nccl->MemAlloc(buffers[i], bytes) == ncclSuccess)
                        continue;
                CUresult e = cuda->MemAlloc(&p, bytes);
                if (e == CUDA_ERROR_OUT_OF_MEMORY)
                        return failure_set(f, REASON_CUDA_OUT_OF_MEMORY,
                                        "GPU %d (%s) has no room for two buffers of %zu bytes",
                                        gpu->device, gpu->pci, bytes);
                if (e != CUDA_SUCCESS)
                        return cuda_failure(cuda, e, "cuMemAlloc", gpu, f);
                *buffers[i] = (void *) (uintptr_t) p;
        }
        gpu->bytes = bytes;
        return 0;
}

static int launch(const CudaApi *cuda, const Gpu *gpu, CUfunction function, uint64_t count,
                void **arguments, Failure *f) {
        uint64_t blocks = (count + BLOCK_THREADS - 1) / BLOCK_THREADS;
        unsigned most = (unsigned) MAX(gpu->multiprocessors, 1) * BLOCKS_PER_MULTIPROCESSOR;
        int r;

        if (count == 0)
                return 0;
        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        TRY(cuda, gpu, f, LaunchKernel, function, blocks < most ? (unsigned) blocks : most, 1, 1,
                        BLOCK_THREADS, 1, 1, 0, gpu->stream, arguments, NULL);
        return 0;
}

int gpu_fill(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, void *data, Failure *f) {
        PatternJob copy = *job;
        void *arguments[] = { &copy, &data };

        return launch(cuda, gpu, gpu->fill, job->count, arguments, f);
}

int gpu_poison(const CudaApi *cuda, const Gpu *gpu, void *data, size_t bytes, Failure *f) {
        int r;

        if (bytes == 0)
                return 0;
        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        /* All ones: not a number in every float type, so what NCCL never wrote never matches. */
        TRY(cuda, gpu, f, MemsetD8Async, (CUdeviceptr) (uintptr_t) data, 0xff, bytes, gpu->stream);
        return 0;
}

int gpu_check_start(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, const void *data,
                Failure *f) {
        PatternJob copy = *job;
        CUdeviceptr found = gpu->found;
        void *arguments[] = { &copy, &data, &found };
        int r;

        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        /* On the stream: a copy from the host may still be under way when the kernel starts. */
        TRY(cuda, gpu, f, MemsetD8Async, gpu->found, 0, sizeof(uint64_t), gpu->stream);
        TRY(cuda, gpu, f, MemsetD8Async, gpu->found + sizeof(uint64_t), 0xff, sizeof(uint64_t),
                        gpu->stream);
        return launch(cuda, gpu, gpu->check, job->count, arguments, f);
}

int gpu_check_result(const CudaApi *cuda, const Gpu *gpu, const PatternJob *job, const void *data,
                GpuCheck *ret, Failure *f) {
        uint64_t found[2];
        GpuCheck c = {};
        int r;

        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        TRY(cuda, gpu, f, MemcpyDtoH, found, gpu->found, sizeof(found));
        c.wrong = found[0];
        if (c.wrong > 0) {
                unsigned size = pattern_size(job->type);

                c.first = found[1];
                c.want = pattern_expected(job, c.first);
                TRY(cuda, gpu, f, MemcpyDtoH, &c.got,
                                (CUdeviceptr) (uintptr_t) data + c.first * size, size);
        }
        *ret = c;
        return 0;
}

int gpu_corrupt(const CudaApi *cuda, const Gpu *gpu, unsigned type, void *data, uint64_t element,
                Failure *f) {
        /* The highest byte's highest bit but the sign: a value far off in every type. */
        CUdeviceptr p = (CUdeviceptr) (uintptr_t) data + (element + 1) * pattern_size(type) - 1;
        uint8_t byte;
        int r;

        r = gpu_use(cuda, gpu, f);
        if (r < 0)
                return r;
        TRY(cuda, gpu, f, MemcpyDtoH, &byte, p, 1);
        TRY(cuda, gpu, f, MemsetD8Async, p, byte ^ 0x40, 1, gpu->stream);
        return 0;
}
