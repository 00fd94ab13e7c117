/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is measured in which order: operations, their types and reductions, sizes; and the row that
 * process 0 sends of each. */

#include "ncclbench/deadline.h"
#include "ncclbench/pattern-host.h"
#include "ncclbench/worker.h"

/* One column group of a row: {"time_us": …, "busbw": …}. */
static json_object *describe_cell(const Row *row, const Measured *m, int ranks) {
        double bytes = collective_bytes(
                        row->collective, &row->layout, type_table[row->type].size, ranks);
        /* Bytes per µs / 1000 = 10⁹ bytes per s. */
        double algbw = m->usec > 0 ? bytes / m->usec / 1000 : 0;
        json_object *o = json_object_new_object();

        if (!o)
                return NULL;
        json_set_fields(o, JSON_DOUBLE("time_us", m->usec), JSON_DOUBLE("time_us_min", m->usec_min),
                        JSON_DOUBLE("time_us_max", m->usec_max), JSON_DOUBLE("algbw", algbw),
                        JSON_DOUBLE("busbw", algbw * row->collective->factor(ranks)));
        if (m->laps.cpu_usec > 0)
                json_set_fields(o, JSON_DOUBLE("cpu_time_us", m->laps.cpu_usec));
        if (m->laps.lap_max > 0)
                json_set_fields(o, JSON_DOUBLE("iteration_us_min", m->laps.lap_min),
                                JSON_DOUBLE("iteration_us_max", m->laps.lap_max),
                                JSON_DOUBLE("iteration_us_p99", m->laps.lap_p99),
                                JSON_DOUBLE("iteration_cv_percent", m->laps.lap_deviation));
        if (m->checked)
                json_set_int(o, "wrong", (int64_t) m->wrong);
        if (m->wrong > 0)
                json_set_string(o, "detail", m->detail);
        return o;
}

static void send_row(
                Worker *w, const Row *row, const Measured *out_of_place, const Measured *in_place) {
        const TypeInfo *type = &type_table[row->type];
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_STRING("collective", row->collective->name),
                        JSON_INT("nominal", row->nominal),
                        JSON_INT("size", layout_bytes(&row->layout, type->size)),
                        JSON_INT("count", row->layout.count), JSON_STRING("type", type->name),
                        JSON_STRING("redop", op_names[row->op]), JSON_INT("root", row->root),
                        JSON_TAKE("out_of_place", describe_cell(row, out_of_place, w->ranks)),
                        JSON_TAKE("in_place", describe_cell(row, in_place, w->ranks)));
        event_send(&w->events, "row", o);
}

/* Where each size has a limit of its own, it begins now. */
static void begin_row_time(Worker *w) {
        double limit = w->options->row_timeout;

        if (limit == 0)
                return;
        w->deadline = deadline_in(limit);
        event_phase(&w->events, "measuring", REASON_NCCL_TIMEOUT, limit);
}

static int run_row(Worker *w, const Row *row) {
        Measured out_of_place, in_place;
        int r;

        begin_row_time(w);
        r = measure_row(w, row, false, &out_of_place);
        if (r < 0)
                return r;
        r = measure_row(w, row, true, &in_place);
        if (r < 0)
                return r;

        if (w->launch->rank == 0)
                send_row(w, row, &out_of_place, &in_place);
        return 0;
}

static Row make_row(
                const Worker *w, const Collective *c, int type, int op, int root, size_t bytes) {
        size_t size = type_table[type].size;
        Row row = {
                .collective = c,
                .type = type,
                .op = c->reduces ? op : OP_NONE,
                .root = root,
                .nominal = bytes,
        };

        c->layout(bytes / size, size, (size_t) w->ranks, &row.layout);
        return row;
}

static int sweep_cycle(Worker *w, const Collective *c, int type, int op, int root) {
        const Options *o = w->options;

        for (size_t bytes = o->min_bytes; bytes <= o->max_bytes;
                        bytes = options_next_size(o, bytes)) {
                Row row = make_row(w, c, type, op, root, bytes);
                int r = run_row(w, &row);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* All sizes of one operation, type and reduction. */
static int sweep_sizes(Worker *w, const Collective *c, int type, int op, int root) {
        const Options *o = w->options;
        size_t bytes;
        Row row;
        int r;

        begin_row_time(w);
        for (bytes = MAX(o->min_bytes, (size_t) 1); bytes <= o->max_bytes; bytes *= 2) {
                row = make_row(w, c, type, op, root, bytes);
                r = measure_warm_up(w, &row, o->warmup);
                if (r < 0)
                        return r;
        }

        for (unsigned cycle = 0; cycle < o->cycles || o->cycles == 0; cycle++) {
                r = sweep_cycle(w, c, type, op, root);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* One root, or with -r all each of them. */
static int sweep_roots(Worker *w, const Collective *c, int type, int op) {
        int root = w->options->root, first = MAX(root, 0), last = root < 0 ? w->ranks - 1 : root;

        if (!c->rooted)
                return sweep_sizes(w, c, type, op, -1);
        for (int i = first; i <= last; i++) {
                int r = sweep_sizes(w, c, type, op, i);

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

        if (w->nccl.version < (int) t->min_nccl) {
                if (!by_name)
                        return 0;
                return failure_set(&w->failure, REASON_NCCL_TOO_OLD,
                                "%s needs NCCL %u.%u, this is %d.%d", t->name, t->min_nccl / 10000,
                                t->min_nccl / 100 % 100, w->nccl.version / 10000,
                                w->nccl.version / 100 % 100);
        }
        if (pattern_prepare(&job) < 0) {
                if (!by_name)
                        return 0;
                return failure_set(&w->failure, REASON_INTERNAL,
                                "%s of %s over %d ranks cannot be checked", op_names[op], t->name,
                                w->ranks);
        }

        /* NCCL reduces 8-bit floats from compute capability 9.0 on, and has no average of them
         * (2.28: "invalid argument"). */
        if (is_f8 && op != OP_NONE && !by_name && (op == OP_AVG || w->gpus[0].compute_major < 9))
                return 0;
        return 1;
}

/* All reductions of one operation and type; a single one where it does not reduce. */
static int sweep_ops(Worker *w, const Collective *c, int type) {
        const Options *o = w->options;
        int first = MAX(o->op, 0), last = o->op < 0 && c->reduces ? OP_COUNT - 1 : first;
        bool by_name = o->type >= 0 && o->op >= 0;

        for (int op = first; op <= last; op++) {
                int r = usable(w, type, c->reduces ? op : OP_NONE, by_name);

                if (r < 0)
                        return r;
                if (r == 0)
                        continue;

                r = sweep_roots(w, c, type, op);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void send_table(Worker *w, const Collective *c) {
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_STRING("collective", c->name), JSON_STRING("label", c->label));
        event_send(&w->events, "table", o);
}

/* A table of one operation. */
static int sweep_collective(Worker *w, const Collective *c) {
        int first = MAX(w->options->type, 0), last = w->options->type < 0 ? TYPE_COUNT - 1 : first;

        if (w->launch->rank == 0)
                send_table(w, c);

        for (int type = first; type <= last; type++) {
                int r = sweep_ops(w, c, type);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* With all it is left out, as by nccl-tests. */
static int cannot_be_done(Worker *w, const Collective *c) {
        if (!w->options->collective)
                return 0;
        return failure_set(&w->failure, REASON_INTERNAL,
                        "%s needs a number of ranks that is a power of two; there are %d", c->name,
                        w->ranks);
}

int sweep_all(Worker *w) {
        for (size_t i = 0; i < collective_count; i++) {
                const Collective *c = &collective_table[i];
                int r;

                if (w->options->collective && w->options->collective != c)
                        continue;
                if (collective_steps(c, w->ranks) == 0) {
                        r = cannot_be_done(w, c);
                        if (r < 0)
                                return r;
                        continue;
                }
                r = sweep_collective(w, c);
                if (r < 0)
                        return r;
        }
        return 0;
}
