/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Communicators that cannot hang us.
 *
 * They are set up non-blocking (ncclCommInitRankConfig, blocking=0): each call returns at once,
 * and we poll ncclCommGetAsyncError against a deadline. An operation on a non-blocking
 * communicator, though, starts a thread of NCCL's each time, which would be most of what a latency
 * test measures. So the operations run on a second communicator, split off (ncclCommSplit) with
 * blocking=1: its calls only enqueue, and the waiting for the GPUs is again ours, with a deadline.
 * What may still block is a first operation that has to open connections; for that there is the
 * supervisor. */

#include "ncclbench/gpu.h"
#include "ncclbench/rendezvous.h"

typedef struct Group {
        const CudaApi *cuda;
        const NcclApi *nccl;
        Rendezvous *rendezvous; /* looked at while waiting; may be NULL */
        Gpu *gpus;
        unsigned n;
        int ranks; /* of the whole run */
} Group;

/* Creates the communicators of all GPUs of this process. Sets nccl.init-timeout or
 * nccl.init-failed. */
int group_init(Group *g, const ncclUniqueId *id, uint64_t deadline, Failure *f);

/* Waits until all streams are at rest. `what` is for the message. Aborts the communicators on an
 * error of NCCL's, of another process or at the deadline (nccl.timeout). */
int group_wait(Group *g, const char *what, uint64_t deadline, Failure *f);

/* nccl.error with NCCL's own last words. */
int group_failed(const Group *g, const Gpu *gpu, ncclResult_t error, Reason reason,
                const char *what, Failure *f);

void group_abort(Group *g);
