/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls a CUDA runtime as a program does that nvcc compiled: its kernel is registered as a fat
 * binary in front of main(), and launched by the address of a function of the host. The functions
 * for that are no documented ones, but every such program calls them, from CUDA 9.2 to 13.
 *
 * Declarations are written from the CUDA Runtime API's documentation, the shape of a fat binary
 * from what nvcc and fatbinary of CUDA 13.0 write. */

#include "ncclbench/pattern-host.h"
#include "ncclbench/runtime.h"
#include "shared/strv.h"

#include <dlfcn.h>

#define ELEMENTS 4096

typedef int cudaError_t;
typedef struct Dim3 {
        unsigned x, y, z;
} Dim3;

enum {
        CUDA_MEMCPY_HOST_TO_DEVICE = 1,
        CUDA_MEMCPY_DEVICE_TO_HOST = 2,
        CUDA_ERROR_INSUFFICIENT_DRIVER = 35,
};

/* NAME, SYMBOL, result, arguments. */
#define RUNTIME_FUNCTIONS(F)                                                                       \
        F(RuntimeGetVersion, "cudaRuntimeGetVersion", cudaError_t, (int *) )                       \
        F(DriverGetVersion, "cudaDriverGetVersion", cudaError_t, (int *) )                         \
        F(GetErrorString, "cudaGetErrorString", const char *, (cudaError_t))                       \
        F(GetDeviceCount, "cudaGetDeviceCount", cudaError_t, (int *) )                             \
        F(SetDevice, "cudaSetDevice", cudaError_t, (int) )                                         \
        F(Malloc, "cudaMalloc", cudaError_t, (void **, size_t) )                                   \
        F(Free, "cudaFree", cudaError_t, (void *) )                                                \
        F(Memcpy, "cudaMemcpy", cudaError_t, (void *, const void *, size_t, int) )                 \
        F(DeviceSynchronize, "cudaDeviceSynchronize", cudaError_t, (void) )                        \
        F(LaunchKernel, "cudaLaunchKernel", cudaError_t,                                           \
                        (const void *, Dim3, Dim3, void **, size_t, void *) )                      \
        F(RegisterFatBinary, "__cudaRegisterFatBinary", void **, (void *) )                        \
        F(RegisterFatBinaryEnd, "__cudaRegisterFatBinaryEnd", void, (void **) )                    \
        F(RegisterFunction, "__cudaRegisterFunction", void,                                        \
                        (void **, const char *, char *, const char *, int, void *, void *, void *, \
                                        void *, int *) )

typedef struct RuntimeApi {
#define RUNTIME_MEMBER(name, symbol, result, arguments) result(*name) arguments;
        RUNTIME_FUNCTIONS(RUNTIME_MEMBER)
#undef RUNTIME_MEMBER
} RuntimeApi;

static const struct {
        const char *name;
        size_t offset;
} symbols[] = {
#define RUNTIME_SYMBOL(name, symbol, result, arguments) { symbol, offsetof(RuntimeApi, name) },
        RUNTIME_FUNCTIONS(RUNTIME_SYMBOL)
#undef RUNTIME_SYMBOL
};

static int load(const char *library, RuntimeApi *ret, Failure *f) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

        if (!handle)
                return failure_set(f, REASON_CUDA_RUNTIME_ERROR, "%s", dlerror());
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                void *function = dlsym(handle, symbols[i].name);

                if (!function)
                        return failure_set(f, REASON_CUDA_RUNTIME_ERROR, "%s has no %s", library,
                                        symbols[i].name);
                memcpy((char *) ret + symbols[i].offset, &function, sizeof(function));
        }
        return 0;
}

typedef struct FatBinary {
        struct {
                uint32_t magic;
                uint16_t version, header_size;
                uint64_t size; /* of what follows */
        } header;
        struct {
                uint16_t kind, version;
                uint32_t header_size;
                uint64_t size;
                uint32_t compressed_size, options_offset;
                uint16_t ptx_minor, ptx_major;
                uint32_t architecture;
                uint32_t name_offset, name_size;
                uint64_t flags, reserved, uncompressed_size;
                uint64_t options, options_end;
        } entry;
        char ptx[];
} FatBinary;

typedef struct FatWrapper {
        uint32_t magic, version;
        const void *data;
        void *file;
} FatWrapper;

/* Our kernels as PTX 6.0 for compute capability 7.0 (kernels.cu), wrapped. The caller keeps it. */
static FatBinary *make_fat_binary(void) {
        size_t size = (gpu_kernels_ptx_size + 7) & ~(size_t) 7;
        FatBinary *b = calloc(1, sizeof(*b) + size);

        if (!b)
                return NULL;
        b->header.magic = 0xba55ed50;
        b->header.version = 1;
        b->header.header_size = sizeof(b->header);
        b->header.size = sizeof(b->entry) + size;
        b->entry.kind = 1; /* PTX */
        b->entry.version = 0x101;
        b->entry.header_size = sizeof(b->entry);
        b->entry.size = size;
        b->entry.options_offset = offsetof(FatBinary, entry.options) - sizeof(b->header);
        b->entry.ptx_major = 6;
        b->entry.architecture = 70;
        b->entry.flags = 0x11; /* 64 bits, Linux */
        b->entry.options = offsetof(FatBinary, entry.options_end) - sizeof(b->header);
        memcpy(b->ptx, gpu_kernels_ptx, gpu_kernels_ptx_size);
        return b;
}

/* What stands for the kernel on the host. */
static void fill_on_host(void) {
}

static int register_kernel(const RuntimeApi *api, Failure *f) {
        /* The runtime keeps both until the process ends. */
        FatWrapper *wrapper = calloc(1, sizeof(*wrapper));
        FatBinary *binary = make_fat_binary();
        static char name[] = "ncclbench_fill";
        void **handle;

        if (!wrapper || !binary) {
                free(wrapper);
                free(binary);
                return failure_set(f, REASON_INTERNAL, "out of memory");
        }
        *wrapper = (FatWrapper) { .magic = 0x466243b1, .version = 1, .data = binary };
        handle = api->RegisterFatBinary(wrapper);
        api->RegisterFunction(handle, (const char *) fill_on_host, name, "ncclbench_fill", -1, NULL,
                        NULL, NULL, NULL, NULL);
        api->RegisterFatBinaryEnd(handle);
        return 0;
}

static int said(const RuntimeApi *api, const char *library, cudaError_t e, const char *call,
                int device, Failure *f) {
        Reason reason = e == CUDA_ERROR_INSUFFICIENT_DRIVER ? REASON_CUDA_RUNTIME_TOO_NEW
                                                            : reason_from_cuda(e);

        if (reason == REASON_CUDA_ERROR)
                reason = REASON_CUDA_RUNTIME_ERROR;
        if (device < 0)
                return failure_set(f, reason, "%s of %s: %s (%d)", call, library,
                                strempty(api->GetErrorString(e)), e);
        return failure_set(f, reason, "%s of %s on GPU %d: %s (%d)", call, library, device,
                        strempty(api->GetErrorString(e)), e);
}

#define TRY(name, ...)                                                          \
        do {                                                                    \
                cudaError_t _e = api->name(__VA_ARGS__);                        \
                if (_e != 0)                                                    \
                        return said(api, library, _e, "cuda" #name, device, f); \
        } while (0)

static int ask_versions(
                const RuntimeApi *api, const char *library, RuntimeVersions *v, Failure *f) {
        int device = -1;

        TRY(RuntimeGetVersion, &v->runtime);
        TRY(DriverGetVersion, &v->driver);
        if (v->driver == 0)
                return failure_set(f, REASON_CUDA_NO_DRIVER,
                                "%s finds no CUDA driver (libcuda.so.1)", library);

        /* Within a major version an older driver serves ("CUDA minor version compatibility"). */
        if (v->runtime / 1000 > v->driver / 1000)
                return failure_set(f, REASON_CUDA_RUNTIME_TOO_NEW,
                                "%s is CUDA %d.%d, the driver is for CUDA %d.%d", library,
                                v->runtime / 1000, v->runtime % 1000 / 10, v->driver / 1000,
                                v->driver % 1000 / 10);
        TRY(GetDeviceCount, &v->devices);
        if (v->devices < 1)
                return failure_set(f, REASON_CUDA_NO_DEVICE, "%s sees no GPU", library);
        return 0;
}

static int compare(const char *library, const uint64_t *data, const PatternJob *job, int device,
                Failure *f) {
        for (uint64_t i = 0; i < ELEMENTS; i++)
                if (data[i] != pattern_expected(job, i))
                        return failure_set(f, REASON_CUDA_RUNTIME_ERROR,
                                        "what a kernel launched by %s left on GPU %d is wrong",
                                        library, device);
        return 0;
}

/* Zeros go to the GPU, a kernel fills in the pattern, and the pattern comes back. */
static int work_on(
                const RuntimeApi *api, const char *library, int device, void *memory, Failure *f) {
        PatternJob job = { .count = ELEMENTS,
                .type = TYPE_UINT64,
                .op = OP_NONE,
                .ranks = 1,
                .stride = 1,
                .seed = 99,
                .rank = (uint32_t) device };
        void *arguments[] = { &job, &memory };
        uint64_t data[ELEMENTS] = {};

        TRY(Memcpy, memory, data, sizeof(data), CUDA_MEMCPY_HOST_TO_DEVICE);
        TRY(LaunchKernel, (const void *) fill_on_host, (Dim3) { 16, 1, 1 }, (Dim3) { 256, 1, 1 },
                        arguments, 0, NULL);
        TRY(DeviceSynchronize);
        TRY(Memcpy, data, memory, sizeof(data), CUDA_MEMCPY_DEVICE_TO_HOST);
        return compare(library, data, &job, device, f);
}

static int prove_on(const RuntimeApi *api, const char *library, int device, Failure *f) {
        void *memory = NULL;
        int r;

        TRY(SetDevice, device);
        TRY(Malloc, &memory, ELEMENTS * sizeof(uint64_t));
        r = work_on(api, library, device, memory, f);
        if (r < 0)
                return r;
        TRY(Free, memory);
        return 0;
}

int runtime_call(const char *library, RuntimeVersions *ret, Failure *f) {
        RuntimeVersions v = {};
        RuntimeApi api = {};
        int r;

        r = load(library, &api, f);
        if (r < 0)
                return r;
        r = ask_versions(&api, library, &v, f);
        *ret = v;
        if (r < 0)
                return r;
        r = register_kernel(&api, f);
        if (r < 0)
                return r;
        for (int i = 0; i < v.devices; i++) {
                r = prove_on(&api, library, i, f);
                if (r < 0)
                        return r;
        }
        *ret = v;
        return 0;
}
