/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* `ncclbench load`: for a short time everything that a GPU has is busy, all GPUs at once: first
 * their memory, then their tensor cores; then data goes from each GPU to each other one
 * (load-peers.c). All of it is data whose result is known, and is looked at. */

#include "ncclbench/deadline.h"
#include "ncclbench/load.h"
#include "shared/strv.h"

#include <inttypes.h>
#include <sched.h>

#define BATCH_USEC \
        20000 /* of work that waits for a GPU: it never runs dry, and we never wait long */
#define BATCH_MAX 64
#define TILE 128u /* kernels.cu: a block's part of the product */
#define BLOCK 256u

static int prepare(Load *l, LoadGpu *g) {
        size_t square = (size_t) l->n * l->n;
        Gpu *gpu = g->gpu;
        NcclApi none = {};
        int r;

        r = gpu_allocate(&l->w->cuda, &none, gpu, l->bytes, &l->w->failure);
        if (r < 0)
                return r;
        LOAD_TRY(l, g, MemAlloc, &g->a, square * 2);
        LOAD_TRY(l, g, MemAlloc, &g->b, square * 2);
        LOAD_TRY(l, g, MemAlloc, &g->c, square * 4);
        LOAD_TRY(l, g, MemAlloc, &g->row_sums, (size_t) l->n * 4);
        LOAD_TRY(l, g, EventCreate, &g->start, 0);
        LOAD_TRY(l, g, EventCreate, &g->end, 0);
        LOAD_TRY(l, g, ModuleGetFunction, &g->copy, gpu->module, "ncclbench_copy");
        LOAD_TRY(l, g, ModuleGetFunction, &g->matrix, gpu->module, "ncclbench_matrix");
        LOAD_TRY(l, g, ModuleGetFunction, &g->sums, gpu->module, "ncclbench_sums");
        LOAD_TRY(l, g, ModuleGetFunction, &g->rows, gpu->module, "ncclbench_rows");
        LOAD_TRY(l, g, ModuleGetFunction, &g->multiply, gpu->module, "ncclbench_multiply");
        return 0;
}

/* A kernel whose threads share the work among them whatever their number. */
static int start_plain(Load *l, LoadGpu *g, CUfunction f, void **arguments) {
        unsigned blocks = (unsigned) MAX(g->gpu->multiprocessors, 1) * 8;

        LOAD_TRY(l, g, LaunchKernel, f, blocks, 1, 1, BLOCK, 1, 1, 0, g->gpu->stream, arguments,
                        NULL);
        return 0;
}

static int start_copy(Load *l, LoadGpu *g) {
        uint64_t count = l->bytes / 16;
        void *arguments[] = { &g->gpu->receive, &g->gpu->send, &count };

        return start_plain(l, g, g->copy, arguments);
}

static int start_multiply(Load *l, LoadGpu *g) {
        void *arguments[] = { &g->c, &g->a, &g->b, &l->n };

        LOAD_TRY(l, g, LaunchKernel, g->multiply, l->n / TILE, l->n / TILE, 1, BLOCK, 1, 1, 0,
                        g->gpu->stream, arguments, NULL);
        return 0;
}

typedef int (*start_t)(Load *l, LoadGpu *g);

static int start_batch(Load *l, LoadGpu *g, start_t start) {
        int r;

        r = gpu_use(&l->w->cuda, g->gpu, &l->w->failure);
        if (r < 0)
                return r;
        g->launches = MAX(g->next, 1u);
        LOAD_TRY(l, g, EventRecord, g->start, g->gpu->stream);
        for (unsigned i = 0; i < g->launches; i++) {
                r = start(l, g);
                if (r < 0)
                        return r;
        }
        LOAD_TRY(l, g, EventRecord, g->end, g->gpu->stream);
        return 0;
}

/* Whether a GPU's batch is over: 1 or 0. Adds it up. */
static int end_batch(Load *l, LoadGpu *g, double work) {
        CUresult e = l->w->cuda.StreamQuery(g->gpu->stream);
        float ms = 0;
        double usec;
        int r;

        if (e == CUDA_ERROR_NOT_READY)
                return 0;
        if (e != CUDA_SUCCESS)
                return load_cuda_said(l, g, e, "load");

        r = gpu_use(&l->w->cuda, g->gpu, &l->w->failure);
        if (r < 0)
                return r;
        LOAD_TRY(l, g, EventElapsedTime, &ms, g->start, g->end);
        usec = (double) ms * 1000;
        if (g->batches++ > 0) {
                g->usec += usec;
                g->work += work * g->launches;
        }
        g->next = usec > 0 ? (unsigned) (BATCH_USEC / (usec / g->launches)) : BATCH_MAX;
        g->next = MIN(MAX(g->next, 1u), (unsigned) BATCH_MAX);
        g->launches = 0;
        return 1;
}

/* Keeps all GPUs busy with one kind of work, and at least until each has shown two batches. `work`
 * is what one launch does; its rate is g->work / g->usec afterwards. */
static int keep_busy(Load *l, start_t start, double work) {
        uint64_t end = deadline_in(l->w->options->seconds);
        unsigned running = 0;

        for (unsigned i = 0; i < l->w->n_gpus; i++)
                l->gpus[i].usec = l->gpus[i].work = l->gpus[i].batches = l->gpus[i].next = 0;

        do {
                uint64_t now = now_usec();

                running = 0;
                for (unsigned i = 0; i < l->w->n_gpus; i++) {
                        LoadGpu *g = &l->gpus[i];
                        int r = g->launches > 0 ? end_batch(l, g, work) : 1;

                        if (r > 0 && (now < end || g->batches < 2)) {
                                r = start_batch(l, g, start);
                                running++;
                        } else if (r == 0)
                                running++;
                        if (r < 0)
                                return r;
                }
                if (now >= l->w->deadline)
                        return failure_set(&l->w->failure, REASON_CUDA_TIMEOUT,
                                        "a GPU did not end its work when the time of the run was over");
                sched_yield();
        } while (running > 0);
        return 0;
}

/* Fills what is read, and poisons what is written. */
static int fill(Load *l, LoadGpu *g) {
        PatternJob job = load_pattern(g, l->bytes);
        Worker *w = l->w;
        int r;

        r = gpu_fill(&w->cuda, g->gpu, &job, g->gpu->send, &w->failure);
        if (r < 0)
                return r;
        r = gpu_poison(&w->cuda, g->gpu, g->gpu->receive, l->bytes, &w->failure);
        if (r < 0)
                return r;
        return load_await(l, g, "filling memory");
}

static int load_memory(Load *l) {
        int r;

        for (unsigned i = 0; i < l->w->n_gpus; i++) {
                r = fill(l, &l->gpus[i]);
                if (r < 0)
                        return r;
        }
        /* Read once and written once. */
        r = keep_busy(l, start_copy, 2.0 * (double) l->bytes);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < l->w->n_gpus; i++) {
                LoadGpu *g = &l->gpus[i];

                g->hbm_gbs = g->usec > 0 ? g->work / g->usec / 1e3 : 0;
                r = load_check_data(l, g, g, l->bytes, "checking memory", &g->wrong);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int fill_matrices(Load *l, LoadGpu *g) {
        uint32_t seed = 42, one = 1, two = 2;
        void *a[] = { &g->a, &l->n, &one, &seed }, *b[] = { &g->b, &l->n, &two, &seed },
             *s[] = { &g->row_sums, &l->n, &seed };
        int r;

        r = gpu_use(&l->w->cuda, g->gpu, &l->w->failure);
        if (r < 0)
                return r;
        r = start_plain(l, g, g->matrix, a);
        if (r < 0)
                return r;
        r = start_plain(l, g, g->matrix, b);
        if (r < 0)
                return r;
        r = start_plain(l, g, g->sums, s);
        if (r < 0)
                return r;
        return load_await(l, g, "filling matrices");
}

static int check_product(Load *l, LoadGpu *g) {
        uint32_t seed = 42;
        CUdeviceptr found = g->gpu->found;
        void *arguments[] = { &g->c, &g->row_sums, &l->n, &seed, &found };
        uint64_t result[2];
        int r;

        r = gpu_use(&l->w->cuda, g->gpu, &l->w->failure);
        if (r < 0)
                return r;
        LOAD_TRY(l, g, MemsetD8Async, found, 0, 8, g->gpu->stream);
        LOAD_TRY(l, g, MemsetD8Async, found + 8, 0xff, 8, g->gpu->stream);
        r = start_plain(l, g, g->rows, arguments);
        if (r < 0)
                return r;
        r = load_await(l, g, "checking the product");
        if (r < 0)
                return r;
        LOAD_TRY(l, g, MemcpyDtoH, result, found, sizeof(result));
        g->wrong += result[0];
        return 0;
}

static int load_tensor_cores(Load *l) {
        double n = l->n;
        int r;

        for (unsigned i = 0; i < l->w->n_gpus; i++) {
                r = fill_matrices(l, &l->gpus[i]);
                if (r < 0)
                        return r;
        }
        r = keep_busy(l, start_multiply, 2 * n * n * n);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < l->w->n_gpus; i++) {
                LoadGpu *g = &l->gpus[i];

                g->gemm_tflops = g->usec > 0 ? g->work / g->usec / 1e6 : 0;
                r = check_product(l, g);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void send_device(Load *l, const LoadGpu *g) {
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_INT("index", g->gpu->device), JSON_STRING("pci", g->gpu->pci),
                        JSON_STRING("model", g->gpu->name), JSON_DOUBLE("hbm_gbs", g->hbm_gbs),
                        JSON_DOUBLE("gemm_tflops", g->gemm_tflops), JSON_INT("wrong", g->wrong));
        event_send(&l->w->events, "device", o);
}

static int open_all(Load *l) {
        Worker *w = l->w;
        int r;

        event_phase(&w->events, "loading CUDA and opening the GPUs", REASON_CUDA_TIMEOUT, 60);
        r = worker_load_cuda(w);
        if (r < 0)
                return r;
        r = worker_open_gpus(w);
        if (r < 0)
                return r;

        l->gpus = calloc(w->n_gpus, sizeof(*l->gpus));
        if (!l->gpus)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");
        for (unsigned i = 0; i < w->n_gpus; i++) {
                l->gpus[i].gpu = &w->gpus[i];
                r = prepare(l, &l->gpus[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int load_all(Worker *w) {
        Load l = { .w = w, .bytes = w->options->max_bytes / 16 * 16, .n = w->options->matrix };
        int r;

        r = open_all(&l);
        if (r < 0)
                return r;

        event_phase(&w->events, "copying memory", REASON_CUDA_TIMEOUT, deadline_left(w->deadline));
        r = load_memory(&l);
        if (r < 0)
                return r;
        event_phase(&w->events, "multiplying matrices", REASON_CUDA_TIMEOUT,
                        deadline_left(w->deadline));
        r = load_tensor_cores(&l);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < w->n_gpus; i++) {
                send_device(&l, &l.gpus[i]);
                load_note_wrong(&l, &l.gpus[i], l.gpus[i].wrong, "the load");
        }

        event_phase(&w->events, "copying between GPUs", REASON_CUDA_TIMEOUT,
                        deadline_left(w->deadline));
        r = load_ways(&l);
        if (r < 0)
                return r;
        return w->failure.reason == REASON_NONE ? 0 : -EIO;
}
