/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Starts one operation on all GPUs of this process, waits for it, and meets the other processes. */

#include "ncclbench/start.h"
#include "ncclbench/deadline.h"

static void row_text(const Row *row, bool in_place, char *text, size_t size) {
        snprintf(text, size, "%s %s%s%s %zu bytes %s", row->collective->name,
                        type_table[row->type].name, row->op == OP_NONE ? "" : " ",
                        row->op == OP_NONE ? "" : op_names[row->op],
                        layout_bytes(&row->layout, type_table[row->type].size),
                        in_place ? "in place" : "out of place");
}

static size_t row_bytes(const Row *row) {
        return layout_bytes(&row->layout, type_table[row->type].size);
}

/* Where rank's operation reads and writes. Small operations walk through the buffer from one
 * iteration to the next, so that they do not all hit the same cache lines. */
void row_buffers(const Worker *w, const Row *row, const Gpu *gpu, bool in_place, unsigned iteration,
                char **ret_send, char **ret_receive) {
        size_t bytes = row_bytes(row), size = type_table[row->type].size, rank = (size_t) gpu->rank;
        size_t places = bytes > 0 ? MAX(w->options->max_bytes / bytes, (size_t) 1) : 1;
        size_t shift = bytes * (iteration % places);
        char *receive;

        shift += w->options->unalign * size;
        receive = (char *) gpu->receive + shift;
        if (in_place) {
                *ret_send = receive + rank * row->layout.in_place_send * size;
                *ret_receive = receive + rank * row->layout.in_place_receive * size;
        } else {
                *ret_send = (char *) gpu->send + shift;
                *ret_receive = receive;
        }
}

/* Enqueues the operation on one GPU. */
static ncclResult_t start_on(Worker *w, const Row *row, const Gpu *gpu, bool in_place,
                unsigned iteration, int step) {
        char *send, *receive;

        row_buffers(w, row, gpu, in_place, iteration, &send, &receive);
        Call call = {
                .cuda = &w->cuda,
                .nccl = &w->nccl,
                .send = send,
                .receive = receive,
                .count = row->layout.count,
                .type = row->type,
                .op = row->op,
                .root = row->root,
                .rank = gpu->rank,
                .ranks = w->ranks,
                .comm = gpu->comm,
                .stream = gpu->stream,
                .step = step,
        };
        return row->collective->start(&call);
}

/* One step on all GPUs of this process; *ret_gpu is the one that failed, if it was one. */
static ncclResult_t start_step(Worker *w, const Row *row, bool in_place, unsigned iteration,
                int step, const Gpu **ret_gpu) {
        ncclResult_t r, end;

        *ret_gpu = &w->gpus[0];
        if (w->n_gpus == 1)
                return start_on(w, row, &w->gpus[0], in_place, iteration, step);

        *ret_gpu = NULL;
        r = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && !nccl_failed(r); i++) {
                *ret_gpu = &w->gpus[i];
                r = start_on(w, row, &w->gpus[i], in_place, iteration, step);
        }

        end = w->nccl.GroupEnd();
        if (nccl_failed(r))
                return r;
        *ret_gpu = NULL;
        return end;
}

static ncclResult_t start_on_all(
                Worker *w, const Row *row, bool in_place, unsigned iteration, const Gpu **ret_gpu) {
        int steps = collective_steps(row->collective, w->ranks);
        ncclResult_t r = ncclSuccess;

        for (int i = 0; i < steps && !nccl_failed(r); i++)
                r = start_step(w, row, in_place, iteration, i, ret_gpu);
        return r;
}

/* Only communicators from before NCCL 2.18, which are non-blocking, have something to wait for. */
static ncclResult_t await_enqueued(Worker *w) {
        for (unsigned i = 0; i < w->n_gpus; i++) {
                ncclResult_t state = ncclInProgress;

                while (state == ncclInProgress && now_usec() < w->deadline)
                        if (w->nccl.CommGetAsyncError(w->gpus[i].comm, &state) != ncclSuccess)
                                break;
                if (state == ncclInProgress)
                        return ncclSystemError;
                if (state != ncclSuccess)
                        return state;
        }
        return ncclSuccess;
}

int row_start(Worker *w, const Row *row, bool in_place, unsigned iteration) {
        const Gpu *failed;
        char what[160];
        ncclResult_t r;

        r = start_on_all(w, row, in_place, iteration, &failed);
        if (r == ncclInProgress)
                r = await_enqueued(w);
        if (r == ncclSuccess)
                return 0;

        row_text(row, in_place, what, sizeof(what));
        return group_failed(&w->group, failed, r, REASON_NCCL_ERROR, what, &w->failure);
}

int row_finish(Worker *w, const Row *row, bool in_place) {
        char what[160];

        row_text(row, in_place, what, sizeof(what));
        return group_wait(&w->group, what, w->deadline, &w->failure);
}

/* The smallest operation that needs everybody. */
static ncclResult_t start_barrier(Worker *w) {
        ncclResult_t r = ncclSuccess;

        if (w->n_gpus > 1)
                r = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && r == ncclSuccess; i++) {
                void *scratch = (void *) (uintptr_t) w->gpus[i].scratch;

                r = w->nccl.AllReduce(scratch, scratch, 1, TYPE_FLOAT, OP_SUM, w->gpus[i].comm,
                                w->gpus[i].stream);
        }
        if (w->n_gpus > 1 && r == ncclSuccess)
                r = w->nccl.GroupEnd();
        return r;
}

/* All processes pass together. The sockets alone would let them go tens of microseconds apart; an
 * operation that needs everybody narrows that to a few. */
int worker_barrier(Worker *w) {
        ncclResult_t e;
        int r;

        if (w->launch->world == 1)
                return 0;
        r = rendezvous_broadcast(w->rendezvous, NULL, 0, w->deadline, &w->failure);
        if (r < 0)
                return r;

        e = start_barrier(w);
        if (nccl_failed(e))
                return group_failed(&w->group, NULL, e, REASON_NCCL_ERROR, "barrier", &w->failure);
        return group_wait(&w->group, "barrier", w->deadline, &w->failure);
}
