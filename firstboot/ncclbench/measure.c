/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One cell group of the table: the time (timing.c) and the check of every element. */

#include "ncclbench/deadline.h"
#include "ncclbench/pattern-host.h"
#include "ncclbench/start.h"

#include <inttypes.h>

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

        r = gpu_poison(&w->cuda, gpu, (char *) gpu->receive + w->options->unalign * size,
                        row->layout.receive_count * size, &w->failure);
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
        return row_finish(w, row, in_place);
}

static void describe_wrong(const Row *row, bool in_place, int rank, const GpuCheck *check,
                char *text, size_t size) {
        char got[48], want[48];

        pattern_print((unsigned) row->type, check->got, got, sizeof(got));
        pattern_print((unsigned) row->type, check->want, want, sizeof(want));
        snprintf(text, size, "%s: rank %d, element %" PRIu64 " is %s, must be %s",
                        in_place ? "in place" : "out of place", rank, check->first, got, want);
}

/* One part of what a GPU received. */
typedef struct Part {
        PatternJob job;
        size_t offset; /* in elements */
        char *data;
} Part;

static int find_part(Worker *w, const Row *row, const Gpu *gpu, bool in_place, uint32_t seed,
                int part, Part *ret) {
        char *send, *receive;
        Part p = {};
        int r;

        row_buffers(w, row, gpu, in_place, 0, &send, &receive);
        r = collective_expect_part(row->collective, &row->layout, row->type, row->op, row->root,
                        gpu->rank, w->ranks, part, &p.job, &p.offset);
        if (r < 0)
                return failure_set(&w->failure, REASON_INTERNAL, "no data pattern");
        p.job.seed = seed;
        p.data = receive + p.offset * type_table[row->type].size;
        *ret = p;
        return 0;
}

/* Starts the comparison of a part with what it must be. */
static int compare_start(Worker *w, const Row *row, const Gpu *gpu, const Part *p) {
        const Options *o = w->options;
        uint64_t spoiled = o->corrupt_element;
        int r;

        if (o->corrupt_rank == gpu->rank && spoiled >= p->offset &&
                        spoiled < p->offset + p->job.count) {
                r = gpu_corrupt(&w->cuda, gpu, (unsigned) row->type, p->data, spoiled - p->offset,
                                &w->failure);
                if (r < 0)
                        return r;
        }
        return gpu_check_start(&w->cuda, gpu, &p->job, p->data, &w->failure);
}

/* Adds what the comparison found. */
static int compare_result(Worker *w, const Row *row, const Gpu *gpu, bool in_place, const Part *p,
                Measured *m) {
        GpuCheck check;
        int r;

        r = gpu_check_result(&w->cuda, gpu, &p->job, p->data, &check, &w->failure);
        if (r < 0)
                return r;

        check.first += p->offset;
        if (check.wrong > 0 && m->wrong == 0)
                describe_wrong(row, in_place, gpu->rank, &check, m->detail, sizeof(m->detail));
        m->wrong += check.wrong;
        return 0;
}

/* Compares one part of each GPU's result. */
static int compare_part(
                Worker *w, const Row *row, bool in_place, uint32_t seed, int part, Measured *m) {
        Part parts[OPTION_GPUS_MAX] = {};
        int r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = find_part(w, row, &w->gpus[i], in_place, seed, part, &parts[i]);
                if (r < 0)
                        return r;
                r = compare_start(w, row, &w->gpus[i], &parts[i]);
                if (r < 0)
                        return r;
        }
        r = row_finish(w, row, in_place);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = compare_result(w, row, &w->gpus[i], in_place, &parts[i], m);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Runs the operation once on data of which every element of the result is known. */
static int run_on_pattern(Worker *w, const Row *row, bool in_place, uint32_t seed) {
        int r;

        r = prepare(w, row, in_place, seed);
        if (r < 0)
                return r;
        r = worker_barrier(w); /* nobody writes into a buffer that its owner still fills */
        if (r < 0)
                return r;
        r = row_start(w, row, in_place, 0);
        if (r < 0)
                return r;
        return row_finish(w, row, in_place);
}

/* One checked operation; adds to the count of wrong elements on the GPUs of this process. */
static int check_once(Worker *w, const Row *row, bool in_place, uint32_t seed, Measured *m) {
        int parts = collective_parts(row->collective, w->ranks), r;

        r = run_on_pattern(w, row, in_place, seed);
        if (r < 0)
                return r;
        for (int i = 0; i < parts; i++) {
                r = compare_part(w, row, in_place, seed, i, m);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Makes the result of process 0, which prints it, that of all. */
static int share(Worker *w, Measured *m) {
        _cleanup_free_ Measured *all = calloc((size_t) w->launch->world, sizeof(*all));
        Measured sum = {
                .usec_min = m->usec, .usec_max = m->usec, .checked = m->checked, .laps = m->laps
        };
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
        /* -a: what is shown as the time. */
        if (w->options->average != 1)
                sum.usec = w->options->average == 0   ? all[0].usec
                           : w->options->average == 2 ? sum.usec_min
                                                      : sum.usec_max;
        *m = sum;
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
        r = timing_row(w, row, in_place, &m.laps);
        if (r < 0)
                return r;
        m.usec = m.laps.usec;

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
