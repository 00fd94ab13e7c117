/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A run from its start to its verdict: run_all() is the measuring child's way, bench_supervised()
 * what the parent does meanwhile. */

#include "ncclbench/bench.h"
#include "ncclbench/deadline.h"
#include "shared/strv.h"
#include "ncclbench/supervise.h"
#include "ncclbench/worker.h"

/* Seconds for cuInit, contexts and kernels: eight GPUs without persistence mode take 30. */
#define DRIVER_PATIENCE 60

static int load_libraries(Worker *w) {
        _cleanup_free_ char *error = NULL;
        int r;

        r = worker_load_cuda(w);
        if (r < 0)
                return r;
        r = nccl_api_load(w->options->nccl_library, &w->nccl, &error);
        if (r < 0)
                return failure_set(&w->failure,
                                r == -ENOSYS ? REASON_NCCL_TOO_OLD : REASON_NCCL_NO_LIBRARY, "%s",
                                strempty(error));
        return 0;
}

static int connect_all(Worker *w) {
        const RendezvousConfig config = {
                .rank = w->launch->rank,
                .world = w->launch->world,
                .host = w->launch->host,
                .port = w->launch->port,
                .name = w->launch->name,
                .secret = w->launch->secret,
        };

        if (w->launch->world == 1)
                return 0;
        return rendezvous_join(&config, MIN(w->deadline, deadline_in(w->options->init_timeout)),
                        &w->rendezvous, &w->failure);
}

static int create_communicators(Worker *w) {
        uint64_t deadline = MIN(w->deadline, deadline_in(w->options->init_timeout));
        ncclUniqueId id = {};
        int r;

        w->group = (Group) {
                .cuda = &w->cuda,
                .nccl = &w->nccl,
                .rendezvous = w->rendezvous,
                .gpus = w->gpus,
                .n = w->n_gpus,
                .ranks = w->ranks,
        };
        if (w->launch->rank == 0) {
                ncclResult_t e = w->nccl.GetUniqueId(&id);

                if (e != ncclSuccess)
                        return group_failed(&w->group, NULL, e, REASON_NCCL_INIT_FAILED,
                                        "ncclGetUniqueId", &w->failure);
        }
        r = rendezvous_broadcast(w->rendezvous, &id, sizeof(id), deadline, &w->failure);
        if (r < 0)
                return r;
        return group_init(&w->group, &id, deadline, &w->failure);
}

/* Libraries and GPUs: nothing of it needs the other processes. */
static int open_node(Worker *w) {
        int r;

        event_phase(&w->events, "loading CUDA and opening the GPUs", REASON_CUDA_TIMEOUT,
                        DRIVER_PATIENCE);
        r = load_libraries(w);
        if (r < 0)
                return r;
        return worker_open_gpus(w);
}

/* The others must hear that we cannot measure, or they wait for us until their time is over. Our
 * own supervisor hears it first: they may never come. */
static void give_up_before_joining(Worker *w) {
        if (w->launch->world == 1)
                return;

        event_failure(&w->events, &w->failure);
        event_phase(&w->events, "telling the other processes", REASON_RENDEZVOUS_TIMEOUT,
                        w->options->init_timeout);
        (void) connect_all(w);
}

/* Options that only make sense for so many ranks. */
static int check_ranks(Worker *w) {
        const Options *o = w->options;

        if (o->root >= w->ranks)
                return failure_set(&w->failure, REASON_INTERNAL, "root %d: there are %d ranks",
                                o->root, w->ranks);
        if (o->corrupt_rank >= w->ranks)
                return failure_set(&w->failure, REASON_INTERNAL, "--corrupt: there are %d ranks",
                                w->ranks);
        return 0;
}

static int join_others(Worker *w) {
        int r;

        event_phase(&w->events, "waiting for the other processes", REASON_RENDEZVOUS_TIMEOUT,
                        w->options->init_timeout);
        r = connect_all(w);
        if (r < 0)
                return r;
        if (w->launch->rank == 0)
                about_versions(w);

        r = about_ranks(w);
        if (r < 0)
                return r;
        return check_ranks(w);
}

/* NCCL_WIN_COLL_SYMMETRIC. */
#define WINDOW_SYMMETRIC 1

static ncclResult_t register_one(Worker *w, const Gpu *gpu, void *buffer) {
        void *handle;

        if (w->options->registration == 2)
                return w->nccl.CommWindowRegister(
                                gpu->comm, buffer, gpu->bytes, &handle, WINDOW_SYMMETRIC);
        return w->nccl.CommRegister(gpu->comm, buffer, gpu->bytes, &handle);
}

/* -R: NCCL may then use the buffers without copies of its own. */
static int register_buffers(Worker *w) {
        unsigned how = w->options->registration;
        ncclResult_t r, end;

        if (how == 0)
                return 0;
        if (how == 2 ? !w->nccl.CommWindowRegister : !w->nccl.CommRegister)
                return failure_set(&w->failure, REASON_NCCL_TOO_OLD, "-R %u needs NCCL %s", how,
                                how == 2 ? "2.27" : "2.19");

        r = w->nccl.GroupStart();
        for (unsigned i = 0; i < w->n_gpus && !nccl_failed(r); i++) {
                r = register_one(w, &w->gpus[i], w->gpus[i].send);
                if (!nccl_failed(r))
                        r = register_one(w, &w->gpus[i], w->gpus[i].receive);
        }
        end = w->nccl.GroupEnd();
        if (!nccl_failed(r))
                r = end;
        return nccl_failed(r) ? group_failed(&w->group, NULL, r, REASON_NCCL_ERROR,
                                                "registering the buffers", &w->failure)
                              : 0;
}

static int measure_all(Worker *w) {
        int r;

        event_phase(&w->events, "measuring", REASON_NCCL_TIMEOUT, deadline_left(w->deadline));
        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_allocate(&w->cuda, &w->nccl, &w->gpus[i],
                                w->options->max_bytes + w->options->unalign * TYPE_SIZE_MAX,
                                &w->failure);
                if (r < 0)
                        return r;
        }

        r = register_buffers(w);
        if (r < 0)
                return r;
        r = sweep_all(w);
        if (r < 0)
                return r;
        /* Who leaves first takes its communicators with it. */
        return rendezvous_broadcast(w->rendezvous, NULL, 0, w->deadline, &w->failure);
}

static int run_all(Worker *w) {
        int r;

        r = open_node(w);
        if (r < 0) {
                give_up_before_joining(w);
                return r;
        }

        r = join_others(w);
        if (r < 0)
                return r;

        event_phase(&w->events, "setting up the communicators", REASON_NCCL_INIT_TIMEOUT,
                        w->options->init_timeout);
        r = create_communicators(w);
        if (r < 0)
                return r;

        return measure_all(w);
}

typedef struct Run {
        const Options *options;
        const Launch *launch;
        Report *report;
} Run;

/* In the child. */
static int bench_run(int event_fd, void *userdata) {
        const Run *run = userdata;
        _cleanup_free_ Worker *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return 1;

        /* NCCL_DEBUG writes to standard output, which then belongs to the JSON. */
        if (run->options->json)
                dup2(STDERR_FILENO, STDOUT_FILENO);

        w->options = run->options;
        w->launch = run->launch;
        w->events.fd = event_fd;
        w->deadline = deadline_in(run->options->timeout);

        r = w->options->load ? load_all(w) : w->options->runtime ? runtime_all(w) : run_all(w);
        if (r < 0) {
                event_failure(&w->events, &w->failure);
                rendezvous_fail(w->rendezvous, &w->failure);
                /* Said first, because an abort may hang as the operation did. */
                group_abort(&w->group);
                return 1;
        }
        event_send(&w->events, "end", json_object_new_object());
        return 0;
}

static void on_line(Supervisor *s, const char *line) {
        Run *run = s->userdata;

        report_line(run->report, line, &s->deadline);
}

int bench_supervised(const Options *o, const Launch *launch, FILE *out, Report **ret_report) {
        _cleanup_report_ Report *report = report_new(o, launch, out);
        Run run = { .options = o, .launch = launch, .report = report };
        Supervisor s = {
                .child = bench_run,
                .on_line = on_line,
                .userdata = &run,
                .deadline = deadline_in(o->timeout + 5),
        };
        ChildEnd end;
        int status, r;

        if (!report)
                return -ENOMEM;

        r = supervise(&s, &end, &status);
        if (r < 0)
                return r;

        r = report_finish(report, end, status);
        if (ret_report)
                *ret_report = TAKE_PTR(report);
        return r;
}
