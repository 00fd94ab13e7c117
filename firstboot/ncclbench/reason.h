/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why a run failed: stable codes that scripts, the node's gate and sinfo -R carry, each with what
 * to do next. docs/ncclbench.md lists every one (a test sees to it). */

#include "shared/macro.h"

typedef enum Reason {
        REASON_NONE,
        REASON_CUDA_NO_DRIVER,
        REASON_CUDA_NO_DEVICE,
        REASON_CUDA_FABRIC_NOT_READY,
        REASON_CUDA_OUT_OF_MEMORY,
        REASON_CUDA_TIMEOUT,
        REASON_CUDA_ERROR,
        REASON_CUDA_WRONG_RESULT,
        REASON_CUDA_RUNTIME_MISSING,
        REASON_CUDA_RUNTIME_DOUBLED,
        REASON_CUDA_RUNTIME_TOO_NEW,
        REASON_CUDA_RUNTIME_ERROR,
        REASON_DRIVER_LIBRARY_MISMATCH,
        REASON_NCCL_NO_LIBRARY,
        REASON_NCCL_TOO_OLD,
        REASON_NCCL_INIT_FAILED,
        REASON_NCCL_DUPLICATE_GPU,
        REASON_NCCL_INIT_TIMEOUT,
        REASON_NCCL_TIMEOUT,
        REASON_NCCL_ERROR,
        REASON_NCCL_WRONG_RESULT,
        REASON_NCCL_SLOW,
        REASON_RENDEZVOUS_TIMEOUT,
        REASON_RENDEZVOUS_REFUSED,
        REASON_RENDEZVOUS_ERROR,
        REASON_PEER_FAILED,
        REASON_PAIRS_NO_REFERENCE,
        REASON_WORKER_DIED,
        REASON_WORKER_STUCK,
        REASON_INTERRUPTED,
        REASON_INTERNAL,
        _REASON_MAX,
} Reason;

typedef struct ReasonInfo {
        const char *code;
        const char *summary;
        const char *advice;
} ReasonInfo;

extern const ReasonInfo reason_table[_REASON_MAX];

Reason reason_from_code(const char *code); /* REASON_INTERNAL where unknown, REASON_NONE for NULL */

/* Maps what CUDA answered. */
Reason reason_from_cuda(int error);

/* A failure on its way up: set once by who knows the context, with a text of its own. */
typedef struct Failure {
        Reason reason;
        char *text;
} Failure;

/* Keeps the first reason set and drops later ones. Returns -EIO, so that `return failure_set (…)`
 * ends a function. */
int failure_set(Failure *f, Reason reason, const char *format, ...) _printf_(3, 4);
void failure_done(Failure *f);
#define _cleanup_failure_ _cleanup_(failure_done)
