/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How long an operation takes, as nccl-tests measures it: so many enqueued one behind the other,
 * from the first call until the last GPU is at rest. What its options change about that is here:
 * groups of operations (-m), waiting in between (-z), CUDA graphs (-G), events around each (-I). */

#include "ncclbench/start.h"
#include "ncclbench/deadline.h"
#include "shared/strv.h"

#include <math.h>

/* CUDA lets about a thousand launches wait; the next call blocks inside the driver, where no
 * deadline of ours and no word of another process reaches it. */
#define IN_FLIGHT_MAX 256

/* The events around each iteration of each GPU: boundaries that neighbours share, or pairs where a
 * barrier comes in between. */
typedef struct Laps {
        CUevent *events; /* NULL: none are taken */
        unsigned per_gpu;
        bool paired;
} Laps;

static int cuda_said(Worker *w, const Gpu *gpu, CUresult e, const char *call) {
        _cleanup_free_ char *text = cuda_error_text(&w->cuda, e);

        return failure_set(&w->failure, reason_from_cuda(e), "%s on GPU %d (%s): %s", call,
                        gpu->device, gpu->pci, strempty(text));
}

#define TRY(w, gpu, name, ...)                                        \
        do {                                                          \
                CUresult _e = (w)->cuda.name(__VA_ARGS__);            \
                if (_e != CUDA_SUCCESS)                               \
                        return cuda_said((w), (gpu), _e, "cu" #name); \
        } while (0)

static int laps_begin(Worker *w, Laps *laps) {
        const Options *o = w->options;

        *laps = (Laps) { .paired = o->blocking == 3 };
        if (!o->per_iteration)
                return 0;
        laps->per_gpu = laps->paired ? 2 * o->iterations : o->iterations + 1;
        laps->events = calloc((size_t) laps->per_gpu * w->n_gpus, sizeof(*laps->events));
        if (!laps->events)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");

        for (unsigned i = 0; i < w->n_gpus; i++) {
                int r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);

                if (r < 0)
                        return r;
                for (unsigned k = 0; k < laps->per_gpu; k++)
                        TRY(w, &w->gpus[i], EventCreate, &laps->events[i * laps->per_gpu + k], 0);
        }
        return 0;
}

/* Marks the beginning (or with `end` its end) of an iteration on all GPUs. */
static int laps_mark(Worker *w, const Laps *laps, unsigned iteration, bool end) {
        unsigned at = laps->paired ? 2 * iteration + end : iteration + end;

        for (unsigned i = 0; laps->events && i < w->n_gpus; i++) {
                int r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);

                if (r < 0)
                        return r;
                TRY(w, &w->gpus[i], EventRecord, laps->events[i * laps->per_gpu + at],
                                w->gpus[i].stream);
        }
        return 0;
}

/* Each iteration's time on the slowest GPU of this process, in microseconds an operation. */
static int laps_read(Worker *w, const Laps *laps, double *usec) {
        for (unsigned k = 0; k < w->options->iterations; k++)
                for (unsigned i = 0; i < w->n_gpus; i++) {
                        CUevent *e = laps->events + i * laps->per_gpu + (laps->paired ? 2 * k : k);
                        float ms = 0;
                        int r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);

                        if (r < 0)
                                return r;
                        TRY(w, &w->gpus[i], EventElapsedTime, &ms, e[0], e[1]);
                        usec[k] = MAX(usec[k], (double) ms * 1000 / w->options->aggregate);
                }
        return 0;
}

static void laps_end(Worker *w, Laps *laps) {
        for (unsigned i = 0; laps->events && i < w->n_gpus * laps->per_gpu; i++)
                if (laps->events[i])
                        (void) w->cuda.EventDestroy(laps->events[i]);
        free(laps->events);
}

static int compare_doubles(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

/* As nccl-tests: the 99th percentile by nearest rank, the deviation in per cent of the mean. */
static void summarize(double *usec, unsigned n, Timing *t) {
        double sum = 0, squares = 0;
        unsigned p99;

        qsort(usec, n, sizeof(*usec), compare_doubles);
        for (unsigned i = 0; i < n; i++)
                sum += usec[i];
        for (unsigned i = 0; i < n; i++)
                squares += (usec[i] - sum / n) * (usec[i] - sum / n);
        p99 = (unsigned) (((uint64_t) n * 99 + 99) / 100) - 1;
        t->lap_min = usec[0];
        t->lap_max = usec[n - 1];
        t->lap_p99 = usec[MIN(p99, n - 1)];
        t->lap_deviation = sum > 0 ? sqrt(squares / n) / (sum / n) * 100 : 0;
}

/* Process 0 takes of each iteration the slowest process, and sums up. */
static int laps_share(Worker *w, const Laps *laps, Timing *t) {
        unsigned n = w->options->iterations, skip = w->options->skip_iterations;
        size_t world = (size_t) w->launch->world;
        _cleanup_free_ double *mine = calloc(n, sizeof(double)),
                              *all = calloc(world, n * sizeof(double));
        int r;

        if (!laps->events)
                return 0;
        if (!mine || !all)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");
        r = laps_read(w, laps, mine);
        if (r < 0)
                return r;
        r = rendezvous_gather(
                        w->rendezvous, mine, n * sizeof(double), all, w->deadline, &w->failure);
        if (r < 0 || w->launch->rank != 0)
                return r;
        for (size_t p = 1; p < world; p++)
                for (unsigned i = 0; i < n; i++)
                        all[i] = MAX(all[i], all[p * n + i]);
        summarize(all + skip, n - skip, t);
        return 0;
}

/* -z 1 and 2: after each operation. */
static int wait_inside(Worker *w, const Row *row, bool in_place) {
        unsigned how = w->options->blocking;
        int r;

        if (how != 1 && how != 2)
                return 0;
        r = row_finish(w, row, in_place);
        return r < 0 || how == 2 ? r : worker_barrier(w);
}

/* The operations of one iteration: one, or -m of them as a group. */
static int start_iteration(Worker *w, const Row *row, bool in_place, unsigned iteration) {
        unsigned m = w->options->aggregate;
        ncclResult_t e = m > 1 ? w->nccl.GroupStart() : ncclSuccess;
        int r;

        for (unsigned i = 0; i < m && e == ncclSuccess; i++) {
                r = row_start(w, row, in_place, iteration * m + i);
                if (r < 0)
                        return r;
                if (w->capturing)
                        continue;
                r = wait_inside(w, row, in_place);
                if (r < 0)
                        return r;
        }
        if (m > 1 && e == ncclSuccess)
                e = w->nccl.GroupEnd();
        if (nccl_failed(e))
                return group_failed(&w->group, NULL, e, REASON_NCCL_ERROR, "a group of operations",
                                &w->failure);
        return 0;
}

/* Waits and lets all pass together after the iteration; *nsec gets the time without the barrier. */
static int end_blocking(Worker *w, const Row *row, bool in_place, const Laps *laps, unsigned i,
                uint64_t since, uint64_t *nsec) {
        int r;

        r = row_finish(w, row, in_place);
        if (r < 0)
                return r;
        r = laps_mark(w, laps, i, true);
        if (r < 0)
                return r;
        *nsec += now_nsec() - since;
        return worker_barrier(w);
}

/* So many iterations one behind the other, and waits for the last of them. */
static int repeat(Worker *w, const Row *row, bool in_place, unsigned iterations, const Laps *laps,
                uint64_t *nsec) {
        unsigned flight = MAX(IN_FLIGHT_MAX / w->options->aggregate, 1u);
        int r;

        for (unsigned i = 0; i < iterations; i++) {
                uint64_t since = now_nsec();

                r = laps_mark(w, laps, i, false);
                if (r < 0)
                        return r;
                r = start_iteration(w, row, in_place, i);
                if (r < 0)
                        return r;
                if (w->options->blocking == 3 && !w->capturing)
                        r = end_blocking(w, row, in_place, laps, i, since, nsec);
                else if ((i + 1) % flight == 0 && !w->capturing)
                        r = row_finish(w, row, in_place);
                if (r < 0)
                        return r;
        }
        if (w->capturing)
                return 0;
        w->started = now_nsec();
        if (!laps->paired && iterations > 0) {
                r = laps_mark(w, laps, iterations - 1, true);
                if (r < 0)
                        return r;
        }
        return row_finish(w, row, in_place);
}

int measure_warm_up(Worker *w, const Row *row, unsigned iterations) {
        const Laps none = {};
        uint64_t ignored = 0;
        int r;

        for (unsigned i = 0; i < iterations; i++) {
                r = row_start(w, row, false, i);
                if (r < 0)
                        return r;
                if ((i + 1) % IN_FLIGHT_MAX > 0)
                        continue;
                r = row_finish(w, row, false);
                if (r < 0)
                        return r;
        }
        return repeat(w, row, false, 0, &none, &ignored);
}

typedef struct Graphs {
        CUgraph graph[OPTION_GPUS_MAX];
        CUgraphExec exec[OPTION_GPUS_MAX];
} Graphs;

static int capture(Worker *w, const Row *row, bool in_place, Graphs *g) {
        const Laps none = {};
        uint64_t ignored = 0;
        int r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);
                if (r < 0)
                        return r;
                TRY(w, &w->gpus[i], StreamBeginCapture, w->gpus[i].stream,
                                CUDA_CAPTURE_THREAD_LOCAL);
        }
        w->capturing = true;
        r = repeat(w, row, in_place, w->options->iterations, &none, &ignored);
        w->capturing = false;
        if (r < 0)
                return r;

        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);
                if (r < 0)
                        return r;
                TRY(w, &w->gpus[i], StreamEndCapture, w->gpus[i].stream, &g->graph[i]);
        }
        /* Not before the last capture has ended: it may load what a capture must not. */
        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);
                if (r < 0)
                        return r;
                TRY(w, &w->gpus[i], GraphInstantiate, &g->exec[i], g->graph[i], 0);
        }
        return 0;
}

static int launch_graphs(Worker *w, const Row *row, bool in_place, const Graphs *g) {
        for (unsigned k = 0; k < w->options->graphs; k++) {
                int r;

                for (unsigned i = 0; i < w->n_gpus; i++) {
                        r = gpu_use(&w->cuda, &w->gpus[i], &w->failure);
                        if (r < 0)
                                return r;
                        TRY(w, &w->gpus[i], GraphLaunch, g->exec[i], w->gpus[i].stream);
                }
                if ((k + 1) % IN_FLIGHT_MAX > 0)
                        continue;
                r = row_finish(w, row, in_place);
                if (r < 0)
                        return r;
        }
        w->started = now_nsec();
        return row_finish(w, row, in_place);
}

/* -G: the iterations are captured once, and replayed so many times. */
static int time_graphs(
                Worker *w, const Row *row, bool in_place, uint64_t *ret_nsec, uint64_t *ret_cpu) {
        const Options *o = w->options;
        uint64_t started;
        Graphs g = {};
        int r;

        if (!w->cuda.StreamBeginCapture || !w->cuda.GraphInstantiate || !w->cuda.GraphLaunch)
                return failure_set(&w->failure, REASON_DRIVER_LIBRARY_MISMATCH,
                                "-G needs a driver of CUDA 11.4 or newer");
        r = capture(w, row, in_place, &g);
        if (r < 0)
                return r;
        r = worker_barrier(w);
        if (r < 0)
                return r;
        started = now_nsec();
        r = launch_graphs(w, row, in_place, &g);
        if (r < 0)
                return r;
        *ret_nsec = (now_nsec() - started) / o->graphs;
        *ret_cpu = w->started - started; /* of all replays: nccl-tests does not divide it */

        for (unsigned i = 0; i < w->n_gpus; i++) {
                (void) w->cuda.GraphExecDestroy(g.exec[i]);
                (void) w->cuda.GraphDestroy(g.graph[i]);
        }
        return 0;
}

static int time_laps(Worker *w, const Row *row, bool in_place, Laps *laps, uint64_t *ret_nsec,
                uint64_t *ret_cpu) {
        uint64_t started = now_nsec(), without_barriers = 0;
        int r;

        r = repeat(w, row, in_place, w->options->iterations, laps, &without_barriers);
        if (r < 0)
                return r;
        *ret_nsec = w->options->blocking == 3 ? without_barriers : now_nsec() - started;
        *ret_cpu = w->options->blocking == 3 ? without_barriers : w->started - started;
        return 0;
}

static int time_and_sum_up(Worker *w, const Row *row, bool in_place, Laps *laps, Timing *ret) {
        double each = (double) NSEC_PER_USEC * w->options->iterations * w->options->aggregate;
        uint64_t nsec = 0, cpu = 0;
        int r;

        r = laps_begin(w, laps);
        if (r < 0)
                return r;
        r = w->options->graphs > 0 ? time_graphs(w, row, in_place, &nsec, &cpu)
                                   : time_laps(w, row, in_place, laps, &nsec, &cpu);
        if (r < 0)
                return r;
        ret->usec = (double) nsec / each;
        ret->cpu_usec = (double) cpu / each;
        return laps_share(w, laps, ret);
}

int timing_row(Worker *w, const Row *row, bool in_place, Timing *ret) {
        Timing t = {};
        Laps laps = {};
        int r;

        r = row_start(w, row, in_place, 0);
        if (r < 0)
                return r;
        r = row_finish(w, row, in_place);
        if (r < 0)
                return r;
        r = worker_barrier(w);
        if (r < 0)
                return r;

        r = time_and_sum_up(w, row, in_place, &laps, &t);
        laps_end(w, &laps);
        if (r < 0)
                return r;
        *ret = t;
        return 0;
}
