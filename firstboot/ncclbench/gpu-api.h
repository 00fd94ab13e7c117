/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What ncclbench and the gpu step call of the CUDA driver and of NCCL, opened at run time.
 *
 * Neither headers nor libraries are needed to build, so every host builds the whole, and what is
 * measured is the NCCL that the machine has today, not the one of the day of the build.
 *
 * The driver API (libcuda.so.1) is used, not the CUDA runtime: libcuda comes with the driver and
 * is on every machine that can run anything, while libcudart's file name changes with each major
 * version of CUDA and NCCL brings its own inside. The two share a device's primary context and its
 * streams.
 *
 * Declarations are written from the public documentation: CUDA Driver API and NCCL User Guide. */

#include "shared/macro.h"

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef unsigned long long CUdeviceptr;

enum {
        CUDA_SUCCESS = 0,
        CUDA_ERROR_INVALID_VALUE = 1,
        CUDA_ERROR_OUT_OF_MEMORY = 2,
        CUDA_ERROR_STUB_LIBRARY = 34,
        CUDA_ERROR_NO_DEVICE = 100,
        CUDA_ERROR_INVALID_PTX = 218,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
        CUDA_ERROR_NOT_READY = 600,
        CUDA_ERROR_SYSTEM_NOT_READY = 802,
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
        CUDA_STREAM_NON_BLOCKING = 1,
        CUDA_CAPTURE_THREAD_LOCAL = 1,
        CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
};

typedef struct ncclComm *ncclComm_t;
typedef int ncclResult_t;
typedef struct ncclUniqueId {
        char internal[128];
} ncclUniqueId;

enum {
        ncclSuccess = 0,
        ncclUnhandledCudaError = 1,
        ncclSystemError = 2,
        ncclInternalError = 3,
        ncclInvalidArgument = 4,
        ncclInvalidUsage = 5,
        ncclRemoteError = 6,
        ncclInProgress = 7,
};

static inline bool nccl_failed(ncclResult_t r) {
        return r != ncclSuccess && r != ncclInProgress;
}

/* The first fields of ncclConfig_t, as NCCL 2.14 had it. NCCL reads as much as `size` and
 * `version` say, so this is right for every later version too. */
typedef struct ncclConfig_t {
        size_t size;
        unsigned magic;
        unsigned version;
        int blocking;
} ncclConfig_t;
#define NCCL_CONFIG(is_blocking)                                                     \
        (ncclConfig_t) {                                                             \
                .size = sizeof(ncclConfig_t), .magic = 0xcafebeef, .version = 21400, \
                .blocking = (is_blocking)                                            \
        }

/* NAME, SYMBOL in the library, arguments. */
#define CUDA_FUNCTIONS(F)                                                                         \
        F(Init, "cuInit", (unsigned) )                                                            \
        F(DriverGetVersion, "cuDriverGetVersion", (int *) )                                       \
        F(GetErrorName, "cuGetErrorName", (CUresult, const char **) )                             \
        F(GetErrorString, "cuGetErrorString", (CUresult, const char **) )                         \
        F(DeviceGetCount, "cuDeviceGetCount", (int *) )                                           \
        F(DeviceGet, "cuDeviceGet", (CUdevice *, int) )                                           \
        F(DeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                              \
        F(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, CUdevice))                      \
        F(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                     \
        F(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                  \
        F(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                          \
        F(CtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                          \
        F(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t) )                                    \
        F(MemFree, "cuMemFree_v2", (CUdeviceptr))                                                 \
        F(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))       \
        F(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t) )                          \
        F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))  \
        F(MemAllocHost, "cuMemAllocHost_v2", (void **, size_t) )                                  \
        F(MemFreeHost, "cuMemFreeHost", (void *) )                                                \
        F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream)) \
        F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))       \
        F(ModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *) )                        \
        F(ModuleUnload, "cuModuleUnload", (CUmodule))                                             \
        F(ModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *) )      \
        F(LaunchKernel, "cuLaunchKernel",                                                         \
                        (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                                        unsigned, CUstream, void **, void **) )                   \
        F(EventCreate, "cuEventCreate", (CUevent *, unsigned) )                                   \
        F(EventRecord, "cuEventRecord", (CUevent, CUstream))                                      \
        F(EventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))                    \
        F(EventDestroy, "cuEventDestroy_v2", (CUevent))                                           \
        F(StreamCreate, "cuStreamCreate", (CUstream *, unsigned) )                                \
        F(StreamQuery, "cuStreamQuery", (CUstream))                                               \
        F(StreamDestroy, "cuStreamDestroy_v2", (CUstream))                                        \
        F(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *, CUdevice, CUdevice))              \
        F(CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CUcontext, unsigned) )                   \
        F(MemcpyPeerAsync, "cuMemcpyPeerAsync",                                                   \
                        (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))

/* What older drivers lack; NULL there. Graphs came with CUDA 10, in this form with 11.4. */
#define CUDA_LATER_FUNCTIONS(F)                                            \
        F(StreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int) ) \
        F(StreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *) )  \
        F(GraphInstantiate, "cuGraphInstantiateWithFlags",                 \
                        (CUgraphExec *, CUgraph, unsigned long long) )     \
        F(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))           \
        F(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))           \
        F(GraphDestroy, "cuGraphDestroy", (CUgraph))

/* As above and the NCCL version that brought the function: 0 where it must be there. */
#define NCCL_FUNCTIONS(F)                                                                      \
        F(GetVersion, "ncclGetVersion", 0, ncclResult_t, (int *) )                             \
        F(GetErrorString, "ncclGetErrorString", 0, const char *, (ncclResult_t))               \
        F(GetLastError, "ncclGetLastError", 21300, const char *, (ncclComm_t))                 \
        F(GetUniqueId, "ncclGetUniqueId", 0, ncclResult_t, (ncclUniqueId *) )                  \
        F(CommInitRankConfig, "ncclCommInitRankConfig", 0, ncclResult_t,                       \
                        (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *) )               \
        F(CommSplit, "ncclCommSplit", 21800, ncclResult_t,                                     \
                        (ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *) )                 \
        F(CommGetAsyncError, "ncclCommGetAsyncError", 0, ncclResult_t,                         \
                        (ncclComm_t, ncclResult_t *) )                                         \
        F(CommFinalize, "ncclCommFinalize", 0, ncclResult_t, (ncclComm_t))                     \
        F(CommDestroy, "ncclCommDestroy", 0, ncclResult_t, (ncclComm_t))                       \
        F(CommAbort, "ncclCommAbort", 0, ncclResult_t, (ncclComm_t))                           \
        F(GroupStart, "ncclGroupStart", 0, ncclResult_t, (void) )                              \
        F(GroupEnd, "ncclGroupEnd", 0, ncclResult_t, (void) )                                  \
        F(AllReduce, "ncclAllReduce", 0, ncclResult_t,                                         \
                        (const void *, void *, size_t, int, int, ncclComm_t, CUstream))        \
        F(AllGather, "ncclAllGather", 0, ncclResult_t,                                         \
                        (const void *, void *, size_t, int, ncclComm_t, CUstream))             \
        F(ReduceScatter, "ncclReduceScatter", 0, ncclResult_t,                                 \
                        (const void *, void *, size_t, int, int, ncclComm_t, CUstream))        \
        F(Broadcast, "ncclBroadcast", 0, ncclResult_t,                                         \
                        (const void *, void *, size_t, int, int, ncclComm_t, CUstream))        \
        F(Reduce, "ncclReduce", 0, ncclResult_t,                                               \
                        (const void *, void *, size_t, int, int, int, ncclComm_t, CUstream))   \
        F(AlltoAll, "ncclAlltoAll", 22800, ncclResult_t,                                       \
                        (const void *, void *, size_t, int, ncclComm_t, CUstream))             \
        F(Gather, "ncclGather", 22800, ncclResult_t,                                           \
                        (const void *, void *, size_t, int, int, ncclComm_t, CUstream))        \
        F(Scatter, "ncclScatter", 22800, ncclResult_t,                                         \
                        (const void *, void *, size_t, int, int, ncclComm_t, CUstream))        \
        F(CommRegister, "ncclCommRegister", 21900, ncclResult_t,                               \
                        (ncclComm_t, void *, size_t, void **) )                                \
        F(CommWindowRegister, "ncclCommWindowRegister", 22700, ncclResult_t,                   \
                        (ncclComm_t, void *, size_t, void **, int) )                           \
        F(Send, "ncclSend", 0, ncclResult_t,                                                   \
                        (const void *, size_t, int, int, ncclComm_t, CUstream))                \
        F(Recv, "ncclRecv", 0, ncclResult_t, (void *, size_t, int, int, ncclComm_t, CUstream)) \
        F(MemAlloc, "ncclMemAlloc", 21900, ncclResult_t, (void **, size_t) )                   \
        F(MemFree, "ncclMemFree", 21900, ncclResult_t, (void *) )

typedef struct CudaApi {
#define CUDA_MEMBER(name, symbol, arguments) CUresult(*name) arguments;
        CUDA_FUNCTIONS(CUDA_MEMBER)
        CUDA_LATER_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
        void *handle;
        int version; /* of CUDA that the driver speaks: 13000 is 13.0 */
} CudaApi;

typedef struct NcclApi {
#define NCCL_MEMBER(name, symbol, since, result, arguments) result(*name) arguments;
        NCCL_FUNCTIONS(NCCL_MEMBER)
#undef NCCL_MEMBER
        void *handle;
        int version; /* 22809 is 2.28.9 */
        char *path;  /* the file that was loaded */
} NcclApi;

/* Both return 0; -ENOENT where the library cannot be loaded, -ENOSYS where it lacks a function;
 * then *ret_error is a text for people, the caller's to free. A library once loaded stays. */
int cuda_api_load(const char *library, CudaApi *ret, char **ret_error);
int nccl_api_load(const char *library, NcclApi *ret, char **ret_error);

/* "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"; the caller frees it. */
char *cuda_error_text(const CudaApi *cuda, CUresult error);
