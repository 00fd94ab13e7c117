/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One cell group of the table: the timing, done as nccl-tests does it so that figures can be
 * compared (one operation to begin with, a barrier, then all operations enqueued and the clock
 * stopped when the last stream is at rest), and the check of every element. */

#include "ncclbench/clock.h"
#include "shared/strv.h"
#include "ncclbench/worker.h"

#include <inttypes.h>

/* CUDA lets about a thousand launches wait; the next call blocks inside the driver, where no
 * deadline of ours and no word of another process reaches it. */
#define IN_FLIGHT_MAX 256

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
static void row_buffers(const Worker *w, const Row *row, const Gpu *gpu, bool in_place,
                unsigned iteration, char **ret_send, char **ret_receive) {
        size_t bytes = row_bytes(row), size = type_table[row->type].size, rank = (size_t) gpu->rank;
        size_t places = bytes > 0 ? MAX(w->options->max_bytes / bytes, (size_t) 1) : 1;
        size_t shift = bytes * (iteration % places);
        char *receive = (char *) gpu->receive + shift;

        if (in_place) {
                *ret_send = receive + rank * row->layout.in_place_send * size;
                *ret_receive = receive + rank * row->layout.in_place_receive * size;
        } else {
                *ret_send = (char *) gpu->send + shift;
                *ret_receive = receive;
        }
}

static int start(Worker *w, const Row *row, bool in_place, unsigned iteration) {
        const Gpu *failed = NULL;
        ncclResult_t r = ncclSuccess, end;

        if (w->n_gpus > 1)
                r = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && (r == ncclSuccess || r == ncclInProgress); i++) {
                const Gpu *gpu = failed = &w->gpus[i];
                char *send, *receive;

                row_buffers(w, row, gpu, in_place, iteration, &send, &receive);
                Call call = {
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
                };
                r = row->collective->start(&call);
        }
        if (w->n_gpus > 1) {
                end = w->nccl.GroupEnd();
                if (r == ncclSuccess || r == ncclInProgress) {
                        r = end;
                        failed = NULL;
                }
        }
        /* Only communicators from before NCCL 2.18, which are non-blocking, have something to wait
         * for. */
        for (unsigned i = 0; r == ncclInProgress && i < w->n_gpus; i++) {
                ncclResult_t state = ncclInProgress;

                while (state == ncclInProgress && now_nsec() < w->deadline)
                        if (w->nccl.CommGetAsyncError(w->gpus[i].comm, &state) != ncclSuccess)
                                break;
                if (state != ncclSuccess)
                        r = state == ncclInProgress ? ncclSystemError : state;
                else if (i + 1 == w->n_gpus)
                        r = ncclSuccess;
        }
        if (r != ncclSuccess) {
                char what[160];

                row_text(row, in_place, what, sizeof(what));
                return group_failed(&w->group, failed, r, REASON_NCCL_ERROR, what, &w->failure);
        }
        return 0;
}

static int finish(Worker *w, const Row *row, bool in_place) {
        char what[160];

        row_text(row, in_place, what, sizeof(what));
        return group_wait(&w->group, what, w->deadline, &w->failure);
}

/* All processes pass together. The sockets alone would let them go tens of microseconds apart; an
 * operation that needs everybody narrows that to a few. */
static int barrier(Worker *w) {
        ncclResult_t e = ncclSuccess;
        int r;

        if (w->launch->world == 1)
                return 0;
        r = rendezvous_broadcast(w->rendezvous, NULL, 0, w->deadline, &w->failure);
        if (r < 0)
                return r;
        if (w->n_gpus > 1)
                e = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && e == ncclSuccess; i++) {
                void *scratch = (void *) (uintptr_t) w->gpus[i].scratch;

                e = w->nccl.AllReduce(scratch, scratch, 1, TYPE_FLOAT, OP_SUM, w->gpus[i].comm,
                                w->gpus[i].stream);
        }
        if (w->n_gpus > 1 && e == ncclSuccess)
                e = w->nccl.GroupEnd();
        if (e != ncclSuccess && e != ncclInProgress)
                return group_failed(&w->group, NULL, e, REASON_NCCL_ERROR, "barrier", &w->failure);
        return group_wait(&w->group, "barrier", w->deadline, &w->failure);
}

/* Fills what each rank of ours sends, poisons what it will receive. */
static int prepare(Worker *w, const Row *row, bool in_place, uint32_t seed) {
        size_t size = type_table[row->type].size;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                const Gpu *gpu = &w->gpus[i];
                PatternJob job;
                char *send, *receive;
                int r;

                row_buffers(w, row, gpu, in_place, 0, &send, &receive);
                r = collective_send(row->collective, &row->layout, row->type, row->op, gpu->rank,
                                w->ranks, &job);
                if (r < 0)
                        return failure_set(&w->failure, REASON_INTERNAL,
                                        "no data pattern for %s %s over %d ranks",
                                        type_table[row->type].name, op_names[row->op], w->ranks);
                job.seed = seed;
                r = gpu_poison(&w->cuda, gpu, gpu->receive, row->layout.receive_count * size,
                                &w->failure);
                if (r >= 0)
                        r = gpu_fill(&w->cuda, gpu, &job, send, &w->failure);
                if (r < 0)
                        return r;
        }
        return finish(w, row, in_place);
}

static void describe_wrong(const Row *row, bool in_place, int rank, const GpuCheck *check,
                char *text, size_t size) {
        char got[48], want[48];

        pattern_print((unsigned) row->type, check->got, got, sizeof(got));
        pattern_print((unsigned) row->type, check->want, want, sizeof(want));
        snprintf(text, size, "%s: rank %d, element %" PRIu64 " is %s, must be %s",
                        in_place ? "in place" : "out of place", rank, check->first, got, want);
}

/* One checked operation; adds to the count of wrong elements on the GPUs of this process. */
static int check_once(Worker *w, const Row *row, bool in_place, uint32_t seed, Measured *m) {
        PatternJob jobs[OPTION_GPUS_MAX];
        char *send, *receive;
        int r;

        r = prepare(w, row, in_place, seed);
        if (r >= 0)
                r = barrier(w); /* nobody writes into a buffer that its owner still fills */
        if (r >= 0)
                r = start(w, row, in_place, 0);
        if (r >= 0)
                r = finish(w, row, in_place);
        for (unsigned i = 0; r >= 0 && i < w->n_gpus; i++) {
                const Gpu *gpu = &w->gpus[i];

                row_buffers(w, row, gpu, in_place, 0, &send, &receive);
                if (collective_expect(row->collective, &row->layout, row->type, row->op, row->root,
                                    gpu->rank, w->ranks, &jobs[i]) < 0)
                        return failure_set(&w->failure, REASON_INTERNAL, "no data pattern");
                jobs[i].seed = seed;
                if (w->options->corrupt_rank == gpu->rank &&
                                w->options->corrupt_element < jobs[i].count)
                        r = gpu_corrupt(&w->cuda, gpu, (unsigned) row->type, receive,
                                        w->options->corrupt_element, &w->failure);
                if (r >= 0)
                        r = gpu_check_start(&w->cuda, gpu, &jobs[i], receive, &w->failure);
        }
        if (r >= 0)
                r = finish(w, row, in_place);
        for (unsigned i = 0; r >= 0 && i < w->n_gpus; i++) {
                GpuCheck check;

                row_buffers(w, row, &w->gpus[i], in_place, 0, &send, &receive);
                r = gpu_check_result(&w->cuda, &w->gpus[i], &jobs[i], receive, &check, &w->failure);
                if (r >= 0 && check.wrong > 0) {
                        if (m->wrong == 0)
                                describe_wrong(row, in_place, w->gpus[i].rank, &check, m->detail,
                                                sizeof(m->detail));
                        m->wrong += check.wrong;
                }
        }
        return r;
}

/* Makes the result of process 0, which prints it, that of all. */
static int share(Worker *w, Measured *m) {
        _cleanup_free_ Measured *all = calloc((size_t) w->launch->world, sizeof(*all));
        Measured sum = { .usec_min = m->usec, .usec_max = m->usec, .checked = m->checked };
        int r;

        if (!all)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");
        r = rendezvous_gather(w->rendezvous, m, sizeof(*m), all, w->deadline, &w->failure);
        if (r < 0 || w->launch->rank != 0)
                return r;
        for (int i = 0; i < w->launch->world; i++) {
                sum.usec += all[i].usec / w->launch->world;
                sum.usec_min = MIN(sum.usec_min, all[i].usec);
                sum.usec_max = MAX(sum.usec_max, all[i].usec);
                if (all[i].wrong > 0 && sum.wrong == 0)
                        memcpy(sum.detail, all[i].detail, sizeof(sum.detail));
                sum.wrong += all[i].wrong;
        }
        sum.detail[sizeof(sum.detail) - 1] = '\0';
        *m = sum;
        return 0;
}

int measure_warm_up(Worker *w, const Row *row, unsigned iterations) {
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < iterations; i++) {
                r = start(w, row, false, i);
                if (r >= 0 && (i + 1) % IN_FLIGHT_MAX == 0)
                        r = finish(w, row, false);
        }
        return r < 0 ? r : finish(w, row, false);
}

int measure_row(Worker *w, const Row *row, bool in_place, Measured *ret) {
        Measured m = { .checked = w->options->checks > 0 &&
                                  (!in_place || row->collective->in_place) };
        static uint32_t seed = 1;
        int r = 0;

        if (w->options->checks > 0) /* time real data: links and GPUs run otherwise on zeros */
                r = prepare(w, row, in_place, seed++);
        if (r >= 0)
                r = start(w, row, in_place, 0);
        if (r >= 0)
                r = finish(w, row, in_place);
        if (r >= 0)
                r = barrier(w);
        if (r < 0)
                return r;

        uint64_t started = now_nsec();
        for (unsigned i = 0; i < w->options->iterations; i++) {
                r = start(w, row, in_place, i);
                if (r >= 0 && (i + 1) % IN_FLIGHT_MAX == 0)
                        r = finish(w, row, in_place);
                if (r < 0)
                        return r;
        }
        r = finish(w, row, in_place);
        if (r < 0)
                return r;
        m.usec = (double) (now_nsec() - started) / 1000 / w->options->iterations;

        for (unsigned c = 0; m.checked && c < w->options->checks; c++) {
                r = check_once(w, row, in_place, seed++, &m);
                if (r < 0)
                        return r;
        }
        r = share(w, &m);
        if (r < 0)
                return r;
        *ret = m;
        return 0;
}
