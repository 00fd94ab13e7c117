/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the examples call of CUDA's runtime and of NCCL. An image has both libraries and no headers
 * of theirs; where there are headers, those are used, and the compiler holds the declarations below
 * against them. */

#include <stddef.h>

#if __has_include(<cuda_runtime_api.h>) && __has_include(<nccl.h>)
#include <cuda_runtime_api.h>
#include <nccl.h>

_Static_assert(cudaSuccess == 0 && ncclSuccess == 0, "success is 0");
_Static_assert(cudaMemcpyHostToDevice == 1 && cudaMemcpyDeviceToHost == 2, "directions of copies");
_Static_assert(ncclInt64 == 4 && ncclSum == 0, "NCCL's numbers of types and operations");
_Static_assert(sizeof(ncclUniqueId) == 128, "NCCL's identifiers");
#else
typedef enum cudaError { cudaSuccess = 0 } cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
typedef struct CUstream_st *cudaStream_t;

typedef struct ncclComm *ncclComm_t;
typedef struct {
        char internal[128];
} ncclUniqueId;
typedef enum { ncclSuccess = 0 } ncclResult_t;
typedef enum { ncclInt64 = 4 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;
#endif

extern const char *cudaGetErrorString(cudaError_t error);
extern cudaError_t cudaGetDeviceCount(int *count);
extern cudaError_t cudaSetDevice(int device);
extern cudaError_t cudaMalloc(void **p, size_t size);
extern cudaError_t cudaFree(void *p);
extern cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
extern cudaError_t cudaStreamCreate(cudaStream_t *stream);
extern cudaError_t cudaStreamSynchronize(cudaStream_t stream);
extern cudaError_t cudaStreamDestroy(cudaStream_t stream);

extern const char *ncclGetErrorString(ncclResult_t result);
extern const char *ncclGetLastError(ncclComm_t comm);
extern ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
extern ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices);
extern ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
extern ncclResult_t ncclCommDestroy(ncclComm_t comm);
extern ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
extern ncclResult_t ncclGroupStart(void);
extern ncclResult_t ncclGroupEnd(void);
