/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Follows the child's events, judges them, and keeps them as the JSON document. */

#include "ncclbench/report.h"
#include "ncclbench/deadline.h"
#include "ncclbench/table.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <inttypes.h>
#include <math.h>

/* The child notices its own deadlines; the supervisor steps in this much later. */
#define GRACE_USEC (5 * USEC_PER_SEC)

struct Report {
        const Options *options;
        const Launch *launch;
        FILE *out;
        json_object *document, *ranks, *rows; /* of load: devices and p2p; of runtime: runtimes */
        uint64_t started, hard_deadline;

        /* What the child does now, by its own word, and what is wrong when it gets no further. */
        char *phase;
        Reason if_stuck;
        double phase_seconds;

        Failure failure;
        bool ended; /* the child has said all it had to say */
        int64_t wrong;
        char *first_wrong;
        double busbw_sum;
        unsigned busbw_count;
        unsigned expectations_seen[ELEMENTSOF(((Options *) NULL)->expect)];
        char *slow; /* the first expectation that was not met */
};

Report *report_free(Report *r) {
        if (!r)
                return NULL;
        json_object_put(r->document);
        free(r->phase);
        free(r->first_wrong);
        free(r->slow);
        failure_done(&r->failure);
        free(r);
        return NULL;
}

static json_object *describe_options(const Options *o) {
        json_object *j = json_object_new_object();

        if (!j)
                return NULL;
        json_set_fields(j, JSON_STRING("operation", o->collective ? o->collective->name : "all"),
                        JSON_INT("min_bytes", o->min_bytes), JSON_INT("max_bytes", o->max_bytes));
        if (o->step_factor > 0)
                json_set_int(j, "step_factor", o->step_factor);
        else
                json_set_int(j, "step_bytes", (int64_t) o->step_bytes);
        json_set_fields(j, JSON_INT("warmup_iterations", o->warmup),
                        JSON_INT("iterations", o->iterations), JSON_INT("checks", o->checks));
        return j;
}

static const char *program_name(const Options *o) {
        return o->load ? "ncclbench load" : o->runtime ? "ncclbench runtime" : "ncclbench";
}

Report *report_new(const Options *options, const Launch *launch, FILE *out) {
        Report *r = calloc(1, sizeof(*r));

        if (!r)
                return NULL;
        *r = (Report) {
                .options = options,
                .launch = launch,
                .out = out,
                .document = json_object_new_object(),
                .ranks = json_object_new_array(),
                .rows = json_object_new_array(),
                .started = now_usec(),
                .hard_deadline = deadline_in(options->timeout) + GRACE_USEC,
                .if_stuck = REASON_CUDA_TIMEOUT,
        };
        if (!r->document || !r->ranks || !r->rows) {
                json_object_put(r->ranks);
                json_object_put(r->rows);
                return report_free(r);
        }

        json_set_string(r->document, "program", program_name(options));
        json_set_string(r->document, "version", NCCLBENCH_VERSION);
        if (!options->load && !options->runtime)
                json_set(r->document, "options", describe_options(options));
        json_set(r->document,
                        options->load      ? "devices"
                        : options->runtime ? "runtimes"
                                           : "ranks",
                        r->ranks);
        if (options->runtime)
                json_object_put(TAKE_PTR(r->rows));
        else
                json_set(r->document, options->load ? "p2p" : "rows", r->rows);
        return r;
}

static double get_real(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return v ? json_object_get_double(v) : 0;
}

static void on_about(Report *r, json_object *e) {
        static const char *const keys[] = { "nccl_version", "nccl_library", "cuda_version",
                "driver_version", "started_by" };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_set_string(r->document, keys[i], json_get_string(e, keys[i]));
        json_set_fields(r->document, JSON_INT("processes", json_get_int(e, "processes", 1)),
                        JSON_INT("n_ranks", json_get_int(e, "ranks", 0)));
        if (r->out)
                table_about(r->out, r->options, e);
}

static void on_rank(Report *r, json_object *e) {
        if (r->out)
                table_rank(r->out, r->options, e);
        json_object_object_del(e, "event");
        (void) json_append(r->ranks, json_object_get(e));
}

/* Counts one column group of a row. */
static void count_cell(Report *r, json_object *row, const char *key) {
        json_object *cell = json_get(row, key);
        int64_t wrong = json_get_int(cell, "wrong", 0);

        r->busbw_sum += get_real(cell, "busbw");
        r->busbw_count++;
        if (wrong <= 0)
                return;

        if (r->wrong == 0)
                r->first_wrong = strf("%s %s %s %" PRId64 " bytes %s",
                                strempty(json_get_string(row, "collective")),
                                strempty(json_get_string(row, "type")),
                                strempty(json_get_string(row, "redop")),
                                json_get_int(row, "size", 0),
                                strempty(json_get_string(cell, "detail")));
        r->wrong += wrong;
}

/* Verdicts are on the out-of-place columns of one named size. */
static void judge(Report *r, json_object *row) {
        double busbw = get_real(json_get(row, "out_of_place"), "busbw");

        for (unsigned i = 0; i < r->options->n_expect; i++) {
                const Expectation *e = &r->options->expect[i];

                if ((int64_t) e->bytes != json_get_int(row, "nominal", -1))
                        continue;
                r->expectations_seen[i]++;
                /* "Not at least" rather than "less": no number is no success. */
                if (!(busbw >= e->busbw) && !r->slow)
                        r->slow = strf("%s %s of %zu bytes: busbw %.2f GB/s, must be %.2f",
                                        strempty(json_get_string(row, "collective")),
                                        strempty(json_get_string(row, "type")), e->bytes, busbw,
                                        e->busbw);
        }
}

static void on_row(Report *r, json_object *e) {
        if (r->out)
                table_row(r->out, r->options, e);
        count_cell(r, e, "out_of_place");
        count_cell(r, e, "in_place");
        judge(r, e);
        json_object_object_del(e, "event");
        (void) json_append(r->rows, json_object_get(e));
}

/* One of a list of load's or runtime's. */
static void on_item(Report *r, json_object *list, json_object *e) {
        if (r->out)
                table_item(r->out, strempty(json_get_string(e, "event")), e);
        json_object_object_del(e, "event");
        (void) json_append(list, json_object_get(e));
}

/* What is said once: becomes part of the document as it is. */
static void on_facts(Report *r, json_object *e) {
        json_object_object_del(e, "event");
        json_object_object_foreach (e, key, value) {
                if (r->out)
                        fprintf(r->out, "# %s: %s\n", key, json_object_get_string(value));
                json_set(r->document, key, json_object_get(value));
        }
}

static void on_phase(Report *r, json_object *e, uint64_t *deadline) {
        free(r->phase);
        r->phase = strdup(strempty(json_get_string(e, "text")));
        r->if_stuck = reason_from_code(json_get_string(e, "if_stuck"));
        r->phase_seconds = get_real(e, "seconds");
        *deadline = MIN(r->hard_deadline, deadline_in(r->phase_seconds) + GRACE_USEC);
}

void report_line(Report *r, const char *line, uint64_t *deadline) {
        _cleanup_json_ json_object *e = NULL;
        const char *event;
        JsonError error;

        if (json_parse(line, strlen(line), &error, &e) < 0) {
                log_debug("Not an event: %s", line);
                return;
        }

        event = strempty(json_get_string(e, "event"));
        if (streq(event, "phase"))
                on_phase(r, e, deadline);
        else if (streq(event, "about"))
                on_about(r, e);
        else if (streq(event, "rank"))
                on_rank(r, e);
        else if (streq(event, "table") && r->out)
                table_columns(r->out, r->options, strempty(json_get_string(e, "label")));
        else if (streq(event, "row"))
                on_row(r, e);
        else if (streq(event, "facts"))
                on_facts(r, e);
        else if (streq(event, "device") || streq(event, "runtime"))
                on_item(r, r->ranks, e);
        else if (streq(event, "p2p"))
                on_item(r, r->rows, e);
        else if (streq(event, "failure"))
                failure_set(&r->failure, reason_from_code(json_get_string(e, "reason")), "%s",
                                strempty(json_get_string(e, "text")));
        else if (streq(event, "end"))
                r->ended = true;
}

/* What the child's end by itself says: where it did not end well, it had no word for it. */
static void judge_end(Report *r, ChildEnd end, int status) {
        const char *phase = r->phase ? r->phase : "starting";
        double limit = r->options->timeout;
        char text[FORMAT_DURATION_MAX];

        switch (end) {
        case CHILD_INTERRUPTED:
                failure_set(&r->failure, REASON_INTERRUPTED, "ended by a signal while %s", phase);
                return;
        case CHILD_STUCK:
                failure_set(&r->failure, REASON_WORKER_STUCK, "cannot be killed; it was %s", phase);
                return;
        case CHILD_TIMEOUT:
                if (r->phase_seconds > 0)
                        limit = MIN(limit, r->phase_seconds);
                failure_set(&r->failure, r->if_stuck,
                                "killed: no sign of life while %s for %s, which is the limit",
                                phase, format_duration(text, (uint64_t) (limit * USEC_PER_SEC)));
                return;
        case CHILD_SIGNALED:
                failure_set(&r->failure, REASON_WORKER_DIED, "ended by signal %d (%s) while %s",
                                status, strsignal(status), phase);
                return;
        case CHILD_EXITED:
                if (status != 0 || !r->ended)
                        failure_set(&r->failure, REASON_WORKER_DIED,
                                        "exit status %d without a reason while %s", status, phase);
        }
}

static void judge_rows(Report *r) {
        if (r->wrong > 0)
                failure_set(&r->failure, REASON_NCCL_WRONG_RESULT,
                                "%" PRId64 " wrong elements; first: %s", r->wrong,
                                strempty(r->first_wrong));
        if (r->slow)
                failure_set(&r->failure, REASON_NCCL_SLOW, "%s", r->slow);

        /* Only process 0 sees rows. */
        for (unsigned i = 0; r->launch->rank == 0 && !r->options->load && i < r->options->n_expect;
                        i++)
                if (r->expectations_seen[i] == 0)
                        failure_set(&r->failure, REASON_NCCL_SLOW, "no row of %zu bytes came",
                                        r->options->expect[i].bytes);
}

/* $NCCL_TESTS_MIN_BW, with nccl-tests' tolerance. */
static void judge_average(Report *r) {
        double average = r->busbw_count > 0 ? r->busbw_sum / r->busbw_count : 0;

        if (r->launch->rank == 0 && average < r->options->min_average * 0.9)
                failure_set(&r->failure, REASON_NCCL_SLOW,
                                "the average bus bandwidth is %.2f GB/s, must be %.2f", average,
                                r->options->min_average * 0.9);
}

static void add_verdict(Report *r) {
        const ReasonInfo *info = &reason_table[r->failure.reason];
        bool pass = r->failure.reason == REASON_NONE;
        json_object *v = json_object_new_object();

        json_set_fields(v, JSON_BOOL("pass", pass), JSON_STRING("reason", info->code));
        if (!pass)
                json_set_fields(v, JSON_STRING("text", r->failure.text),
                                JSON_STRING("summary", info->summary),
                                JSON_STRING("advice", info->advice));
        if (!r->options->load && !r->options->runtime)
                json_set_int(r->document, "wrong", r->wrong);
        json_set_fields(r->document, JSON_TAKE("verdict", v),
                        JSON_DOUBLE("elapsed_s", (double) (now_usec() - r->started) /
                                                                 (double) USEC_PER_SEC));
}

static void print_verdict(const Report *r) {
        double average = r->busbw_count > 0 ? r->busbw_sum / r->busbw_count : NAN;

        if (r->out && (r->options->load || r->options->runtime))
                table_end(r->out, &r->failure);
        else if (r->out)
                table_verdict(r->out, r->options, r->wrong, average, &r->failure);
        else if (r->failure.reason != REASON_NONE)
                log_error("process %d on %s: %s: %s", r->launch->rank, r->launch->name,
                                reason_table[r->failure.reason].code, strempty(r->failure.text));
}

int report_write(const Options *o, json_object *document) {
        int r;

        if (o->json) {
                printf("%s\n", json_object_to_json_string_ext(document,
                                               JSON_C_TO_STRING_PRETTY |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE));
                if (fflush(stdout) != 0)
                        return log_error_errno(errno, "Cannot write the report to standard output");
        }
        if (o->json_path) {
                r = json_save(o->json_path, document, 0644);
                if (r < 0)
                        return log_error_errno(r, "Cannot write the report %s", o->json_path);
        }
        return 0;
}

int report_finish(Report *r, ChildEnd end, int status) {
        /* The first failure stays; what the child said itself came before all of these. */
        judge_end(r, end, status);
        judge_rows(r);
        judge_average(r);
        add_verdict(r);
        print_verdict(r);

        if (r->launch->rank == 0 && report_write(r->options, r->document) < 0)
                return 1;
        return r->failure.reason == REASON_NONE ? 0 : 1;
}

const Failure *report_failure(const Report *r) {
        return &r->failure;
}

json_object *report_document(const Report *r) {
        return r->document;
}
