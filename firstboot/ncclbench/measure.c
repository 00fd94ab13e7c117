/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One cell group of the table: the timing, done as nccl-tests does it so that figures can be
 * compared (one operation to begin with, a barrier, then all operations enqueued and the clock
 * stopped when the last stream is at rest), and the check of every element. */

#include "ncclbench/deadline.h"
#include "ncclbench/pattern-host.h"
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

/* Enqueues the operation on one GPU. */
static ncclResult_t start_on(
                Worker *w, const Row *row, const Gpu *gpu, bool in_place, unsigned iteration) {
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
        return row->collective->start(&call);
}

/* Enqueues it on all GPUs of this process; *ret_gpu is the one that failed, if it was one. */
static ncclResult_t start_on_all(
                Worker *w, const Row *row, bool in_place, unsigned iteration, const Gpu **ret_gpu) {
        ncclResult_t r, end;

        *ret_gpu = &w->gpus[0];
        if (w->n_gpus == 1)
                return start_on(w, row, &w->gpus[0], in_place, iteration);

        *ret_gpu = NULL;
        r = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && !nccl_failed(r); i++) {
                *ret_gpu = &w->gpus[i];
                r = start_on(w, row, &w->gpus[i], in_place, iteration);
        }

        end = w->nccl.GroupEnd();
        if (nccl_failed(r))
                return r;
        *ret_gpu = NULL;
        return end;
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

static int start(Worker *w, const Row *row, bool in_place, unsigned iteration) {
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

static int finish(Worker *w, const Row *row, bool in_place) {
        char what[160];

        row_text(row, in_place, what, sizeof(what));
        return group_wait(&w->group, what, w->deadline, &w->failure);
}

/* So many operations one behind the other, and waits for the last of them. */
static int repeat(Worker *w, const Row *row, bool in_place, unsigned iterations) {
        int r;

        for (unsigned i = 0; i < iterations; i++) {
                r = start(w, row, in_place, i);
                if (r < 0)
                        return r;
                if ((i + 1) % IN_FLIGHT_MAX > 0)
                        continue;

                r = finish(w, row, in_place);
                if (r < 0)
                        return r;
        }
        return finish(w, row, in_place);
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
static int barrier(Worker *w) {
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

/* Fills what a rank of ours sends, poisons what it will receive. */
static int prepare_gpu(Worker *w, const Row *row, const Gpu *gpu, bool in_place, uint32_t seed) {
        size_t size = type_table[row->type].size;
        char *send, *receive;
        PatternJob job;
        int r;

        row_buffers(w, row, gpu, in_place, 0, &send, &receive);
        r = collective_send(row->collective, &row->layout, row->type, row->op, gpu->rank, w->ranks,
                        &job);
        if (r < 0)
                return failure_set(&w->failure, REASON_INTERNAL,
                                "no data pattern for %s %s over %d ranks",
                                type_table[row->type].name, op_names[row->op], w->ranks);
        job.seed = seed;

        r = gpu_poison(&w->cuda, gpu, gpu->receive, row->layout.receive_count * size, &w->failure);
        if (r < 0)
                return r;
        return gpu_fill(&w->cuda, gpu, &job, send, &w->failure);
}

static int prepare(Worker *w, const Row *row, bool in_place, uint32_t seed) {
        for (unsigned i = 0; i < w->n_gpus; i++) {
                int r = prepare_gpu(w, row, &w->gpus[i], in_place, seed);

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

/* Starts the comparison of what one GPU received with what it must have. */
static int compare_start(Worker *w, const Row *row, const Gpu *gpu, bool in_place, uint32_t seed,
                PatternJob *ret_job) {
        const Options *o = w->options;
        char *send, *receive;
        int r;

        row_buffers(w, row, gpu, in_place, 0, &send, &receive);
        r = collective_expect(row->collective, &row->layout, row->type, row->op, row->root,
                        gpu->rank, w->ranks, ret_job);
        if (r < 0)
                return failure_set(&w->failure, REASON_INTERNAL, "no data pattern");
        ret_job->seed = seed;

        if (o->corrupt_rank == gpu->rank && o->corrupt_element < ret_job->count) {
                r = gpu_corrupt(&w->cuda, gpu, (unsigned) row->type, receive, o->corrupt_element,
                                &w->failure);
                if (r < 0)
                        return r;
        }
        return gpu_check_start(&w->cuda, gpu, ret_job, receive, &w->failure);
}

/* Adds what the comparison found. */
static int compare_result(Worker *w, const Row *row, const Gpu *gpu, bool in_place,
                const PatternJob *job, Measured *m) {
        char *send, *receive;
        GpuCheck check;
        int r;

        row_buffers(w, row, gpu, in_place, 0, &send, &receive);
        r = gpu_check_result(&w->cuda, gpu, job, receive, &check, &w->failure);
        if (r < 0)
                return r;

        if (check.wrong > 0 && m->wrong == 0)
                describe_wrong(row, in_place, gpu->rank, &check, m->detail, sizeof(m->detail));
        m->wrong += check.wrong;
        return 0;
}

/* Runs the operation once on data of which every element of the result is known. */
static int run_on_pattern(Worker *w, const Row *row, bool in_place, uint32_t seed) {
        int r;

        r = prepare(w, row, in_place, seed);
        if (r < 0)
                return r;
        r = barrier(w); /* nobody writes into a buffer that its owner still fills */
        if (r < 0)
                return r;
        r = start(w, row, in_place, 0);
        if (r < 0)
                return r;
        return finish(w, row, in_place);
}

/* One checked operation; adds to the count of wrong elements on the GPUs of this process. */
static int check_once(Worker *w, const Row *row, bool in_place, uint32_t seed, Measured *m) {
        PatternJob jobs[OPTION_GPUS_MAX];
        int r;

        r = run_on_pattern(w, row, in_place, seed);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = compare_start(w, row, &w->gpus[i], in_place, seed, &jobs[i]);
                if (r < 0)
                        return r;
        }
        r = finish(w, row, in_place);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = compare_result(w, row, &w->gpus[i], in_place, &jobs[i], m);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Makes the result of process 0, which prints it, that of all. */
static int share(Worker *w, Measured *m) {
        _cleanup_free_ Measured *all = calloc((size_t) w->launch->world, sizeof(*all));
        Measured sum = { .usec_min = m->usec, .usec_max = m->usec, .checked = m->checked };
        int r;

        if (!all)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");
        r = rendezvous_gather(w->rendezvous, m, sizeof(*m), all, w->deadline, &w->failure);
        if (r < 0)
                return r;
        if (w->launch->rank != 0)
                return 0;

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
        return repeat(w, row, false, iterations);
}

/* The mean time of an operation in microseconds. */
static int time_row(Worker *w, const Row *row, bool in_place, double *ret_usec) {
        uint64_t started;
        int r;

        r = repeat(w, row, in_place, 1);
        if (r < 0)
                return r;
        r = barrier(w);
        if (r < 0)
                return r;

        started = now_nsec();
        r = repeat(w, row, in_place, w->options->iterations);
        if (r < 0)
                return r;
        *ret_usec = (double) (now_nsec() - started) / (double) NSEC_PER_USEC /
                    w->options->iterations;
        return 0;
}

int measure_row(Worker *w, const Row *row, bool in_place, Measured *ret) {
        unsigned checks = w->options->checks;
        Measured m = { .checked = checks > 0 && (!in_place || row->collective->in_place) };
        int r;

        if (checks > 0) { /* time real data: links and GPUs run otherwise on zeros */
                r = prepare(w, row, in_place, ++w->seed);
                if (r < 0)
                        return r;
        }
        r = time_row(w, row, in_place, &m.usec);
        if (r < 0)
                return r;

        for (unsigned c = 0; m.checked && c < checks; c++) {
                r = check_once(w, row, in_place, ++w->seed, &m);
                if (r < 0)
                        return r;
        }

        r = share(w, &m);
        if (r < 0)
                return r;
        *ret = m;
        return 0;
}
