/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The communicators of this process's GPUs: set up, waited for, and aborted, each against a
 * deadline and with an ear for the other processes. */

#include "ncclbench/group.h"
#include "ncclbench/deadline.h"
#include "shared/duration.h"
#include "shared/strv.h"

#include <sched.h>

#define LOOK_INTERVAL_USEC (50 * USEC_PER_MSEC) /* at the other processes, while waiting */

/* "Remote process exited" is what NCCL's sockets saw. Who exited says itself why, if we listen for
 * a second. */
static bool somebody_else_failed(const Group *g, Failure *f) {
        for (int i = 0; g->rendezvous && i < 100; i++) {
                if (rendezvous_look(g->rendezvous, f) < 0)
                        return true;
                usleep(10000);
        }
        return false;
}

int group_failed(const Group *g, const Gpu *gpu, ncclResult_t error, Reason reason,
                const char *what, Failure *f) {
        const char *text = g->nccl->GetErrorString(error), *last = NULL;

        if (g->nccl->GetLastError)
                last = g->nccl->GetLastError(gpu ? gpu->comm : NULL);

        if (error == ncclRemoteError && somebody_else_failed(g, f))
                return -EIO;

        /* NCCL wraps what CUDA said; the node's trouble is then the driver's. */
        if (error == ncclUnhandledCudaError && last &&
                        strstr(last, "driver version is insufficient"))
                reason = REASON_DRIVER_LIBRARY_MISMATCH;
        if (error == ncclInvalidUsage && last && strstr(last, "Duplicate GPU"))
                reason = REASON_NCCL_DUPLICATE_GPU;

        if (!gpu)
                return failure_set(f, reason, "%s: %s%s%s", what, strempty(text),
                                isempty(last) ? "" : ": ", strempty(last));
        return failure_set(f, reason, "%s, rank %d (GPU %d, %s): %s%s%s", what, gpu->rank,
                        gpu->device, gpu->pci, strempty(text), isempty(last) ? "" : ": ",
                        strempty(last));
}

void group_abort(Group *g) {
        for (unsigned i = 0; i < g->n; i++) {
                Gpu *gpu = &g->gpus[i];

                if (gpu->comm && gpu->comm != gpu->parent)
                        g->nccl->CommAbort(gpu->comm);
                if (gpu->parent)
                        g->nccl->CommAbort(gpu->parent);
                gpu->comm = gpu->parent = NULL;
        }
}

/* Looks at the other processes, but not each time that it is called. */
static int look_now_and_then(Group *g, uint64_t now, uint64_t *look_at, Failure *f) {
        if (now < *look_at)
                return 0;
        *look_at = now + LOOK_INTERVAL_USEC;
        return rendezvous_look(g->rendezvous, f);
}

/* Where a communicator is with its asynchronous work: ncclSuccess, ncclInProgress or an error. */
static ncclResult_t comm_state(const Group *g, ncclComm_t comm) {
        ncclResult_t state = ncclSuccess, r = g->nccl->CommGetAsyncError(comm, &state);

        return r == ncclSuccess ? state : r;
}

/* Waits until a communicator's asynchronous work is done. */
static int await_comm(Group *g, const Gpu *gpu, ncclComm_t comm, uint64_t deadline, Failure *f) {
        uint64_t look_at = now_usec() + LOOK_INTERVAL_USEC;

        for (;;) {
                ncclResult_t state = comm_state(g, comm);
                uint64_t now = now_usec();

                if (state == ncclSuccess)
                        return 0;
                if (state != ncclInProgress)
                        return group_failed(g, gpu, state, REASON_NCCL_INIT_FAILED,
                                        "setting up the communicator", f);

                if (now >= deadline)
                        return failure_set(f, REASON_NCCL_INIT_TIMEOUT,
                                        "rank %d (GPU %d, %s) is not connected to all %d ranks in time",
                                        gpu->rank, gpu->device, gpu->pci, g->ranks);
                if (look_now_and_then(g, now, &look_at, f) < 0)
                        return -EIO;

                usleep(500);
        }
}

typedef ncclResult_t (*create_t)(Group *g, Gpu *gpu, const ncclUniqueId *id);

static ncclResult_t create_parent(Group *g, Gpu *gpu, const ncclUniqueId *id) {
        ncclConfig_t config = NCCL_CONFIG(0);

        return g->nccl->CommInitRankConfig(&gpu->parent, g->ranks, *id, gpu->rank, &config);
}

static ncclResult_t create_worker(Group *g, Gpu *gpu, const ncclUniqueId *id _unused_) {
        ncclConfig_t config = NCCL_CONFIG(1);

        return g->nccl->CommSplit(gpu->parent, 0, gpu->rank, &gpu->comm, &config);
}

/* One call a GPU, as a group: NCCL needs all of a process's ranks at once. */
static int create_all(
                Group *g, create_t create, const ncclUniqueId *id, const char *what, Failure *f) {
        ncclResult_t r = g->nccl->GroupStart(), end;

        for (unsigned i = 0; i < g->n && !nccl_failed(r); i++) {
                int k = gpu_use(g->cuda, &g->gpus[i], f);

                if (k < 0)
                        return k;
                r = create(g, &g->gpus[i], id);
        }

        end = g->nccl->GroupEnd();
        if (!nccl_failed(r))
                r = end;
        return nccl_failed(r) ? group_failed(g, NULL, r, REASON_NCCL_INIT_FAILED, what, f) : 0;
}

/* The communicators that are set up without blocking, watched and aborted. */
static int create_parents(Group *g, const ncclUniqueId *id, uint64_t deadline, Failure *f) {
        int r;

        r = create_all(g, create_parent, id, "ncclCommInitRankConfig", f);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < g->n; i++) {
                r = await_comm(g, &g->gpus[i], g->gpus[i].parent, deadline, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The communicators that the operations run on, split off from the parents. */
static int split_workers(Group *g, const ncclUniqueId *id, uint64_t deadline, Failure *f) {
        int r;

        r = create_all(g, create_worker, id, "ncclCommSplit", f);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < g->n; i++) {
                const Gpu *gpu = &g->gpus[i];

                r = await_comm(g, gpu, gpu->parent, deadline, f);
                if (r < 0)
                        return r;
                if (!gpu->comm)
                        return failure_set(f, REASON_NCCL_INIT_FAILED,
                                        "ncclCommSplit gave no communicator");

                r = await_comm(g, gpu, gpu->comm, deadline, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

int group_init(Group *g, const ncclUniqueId *id, uint64_t deadline, Failure *f) {
        int r;

        r = create_parents(g, id, deadline, f);
        if (r < 0)
                return r;
        if (g->nccl->CommSplit)
                return split_workers(g, id, deadline, f);

        /* Before 2.18 nothing can be split off: right, if slow to start an operation. */
        for (unsigned i = 0; i < g->n; i++)
                g->gpus[i].comm = g->gpus[i].parent;
        return 0;
}

/* Whether a GPU's stream is at rest: 1 or 0; or -EIO with what CUDA or NCCL says instead. */
static int gpu_at_rest(const Group *g, const Gpu *gpu, const char *what, Failure *f) {
        _cleanup_free_ char *text = NULL;
        ncclResult_t state;
        CUresult e;

        e = g->cuda->StreamQuery(gpu->stream);
        if (e == CUDA_SUCCESS)
                return 1;
        if (e != CUDA_ERROR_NOT_READY) {
                text = cuda_error_text(g->cuda, e);
                return failure_set(f, reason_from_cuda(e), "%s, rank %d (GPU %d, %s): %s", what,
                                gpu->rank, gpu->device, gpu->pci, strempty(text));
        }

        if (!gpu->comm)
                return 0;
        state = comm_state(g, gpu->comm);
        return nccl_failed(state) ? group_failed(g, gpu, state, REASON_NCCL_ERROR, what, f) : 0;
}

int group_wait(Group *g, const char *what, uint64_t deadline, Failure *f) {
        uint64_t started = now_usec(), look_at = started + LOOK_INTERVAL_USEC;
        char spent[FORMAT_DURATION_MAX];
        bool done[g->n];
        unsigned left = g->n;

        memset(done, 0, sizeof(done));
        while (left > 0) {
                unsigned before = left;
                uint64_t now;

                for (unsigned i = 0; i < g->n; i++) {
                        int r = done[i] ? 0 : gpu_at_rest(g, &g->gpus[i], what, f);

                        if (r < 0)
                                return r;
                        if (r > 0) {
                                done[i] = true;
                                left--;
                        }
                }
                if (left < before)
                        continue;

                now = now_usec();
                if (now >= deadline)
                        return failure_set(f, REASON_NCCL_TIMEOUT,
                                        "%s: no end after %s, when the time of the run was over",
                                        what, format_duration(spent, now - started));
                if (look_now_and_then(g, now, &look_at, f) < 0)
                        return -EIO;

                sched_yield(); /* NCCL's own threads want the CPU too */
        }
        return 0;
}
