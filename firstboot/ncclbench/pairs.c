/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/pairs.h"
#include "ncclbench/bench.h"
#include "ncclbench/clock.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "ncclbench/pairs-plan.h"
#include "ncclbench/rendezvous.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <inttypes.h>

#define PAIR_PORTS \
        4096 /* a pair listens on the master's port + 1 + the lower node's number, modulo this */
#define EXCHANGE_SECONDS 30.0 /* beyond a measurement's own limit */

/* What a process tells all others after a measurement. */
typedef struct Note {
        int32_t partner, reason;
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
        double reference; /* GB/s; the best median of the rounds */
} Tournament;

static void tournament_done(Tournament *t) {
        free(t->states);
        free(t->results);
        free(t->notes);
        free(t->worst);
        free(t->partner);
        free(t->present);
        rendezvous_free(t->rendezvous);
}

/* Measures with the partner, as a run of two processes with a rendezvous of its own, so that
 * whatever happens in it stays in it. */
static Note measure(const Tournament *t, int partner, unsigned step) {
        int me = t->launch->rank, low = MIN(me, partner);
        long port = strtol(t->launch->port, NULL, 10);
        Options options = *t->options;
        Launch launch = *t->launch;
        _cleanup_report_ Report *report = NULL;
        Note note = { .partner = partner };
        int r;

        options.pairs = options.json = false;
        options.json_path = NULL;
        if (me != low)
                options.n_expect = 0; /* only the pair's first process sees the rows */
        launch.rank = me == low ? 0 : 1;
        launch.world = 2;
        launch.local_rank = 0;
        launch.by = "pairs";
        snprintf(launch.host, sizeof(launch.host), "%s",
                        rendezvous_peer(t->rendezvous, low)->address);
        /* Another port each time: the one before may still be closing. */
        port = 1024 + (port + 1 + (low + (long) step * t->n) % PAIR_PORTS - 1024) % (65536 - 1024);
        snprintf(launch.port, sizeof(launch.port), "%ld", port);

        r = bench_supervised(&options, &launch, NULL, &report);
        if (r < 0) {
                note.reason = REASON_INTERNAL;
                snprintf(note.text, sizeof(note.text), "cannot start the measuring process: %s",
                                strerror(-r));
                return note;
        }
        note.reason = (int32_t) report_failure(report)->reason;
        snprintf(note.text, sizeof(note.text), "%s", strempty(report_failure(report)->text));
        json_object *rows = json_get(report_document(report), "rows");
        if (rows && json_object_array_length(rows) > 0) {
                json_object *cell = json_get(json_object_array_get_idx(rows, 0), "out_of_place");
                json_object *busbw = json_get(cell, "busbw");

                note.busbw = busbw ? json_object_get_double(busbw) : 0;
        }
        return note;
}

/* A pair has one result: the figure comes from one half, a failure may come from either. */
static Note pair_note(const Tournament *t, int i) {
        const Note *own = &t->notes[i], *other = &t->notes[t->partner[i]];
        Note n = own->reason != REASON_NONE || !t->present[t->partner[i]] ? *own : *other;

        n.partner = t->partner[i];
        n.busbw = MAX(own->busbw, other->busbw);
        n.text[sizeof(n.text) - 1] = '\0';
        return n;
}

/* Keeps each node's first failure, or else its slowest measurement, for the table. */
static void remember(Tournament *t) {
        for (int i = 0; i < t->n; i++) {
                Note *worst = &t->worst[i], new;

                if (!t->present[i] || t->partner[i] < 0)
                        continue;
                new = pair_note(t, i);
                if (worst->partner < 0 ||
                                (worst->reason == REASON_NONE &&
                                                (new.reason != REASON_NONE ||
                                                                new.busbw < worst->busbw)))
                        *worst = new;
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

static int run_rounds(Tournament *t, Failure *f) {
        double factor = 1 - t->options->below_median / 100;
        unsigned step = 0;
        int r;

        for (unsigned round = 0; round < t->options->rounds; round++, step++) {
                plan_round(t->n, round, t->partner);
                for (int i = 0; i < t->n; i++) /* who left earlier is nobody's partner */
                        if (t->partner[i] >= 0 && t->states[t->partner[i]] == NODE_GONE)
                                t->partner[i] = -1;
                r = play(t, step, f);
                if (r < 0)
                        return r;
                t->reference = MAX(t->reference, plan_reference(t->results, t->n));
                plan_apply(t->states, t->results, t->n, t->reference * factor, false);
        }
        while (plan_retest(t->states, t->n, t->partner) > 0) {
                r = play(t, step++, f);
                if (r < 0)
                        return r;
                plan_apply(t->states, t->results, t->n, t->reference * factor, true);
        }
        return 0;
}

static bool is_well(NodeState s) {
        return s == NODE_PASSED || s == NODE_CLEARED;
}

static json_object *describe(const Tournament *t, int *ret_bad) {
        json_object *document = json_object_new_object(), *nodes = json_object_new_array();

        *ret_bad = 0;
        if (!document || !nodes) {
                json_object_put(document);
                json_object_put(nodes);
                return NULL;
        }
        json_set_string(document, "program", "ncclbench pairs");
        json_set_string(document, "version", NCCLBENCH_VERSION);
        json_set(document, "reference_busbw", json_object_new_double(t->reference));
        for (int i = 0; i < t->n; i++) {
                const Note *w = &t->worst[i];
                json_object *o = json_object_new_object();
                bool well = is_well(t->states[i]);
                Reason reason = (Reason) w->reason;

                if (!o)
                        continue;
                *ret_bad += !well;
                if (reason >= _REASON_MAX)
                        reason = REASON_INTERNAL;
                if (t->states[i] == NODE_GONE)
                        reason = REASON_PEER_FAILED;
                else if (!well && w->partner < 0)
                        reason = REASON_PAIRS_NO_REFERENCE;
                else if (!well &&
                                reason == REASON_NONE) /* measured and right, but below the others */
                        reason = REASON_NCCL_SLOW;
                json_set_string(o, "node", rendezvous_peer(t->rendezvous, i)->name);
                json_set_string(o, "verdict", node_state_name(t->states[i]));
                json_set_string(o, "reason", well ? "ok" : reason_table[reason].code);
                json_set(o, "busbw", json_object_new_double(w->busbw));
                if (w->partner >= 0)
                        json_set_string(o, "with",
                                        rendezvous_peer(t->rendezvous, w->partner)->name);
                if (!well)
                        json_set_string(o, "text", w->text);
                json_object_array_add(nodes, o);
        }
        json_set(document, "nodes", nodes);
        json_set_int(document, "bad", *ret_bad);
        return document;
}

static void print_table(const Tournament *t, json_object *document, int bad) {
        json_object *nodes = json_get(document, "nodes");
        const Options *o = t->options;

        printf("# ncclbench pairs: %d nodes, %s %s %zu bytes, %u round%s; reference %.2f GB/s, limit %.2f\n",
                        t->n, o->collective->name, type_table[o->type].name, o->max_bytes,
                        o->rounds, o->rounds == 1 ? "" : "s", t->reference,
                        t->reference * (1 - o->below_median / 100));
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
static int refuse_shared_nodes(const Tournament *t, Failure *f) {
        for (int i = 0; i < t->n; i++)
                for (int j = i + 1; j < t->n; j++)
                        if (streq(rendezvous_peer(t->rendezvous, i)->name,
                                            rendezvous_peer(t->rendezvous, j)->name))
                                return failure_set(f, REASON_RENDEZVOUS_ERROR,
                                                "processes %d and %d are both on %s: start one a node (--ntasks-per-node=1)",
                                                i, j, rendezvous_peer(t->rendezvous, i)->name);
        return 0;
}

static int finish(const Tournament *t) {
        _cleanup_json_ json_object *document = NULL;
        int bad, r;

        document = describe(t, &bad);
        if (!document)
                return log_oom(), 1;
        if (t->launch->rank == 0) {
                if (t->options->json)
                        printf("%s\n", json_object_to_json_string_ext(document,
                                                       JSON_C_TO_STRING_PRETTY |
                                                                       JSON_C_TO_STRING_NOSLASHESCAPE));
                else
                        print_table(t, document, bad);
                if (fflush(stdout) != 0)
                        return log_error_errno(errno, "Cannot write the report to standard output"),
                               1;
                if (t->options->json_path) {
                        r = json_save(t->options->json_path, document, 0644);
                        if (r < 0)
                                return log_error_errno(r, "Cannot write the report %s",
                                                       t->options->json_path),
                                       1;
                }
                return bad > 0;
        }
        /* The other processes speak only for their own node. */
        return !is_well(t->states[t->launch->rank]);
}

int pairs_run(const Options *o, const Launch *launch) {
        const RendezvousConfig config = { .rank = launch->rank,
                .world = launch->world,
                .host = launch->host,
                .port = launch->port,
                .name = launch->name,
                .secret = launch->secret };
        size_t n = (size_t) launch->world;
        _cleanup_(tournament_done)
                        Tournament t = { .options = o, .launch = launch, .n = launch->world };
        _cleanup_failure_ Failure f = {};
        int r;

        if (launch->world < 2) {
                log_error("pairs needs two nodes at least: start it with srun --ntasks-per-node=1");
                return 2;
        }
        t.states = calloc(n, sizeof(*t.states));
        t.results = calloc(n, sizeof(*t.results));
        t.notes = calloc(n, sizeof(*t.notes));
        t.worst = calloc(n, sizeof(*t.worst));
        t.partner = calloc(n, sizeof(*t.partner));
        t.present = calloc(n, sizeof(*t.present));
        if (!t.states || !t.results || !t.notes || !t.worst || !t.partner || !t.present)
                return log_oom(), 1;
        for (size_t i = 0; i < n; i++)
                t.worst[i].partner = -1;

        r = rendezvous_join(&config, deadline_in(o->init_timeout), &t.rendezvous, &f);
        if (r >= 0)
                r = refuse_shared_nodes(&t, &f);
        if (r >= 0)
                r = run_rounds(&t, &f);
        if (r < 0) {
                log_error("process %d on %s: %s: %s", launch->rank, launch->name,
                                reason_table[f.reason].code, strempty(f.text));
                return 1;
        }
        return finish(&t);
}
