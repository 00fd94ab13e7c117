/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tournament of nodes: rounds of pairs, waves of retests, and the table of verdicts. Who meets
 * whom is pairs-plan.c's. */

#include "ncclbench/pairs.h"
#include "ncclbench/bench.h"
#include "ncclbench/deadline.h"
#include "ncclbench/pairs-limit.h"
#include "ncclbench/pairs-plan.h"
#include "ncclbench/rendezvous.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

/* A pair listens on the master's port + 1 + the lower node's number, modulo this. */
#define PAIR_PORTS 4096
#define EXCHANGE_SECONDS 30.0 /* beyond a measurement's own limit */

/* What a process tells all others after a measurement. */
typedef struct Note {
        int32_t partner, reason, ranks;
        double busbw;
        char text[200];
} Note;

typedef struct Tournament {
        const Options *options;
        const Launch *launch;
        Rendezvous *rendezvous;
        int n;
        NodeState *states;
        PairResult *results;
        Note *notes; /* of the last round */
        Note *worst; /* of each node: the first failure, else its slowest measurement */
        int *partner;
        bool *present;
        PairsLimit *limits; /* of each node */
        double *least;      /* of each node in the last measurement, GB/s */
        size_t bytes;       /* what is measured */
        double reference;   /* GB/s; the best median of the rounds */
} Tournament;

static void tournament_done(Tournament *t) {
        free(t->states);
        free(t->results);
        free(t->notes);
        free(t->worst);
        free(t->partner);
        free(t->present);
        free(t->limits);
        free(t->least);
        rendezvous_free(t->rendezvous);
}

/* How the run of two processes is started that measures with the partner. */
static Launch pair_launch(const Tournament *t, int partner, unsigned step) {
        int me = t->launch->rank, low = MIN(me, partner);
        long port = strtol(t->launch->port, NULL, 10);
        Launch launch = *t->launch;

        launch.rank = me == low ? 0 : 1;
        launch.world = 2;
        launch.local_rank = 0;
        launch.whole_node = true;
        launch.by = "pairs";
        snprintf(launch.host, sizeof(launch.host), "%s",
                        rendezvous_peer(t->rendezvous, low)->address);

        /* Another port each time: the one before may still be closing. */
        port = 1024 + (port + 1 + (low + (long) step * t->n) % PAIR_PORTS - 1024) % (65536 - 1024);
        snprintf(launch.port, sizeof(launch.port), "%ld", port);
        return launch;
}

/* The bus bandwidth of a report's one row; 0 where there is none. */
static double first_busbw(const Report *report) {
        json_object *rows = json_get(report_document(report), "rows"), *cell, *busbw;

        if (!rows || json_object_array_length(rows) == 0)
                return 0;
        cell = json_get(json_object_array_get_idx(rows, 0), "out_of_place");
        busbw = json_get(cell, "busbw");
        return busbw ? json_object_get_double(busbw) : 0;
}

/* Measures with the partner, as a run of two processes with a rendezvous of its own, so that
 * whatever happens in it stays in it. */
static Note measure(const Tournament *t, int partner, unsigned step) {
        const Launch launch = pair_launch(t, partner, step);
        _cleanup_report_ Report *report = NULL;
        Note note = { .partner = partner };
        Options options = *t->options;
        const Failure *failure;
        int r;

        options.pairs = options.json = false;
        options.json_path = NULL;
        options.min_bytes = options.max_bytes = t->bytes;
        if (launch.rank != 0)
                options.n_expect = 0; /* only the pair's first process sees the rows */

        r = bench_supervised(&options, &launch, NULL, &report);
        if (r < 0) {
                note.reason = REASON_INTERNAL;
                snprintf(note.text, sizeof(note.text), "cannot start the measuring process: %s",
                                strerror(-r));
                return note;
        }
        failure = report_failure(report);
        note.reason = (int32_t) failure->reason;
        snprintf(note.text, sizeof(note.text), "%s", strempty(failure->text));
        note.busbw = first_busbw(report);
        note.ranks = (int32_t) json_get_int(report_document(report), "n_ranks", 0);
        return note;
}

/* A pair has one result: the figure comes from one half, a failure may come from either. */
static Note pair_note(const Tournament *t, int i) {
        const Note *own = &t->notes[i], *other = &t->notes[t->partner[i]];
        Note n = own->reason != REASON_NONE || !t->present[t->partner[i]] ? *own : *other;

        n.partner = t->partner[i];
        n.busbw = MAX(own->busbw, other->busbw);
        n.ranks = MAX(own->ranks, other->ranks);
        n.text[sizeof(n.text) - 1] = '\0';
        return n;
}

/* Whether a note is to be shown rather than the one kept: failures before figures, and the first
 * failure, or else the slowest measurement. */
static bool is_worse(const Note *new, const Note *kept) {
        if (kept->partner < 0)
                return true;
        if (kept->reason != REASON_NONE)
                return false;
        return new->reason != REASON_NONE || new->busbw < kept->busbw;
}

static void remember(Tournament *t) {
        for (int i = 0; i < t->n; i++) {
                Note new;

                if (!t->present[i] || t->partner[i] < 0)
                        continue;
                new = pair_note(t, i);
                if (is_worse(&new, &t->worst[i]))
                        t->worst[i] = new;
        }
}

/* One measurement of everybody who has a partner, then everybody's result to everybody. */
static int play(Tournament *t, unsigned step, Failure *f) {
        double limit = t->options->timeout + t->options->init_timeout * 2 + EXCHANGE_SECONDS;
        int partner = t->partner[t->launch->rank], r;
        Note mine = { .partner = -1 };

        if (partner >= 0)
                mine = measure(t, partner, step);
        if (interrupt_signal())
                return failure_set(f, REASON_INTERRUPTED, "ended by a signal");
        r = rendezvous_exchange(t->rendezvous, &mine, sizeof(mine), t->notes, t->present,
                        deadline_in(limit), f);
        if (r < 0)
                return r;
        for (int i = 0; i < t->n; i++)
                t->results[i] = (PairResult) {
                        .present = t->present[i],
                        /* Who is gone cannot say whom it was with: the plan can. */
                        .partner = t->partner[i],
                        .well = t->present[i] && t->notes[i].reason == REASON_NONE,
                        .busbw = t->present[i] ? t->notes[i].busbw : 0,
                };
        remember(t);
        return 0;
}

/* Who left earlier is nobody's partner. */
static void drop_gone_partners(Tournament *t) {
        for (int i = 0; i < t->n; i++)
                if (t->partner[i] >= 0 && t->states[t->partner[i]] == NODE_GONE)
                        t->partner[i] = -1;
}

/* What each pair must reach: the part of the median, and the shape's limit whatever the others
 * do. */
static const double *set_least(Tournament *t) {
        double relative = t->reference * (1 - t->options->below_median / 100);

        for (int i = 0; i < t->n; i++) {
                const PairsLimit *own = &t->limits[i],
                                 *other = t->partner[i] >= 0 ? &t->limits[t->partner[i]] : own;

                t->least[i] = MAX(relative, pairs_limit_of(own, other, t->bytes));
        }
        return t->least;
}

static int run_rounds(Tournament *t, Failure *f) {
        unsigned step = 0;
        int r;

        for (unsigned round = 0; round < t->options->rounds; round++, step++) {
                plan_round(t->n, round, t->partner);
                drop_gone_partners(t);
                r = play(t, step, f);
                if (r < 0)
                        return r;
                t->reference = MAX(t->reference, plan_reference(t->results, t->n));
                plan_apply(t->states, t->results, t->n, set_least(t), false);
        }

        while (plan_retest(t->states, t->n, t->partner) > 0) {
                r = play(t, step++, f);
                if (r < 0)
                        return r;
                plan_apply(t->states, t->results, t->n, set_least(t), true);
        }
        return 0;
}

static bool is_well(NodeState s) {
        return s == NODE_PASSED || s == NODE_CLEARED;
}

/* Why a node did not pass. */
static Reason node_reason(const Tournament *t, int i) {
        const Note *w = &t->worst[i];

        if (t->states[i] == NODE_GONE)
                return REASON_PEER_FAILED;
        if (w->partner < 0)
                return REASON_PAIRS_NO_REFERENCE;
        if (w->reason == REASON_NONE) /* measured and right, but below the others */
                return REASON_NCCL_SLOW;
        return (Reason) w->reason < _REASON_MAX ? (Reason) w->reason : REASON_INTERNAL;
}

static json_object *slow_text(const Tournament *t, int i) {
        _cleanup_free_ char *text =
                        strf("busbw %.2f GB/s, must be %.2f", t->worst[i].busbw, t->least[i]);

        return text ? json_object_new_string(text) : NULL;
}

static json_object *describe_node(const Tournament *t, int i) {
        Reason reason = is_well(t->states[i]) ? REASON_NONE : node_reason(t, i);
        json_object *o = json_object_new_object();
        const Note *w = &t->worst[i];

        json_set_fields(o, JSON_STRING("node", rendezvous_peer(t->rendezvous, i)->name),
                        JSON_STRING("verdict", node_state_name(t->states[i])),
                        JSON_STRING("reason", reason_table[reason].code),
                        JSON_DOUBLE("busbw", w->busbw), JSON_INT("ranks", w->ranks),
                        JSON_DOUBLE("min_busbw", t->least[i]));
        if (w->partner >= 0)
                json_set_string(o, "with", rendezvous_peer(t->rendezvous, w->partner)->name);
        if (reason == REASON_NCCL_SLOW)
                json_set(o, "text", slow_text(t, i));
        else if (reason != REASON_NONE)
                json_set_string(o, "text", w->text);
        return o;
}

static int count_bad(const Tournament *t) {
        int bad = 0;

        for (int i = 0; i < t->n; i++)
                bad += !is_well(t->states[i]);
        return bad;
}

/* The highest limit that holds for any node; 0: none is known. */
static double absolute_limit(const Tournament *t) {
        double limit = 0;

        for (int i = 0; i < t->n; i++)
                limit = MAX(limit, pairs_limit_of(&t->limits[i], &t->limits[i], t->bytes));
        for (unsigned i = 0; i < t->options->n_expect; i++)
                limit = MAX(limit, t->options->expect[i].busbw);
        return limit;
}

static json_object *describe(const Tournament *t) {
        _cleanup_json_ json_object *document = json_object_new_object();
        json_object *nodes = json_object_new_array();
        int r;

        for (int i = 0; nodes && i < t->n; i++)
                (void) json_append(nodes, describe_node(t, i));
        r = json_set_fields(document, JSON_STRING("program", "ncclbench pairs"),
                        JSON_STRING("version", NCCLBENCH_VERSION), JSON_INT("bytes", t->bytes),
                        JSON_DOUBLE("reference_busbw", t->reference),
                        JSON_DOUBLE("min_busbw", absolute_limit(t)), JSON_TAKE("nodes", nodes),
                        JSON_INT("bad", count_bad(t)));
        return r < 0 || !nodes ? NULL : TAKE_PTR(document);
}

static void print_table(const Tournament *t, json_object *document, int bad) {
        json_object *nodes = json_get(document, "nodes");
        const Options *o = t->options;

        printf("# ncclbench pairs: %d nodes, %s %s %zu bytes, %u round%s; reference %.2f GB/s, limit %.2f\n",
                        t->n, o->collective->name, type_table[o->type].name, t->bytes, o->rounds,
                        o->rounds == 1 ? "" : "s", t->reference,
                        t->reference * (1 - o->below_median / 100));
        if (absolute_limit(t) > 0)
                printf("# absolute limit %.2f GB/s\n", absolute_limit(t));
        else
                printf("# no absolute limit is known: the nodes are compared among themselves alone (see --expect)\n");
        printf("# %-22s  %-8s  %10s  %-22s  %s\n", "node", "verdict", "busbw", "worst with",
                        "reason");
        for (size_t i = 0; i < json_object_array_length(nodes); i++) {
                json_object *n = json_object_array_get_idx(nodes, i);
                const char *text = strempty(json_get_string(n, "text"));

                printf("  %-22s  %-8s  %10.2f  %-22s  %s%s%s\n",
                                strempty(json_get_string(n, "node")),
                                strempty(json_get_string(n, "verdict")),
                                json_object_get_double(json_get(n, "busbw")),
                                strempty(json_get_string(n, "with")),
                                strempty(json_get_string(n, "reason")), isempty(text) ? "" : ": ",
                                text);
        }
        printf("# Verdict: %s\n",
                        bad == 0 ? "pass" : "FAIL: see the nodes above that did not pass");
        fflush(stdout);
}

/* Two processes on one node would share its GPUs and its network, and accuse each other. */
static int refuse_shared_node(const Tournament *t, int i, Failure *f) {
        const char *name = rendezvous_peer(t->rendezvous, i)->name;

        for (int j = i + 1; j < t->n; j++)
                if (streq(name, rendezvous_peer(t->rendezvous, j)->name))
                        return failure_set(f, REASON_RENDEZVOUS_ERROR,
                                        "processes %d and %d are both on %s: start one a node (--ntasks-per-node=1)",
                                        i, j, name);
        return 0;
}

static int refuse_shared_nodes(const Tournament *t, Failure *f) {
        for (int i = 0; i < t->n; i++) {
                int r = refuse_shared_node(t, i, f);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Process 0 reports on all nodes. Returns the exit status. */
static int report_nodes(const Tournament *t) {
        _cleanup_json_ json_object *document = describe(t);
        int bad = count_bad(t);

        if (!document)
                return log_oom(), 1;
        if (!t->options->json)
                print_table(t, document, bad);
        if (fflush(stdout) != 0)
                return log_error_errno(errno, "Cannot write the report to standard output"), 1;
        if (report_write(t->options, document) < 0)
                return 1;
        return bad > 0;
}

static int tournament_allocate(Tournament *t) {
        size_t n = (size_t) t->n;

        t->states = calloc(n, sizeof(*t->states));
        t->results = calloc(n, sizeof(*t->results));
        t->notes = calloc(n, sizeof(*t->notes));
        t->worst = calloc(n, sizeof(*t->worst));
        t->partner = calloc(n, sizeof(*t->partner));
        t->present = calloc(n, sizeof(*t->present));
        t->limits = calloc(n, sizeof(*t->limits));
        t->least = calloc(n, sizeof(*t->least));
        if (!t->states || !t->results || !t->notes || !t->worst || !t->partner || !t->present ||
                        !t->limits || !t->least)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++)
                t->worst[i].partner = -1;
        return 0;
}

/* This node's limit. Without --limits a file that is not there is no error: not every node has the
 * agent. */
static int own_limit(const Tournament *t, PairsLimit *ret, Failure *f) {
        const char *path = t->options->limits ? t->options->limits : PAIRS_LIMITS;
        _cleanup_free_ char *error = NULL;
        int r;

        r = pairs_limit_read(path, ret, &error);
        if (r == -ENOENT && !t->options->limits)
                return 0;
        if (r < 0)
                return failure_set(f, REASON_INTERNAL, "%s", strempty(error));
        return 0;
}

/* Everybody learns everybody's limit, and measures the size that the first of them is for, unless
 * the command line names one. */
static int agree_on_limits(Tournament *t, Failure *f) {
        double patience = t->options->init_timeout;
        PairsLimit mine = {};
        int r;

        r = own_limit(t, &mine, f);
        if (r < 0) {
                rendezvous_fail(t->rendezvous, f);
                return r;
        }
        r = rendezvous_exchange(t->rendezvous, &mine, sizeof(mine), t->limits, NULL,
                        deadline_in(patience), f);
        if (r < 0)
                return r;

        t->bytes = t->options->max_bytes;
        if (t->options->sized || t->options->n_expect > 0)
                return 0;
        for (int i = t->n - 1; i >= 0; i--)
                if (t->limits[i].bytes > 0)
                        t->bytes = t->limits[i].bytes;
        return 0;
}

/* From the meeting of all processes to their nodes' states. */
static int tournament_run(Tournament *t, Failure *f) {
        const RendezvousConfig config = {
                .rank = t->launch->rank,
                .world = t->launch->world,
                .host = t->launch->host,
                .port = t->launch->port,
                .name = t->launch->name,
                .secret = t->launch->secret,
        };
        int r;

        r = rendezvous_join(&config, deadline_in(t->options->init_timeout), &t->rendezvous, f);
        if (r < 0)
                return r;
        r = refuse_shared_nodes(t, f);
        if (r < 0)
                return r;
        r = agree_on_limits(t, f);
        if (r < 0)
                return r;
        return run_rounds(t, f);
}

int pairs_run(const Options *o, const Launch *launch) {
        _cleanup_(tournament_done) Tournament t = {
                .options = o,
                .launch = launch,
                .n = launch->world,
        };
        _cleanup_failure_ Failure f = {};

        if (launch->world < 2) {
                log_error("pairs needs two nodes at least: start it with srun --ntasks-per-node=1");
                return 2;
        }
        if (tournament_allocate(&t) < 0)
                return log_oom(), 1;

        if (tournament_run(&t, &f) < 0) {
                log_error("process %d on %s: %s: %s", launch->rank, launch->name,
                                reason_table[f.reason].code, strempty(f.text));
                return 1;
        }

        /* The other processes speak only for their own node. */
        return launch->rank == 0 ? report_nodes(&t) : !is_well(t.states[launch->rank]);
}
