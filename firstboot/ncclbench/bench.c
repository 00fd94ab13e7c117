/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/bench.h"
#include "ncclbench/clock.h"
#include "shared/strv.h"
#include "ncclbench/supervise.h"
#include "ncclbench/worker.h"

#include <inttypes.h>

#define DRIVER_PATIENCE \
        60 /* seconds for cuInit, contexts and kernels: eight GPUs without persistence mode take \
              30 */

static void set_real(json_object *o, const char *key, double v) {
        json_set(o, key, json_object_new_double(v));
}

static int load_libraries(Worker *w) {
        _cleanup_free_ char *error = NULL;
        int r;

        r = cuda_api_load(w->options->cuda_library, &w->cuda, &error);
        if (r < 0)
                return failure_set(&w->failure,
                                r == -ENOSYS ? REASON_DRIVER_LIBRARY_MISMATCH
                                             : REASON_CUDA_NO_DRIVER,
                                "%s", strempty(error));
        r = nccl_api_load(w->options->nccl_library, &w->nccl, &error);
        if (r < 0)
                return failure_set(&w->failure,
                                r == -ENOSYS ? REASON_NCCL_TOO_OLD : REASON_NCCL_NO_LIBRARY, "%s",
                                strempty(error));
        return 0;
}

/* Which CUDA devices are this process's: --devices; else -g of them (alone: all) from local rank ×
 * g on, or from 0 where the job shows this process no more than its own. */
static int choose_devices(Worker *w) {
        const Options *o = w->options;
        unsigned there, n, first;
        int r;

        r = gpu_count(&w->cuda, &there, &w->failure);
        if (r < 0)
                return r;
        n = o->n_devices > 0        ? o->n_devices
            : o->gpus > 0           ? o->gpus
            : w->launch->world == 1 ? there
                                    : 1;
        if (n > OPTION_GPUS_MAX)
                n = OPTION_GPUS_MAX;
        first = there == n ? 0 : (unsigned) w->launch->local_rank * n;
        for (unsigned i = 0; i < n; i++) {
                int device = o->n_devices > 0 ? o->devices[i] : (int) (first + i);

                if ((unsigned) device >= there)
                        return failure_set(&w->failure, REASON_CUDA_NO_DEVICE,
                                        "GPU %d was asked for, but CUDA sees %u", device, there);
                w->gpus[i] = (Gpu) { .device = device,
                        .rank = w->launch->rank * (int) n + (int) i };
        }
        w->n_gpus = n;
        w->ranks = w->launch->world * (int) n;
        return 0;
}

static int open_gpus(Worker *w) {
        int r;

        r = choose_devices(w);
        for (unsigned i = 0; r >= 0 && i < w->n_gpus; i++)
                r = gpu_open(&w->cuda, &w->gpus[i], &w->failure);
        return r;
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

        w->group = (Group) { .cuda = &w->cuda,
                .nccl = &w->nccl,
                .rendezvous = w->rendezvous,
                .gpus = w->gpus,
                .n = w->n_gpus,
                .ranks = w->ranks };
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

static void cell(json_object *row, const char *key, const Row *r, const Measured *m, int ranks) {
        json_object *o = json_object_new_object();
        double bytes = (double) layout_bytes(&r->layout, type_table[r->type].size);
        double algbw = m->usec > 0 ? bytes / m->usec / 1000
                                   : 0; /* bytes per µs / 1000 = 10⁹ bytes per s */

        if (!o)
                return;
        set_real(o, "time_us", m->usec);
        set_real(o, "time_us_min", m->usec_min);
        set_real(o, "time_us_max", m->usec_max);
        set_real(o, "algbw", algbw);
        set_real(o, "busbw", algbw * r->collective->factor(ranks));
        if (m->checked)
                json_set_int(o, "wrong", (int64_t) m->wrong);
        if (m->wrong > 0)
                json_set_string(o, "detail", m->detail);
        json_set(row, key, o);
}

static int run_row(Worker *w, const Row *row) {
        json_object *o;
        Measured m;
        int r;

        r = measure_row(w, row, false, &m);
        if (r < 0)
                return r;
        o = json_object_new_object();
        if (!o)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");
        json_set_string(o, "collective", row->collective->name);
        json_set_int(o, "nominal", (int64_t) row->nominal);
        json_set_int(o, "size", (int64_t) layout_bytes(&row->layout, type_table[row->type].size));
        json_set_int(o, "count", (int64_t) row->layout.count);
        json_set_string(o, "type", type_table[row->type].name);
        json_set_string(o, "redop", op_names[row->op]);
        json_set_int(o, "root", row->root);
        cell(o, "out_of_place", row, &m, w->ranks);
        r = measure_row(w, row, true, &m);
        if (r < 0) {
                json_object_put(o);
                return r;
        }
        cell(o, "in_place", row, &m, w->ranks);
        if (w->launch->rank == 0)
                event_send(&w->events, "row", o);
        else
                json_object_put(o);
        return 0;
}

static Row make_row(const Worker *w, const Collective *c, int type, int op, size_t bytes) {
        Row row = { .collective = c,
                .type = type,
                .op = c->reduces ? op : OP_NONE,
                .root = c->rooted ? w->options->root : -1,
                .nominal = bytes };

        c->layout(bytes / type_table[type].size, type_table[type].size, (size_t) w->ranks,
                        &row.layout);
        return row;
}

/* All sizes of one operation, type and reduction. */
static int sweep(Worker *w, const Collective *c, int type, int op) {
        const Options *o = w->options;
        Row row;
        int r;

        for (size_t bytes = MAX(o->min_bytes, (size_t) 1); bytes <= o->max_bytes; bytes *= 2) {
                row = make_row(w, c, type, op, bytes);
                r = measure_warm_up(w, &row, o->warmup);
                if (r < 0)
                        return r;
        }
        for (size_t bytes = o->min_bytes; bytes <= o->max_bytes;
                        bytes = o->step_factor > 0 ? bytes * o->step_factor
                                                   : bytes + o->step_bytes) {
                row = make_row(w, c, type, op, bytes);
                r = run_row(w, &row);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether a type and reduction can be measured here: 1 or 0. With -d all or -o all what cannot is
 * left out; asked for by name it is an error, ours or NCCL's own. */
static int usable(Worker *w, int type, int op, bool by_name) {
        PatternJob job = {
                .type = (uint32_t) type, .op = (uint32_t) op, .ranks = (uint32_t) w->ranks
        };
        const TypeInfo *t = &type_table[type];
        bool is_f8 = type == TYPE_F8E4M3 || type == TYPE_F8E5M2;

        if (w->nccl.version < (int) t->min_nccl)
                return by_name ? failure_set(&w->failure, REASON_NCCL_TOO_OLD,
                                                 "%s needs NCCL %u.%u, this is %d.%d", t->name,
                                                 t->min_nccl / 10000, t->min_nccl / 100 % 100,
                                                 w->nccl.version / 10000,
                                                 w->nccl.version / 100 % 100)
                               : 0;
        if (pattern_prepare(&job) < 0)
                return by_name ? failure_set(&w->failure, REASON_INTERNAL,
                                                 "%s of %s over %d ranks cannot be checked",
                                                 op_names[op], t->name, w->ranks)
                               : 0;
        /* NCCL reduces 8-bit floats from compute capability 9.0 on, and has no average of them
         * (2.28: "invalid argument"). */
        if (is_f8 && op != OP_NONE && !by_name && (op == OP_AVG || w->gpus[0].compute_major < 9))
                return 0;
        return 1;
}

static int run_collective(Worker *w, const Collective *c) {
        const Options *o = w->options;
        json_object *table = json_object_new_object();

        if (table && w->launch->rank == 0) {
                json_set_string(table, "collective", c->name);
                json_set_string(table, "label", c->label);
                event_send(&w->events, "table", table);
        } else
                json_object_put(table);
        for (int type = o->type < 0 ? 0 : o->type; type <= (o->type < 0 ? TYPE_COUNT - 1 : o->type);
                        type++)
                for (int op = o->op < 0 ? 0 : o->op; op <= (o->op < 0 ? OP_COUNT - 1 : o->op);
                                op++) {
                        int r;

                        if (!c->reduces && op != (o->op < 0 ? 0 : o->op))
                                break;
                        r = usable(w, type, c->reduces ? op : OP_NONE, o->type >= 0 && o->op >= 0);
                        if (r > 0)
                                r = sweep(w, c, type, op);
                        if (r < 0)
                                return r;
                }
        return 0;
}

static int run_all(Worker *w) {
        const Options *o = w->options;
        double left;
        int r;

        event_phase(&w->events, "loading CUDA and opening the GPUs", REASON_CUDA_TIMEOUT,
                        DRIVER_PATIENCE);
        r = load_libraries(w);
        if (r >= 0)
                r = open_gpus(w);
        if (r < 0 && w->launch->world > 1) {
                /* The others must hear of it, or they wait for us until their time is over. Our
                 * own supervisor hears it first: they may never come. */
                event_failure(&w->events, &w->failure);
                event_phase(&w->events, "telling the other processes", REASON_RENDEZVOUS_TIMEOUT,
                                o->init_timeout);
                (void) connect_all(w);
        }
        if (r < 0)
                return r;

        event_phase(&w->events, "waiting for the other processes", REASON_RENDEZVOUS_TIMEOUT,
                        o->init_timeout);
        r = connect_all(w);
        if (r >= 0 && w->launch->rank == 0)
                about_versions(w);
        if (r >= 0)
                r = about_ranks(w);
        if (r < 0)
                return r;
        if (o->root >= w->ranks)
                return failure_set(&w->failure, REASON_INTERNAL, "root %d: there are %d ranks",
                                o->root, w->ranks);
        if (o->corrupt_rank >= w->ranks)
                return failure_set(&w->failure, REASON_INTERNAL, "--corrupt: there are %d ranks",
                                w->ranks);

        event_phase(&w->events, "setting up the communicators", REASON_NCCL_INIT_TIMEOUT,
                        o->init_timeout);
        r = create_communicators(w);
        if (r < 0)
                return r;

        left = (double) (w->deadline - MIN(w->deadline, now_nsec())) / 1e9;
        event_phase(&w->events, "measuring", REASON_NCCL_TIMEOUT, left);
        for (unsigned i = 0; i < w->n_gpus; i++) {
                r = gpu_allocate(&w->cuda, &w->nccl, &w->gpus[i], o->max_bytes, &w->failure);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < collective_count; i++) {
                if (o->collective && o->collective != &collective_table[i])
                        continue;
                r = run_collective(w, &collective_table[i]);
                if (r < 0)
                        return r;
        }
        /* Who leaves first takes its communicators with it. */
        return rendezvous_broadcast(w->rendezvous, NULL, 0, w->deadline, &w->failure);
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
        r = run_all(w);
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
        Supervisor s = { .child = bench_run,
                .on_line = on_line,
                .userdata = &run,
                .deadline = deadline_in(o->timeout + 5) };
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
