/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/comm.h"
#include "ncclbench/clock.h"
#include "shared/strv.h"

#include <sched.h>

#define LOOK_INTERVAL_NSEC (50 * NSEC_PER_SEC / 1000) /* at the other processes, while waiting */

/* "Remote process exited" is what NCCL's sockets saw. Who exited says itself why, if we listen a
 * moment. */
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
        const char *last = g->nccl->GetLastError ? g->nccl->GetLastError(gpu ? gpu->comm : NULL)
                                                 : NULL;
        const char *text = g->nccl->GetErrorString(error);

        if (error == ncclRemoteError && somebody_else_failed(g, f))
                return -EIO;
        /* NCCL wraps what CUDA said; the node's trouble is then the driver's. */
        if (error == ncclUnhandledCudaError && last &&
                        strstr(last, "driver version is insufficient"))
                reason = REASON_DRIVER_LIBRARY_MISMATCH;
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

/* Waits until a communicator's asynchronous work is done. */
static int await_comm(Group *g, const Gpu *gpu, ncclComm_t comm, uint64_t deadline, Failure *f) {
        uint64_t look_at = now_nsec() + LOOK_INTERVAL_NSEC;

        for (;;) {
                ncclResult_t state = ncclSuccess, r = g->nccl->CommGetAsyncError(comm, &state);

                if (r != ncclSuccess && r != ncclInProgress)
                        return group_failed(g, gpu, r, REASON_NCCL_INIT_FAILED,
                                        "ncclCommGetAsyncError", f);
                if (r == ncclSuccess && state == ncclSuccess)
                        return 0;
                if (state != ncclSuccess && state != ncclInProgress)
                        return group_failed(g, gpu, state, REASON_NCCL_INIT_FAILED,
                                        "setting up the communicator", f);
                if (now_nsec() >= deadline)
                        return failure_set(f, REASON_NCCL_INIT_TIMEOUT,
                                        "rank %d (GPU %d, %s) is not connected to all %d ranks in time",
                                        gpu->rank, gpu->device, gpu->pci, g->ranks);
                if (now_nsec() >= look_at) {
                        if (rendezvous_look(g->rendezvous, f) < 0)
                                return -EIO;
                        look_at = now_nsec() + LOOK_INTERVAL_NSEC;
                }
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

        for (unsigned i = 0; i < g->n && (r == ncclSuccess || r == ncclInProgress); i++) {
                int k = gpu_use(g->cuda, &g->gpus[i], f);

                if (k < 0)
                        return k;
                r = create(g, &g->gpus[i], id);
        }
        end = g->nccl->GroupEnd();
        if (r == ncclSuccess || r == ncclInProgress)
                r = end;
        if (r != ncclSuccess && r != ncclInProgress)
                return group_failed(g, NULL, r, REASON_NCCL_INIT_FAILED, what, f);
        return 0;
}

int group_init(Group *g, const ncclUniqueId *id, uint64_t deadline, Failure *f) {
        int r;

        r = create_all(g, create_parent, id, "ncclCommInitRankConfig", f);
        for (unsigned i = 0; r >= 0 && i < g->n; i++)
                r = await_comm(g, &g->gpus[i], g->gpus[i].parent, deadline, f);
        if (r < 0)
                return r;

        if (!g->nccl->CommSplit) { /* before 2.18: right, if slow to start an operation */
                for (unsigned i = 0; i < g->n; i++)
                        g->gpus[i].comm = g->gpus[i].parent;
                return 0;
        }
        r = create_all(g, create_worker, id, "ncclCommSplit", f);
        for (unsigned i = 0; r >= 0 && i < g->n; i++) {
                r = await_comm(g, &g->gpus[i], g->gpus[i].parent, deadline, f);
                if (r >= 0 && !g->gpus[i].comm)
                        return failure_set(f, REASON_NCCL_INIT_FAILED,
                                        "ncclCommSplit gave no communicator");
                if (r >= 0)
                        r = await_comm(g, &g->gpus[i], g->gpus[i].comm, deadline, f);
        }
        return r;
}

int group_wait(Group *g, const char *what, uint64_t deadline, Failure *f) {
        uint64_t started = now_nsec(), look_at = started + LOOK_INTERVAL_NSEC;
        unsigned left = g->n;
        bool done[g->n];

        memset(done, 0, sizeof(done));
        while (left > 0) {
                bool idle = true;

                for (unsigned i = 0; i < g->n; i++) {
                        const Gpu *gpu = &g->gpus[i];
                        ncclResult_t state = ncclSuccess, r;
                        CUresult e;

                        if (done[i])
                                continue;
                        e = g->cuda->StreamQuery(gpu->stream);
                        if (e == CUDA_SUCCESS) {
                                done[i] = true;
                                left--;
                                idle = false;
                                continue;
                        }
                        if (e != CUDA_ERROR_NOT_READY) {
                                _cleanup_free_ char *text = cuda_error_text(g->cuda, e);

                                return failure_set(f, reason_from_cuda(e),
                                                "%s, rank %d (GPU %d, %s): %s", what, gpu->rank,
                                                gpu->device, gpu->pci, strempty(text));
                        }
                        if (!gpu->comm)
                                continue;
                        r = g->nccl->CommGetAsyncError(gpu->comm, &state);
                        if (r == ncclSuccess && state != ncclSuccess && state != ncclInProgress)
                                r = state;
                        if (r != ncclSuccess && r != ncclInProgress)
                                return group_failed(g, gpu, r, REASON_NCCL_ERROR, what, f);
                }
                if (!idle || left == 0)
                        continue;
                uint64_t now = now_nsec();
                if (now >= deadline)
                        return failure_set(f, REASON_NCCL_TIMEOUT,
                                        "%s: no end after %.1f s, when the time of the run was over",
                                        what, (double) (now - started) / 1e9);
                if (now >= look_at) {
                        if (rendezvous_look(g->rendezvous, f) < 0)
                                return -EIO;
                        look_at = now + LOOK_INTERVAL_NSEC;
                }
                sched_yield(); /* NCCL's own threads want the CPU too */
        }
        return 0;
}
