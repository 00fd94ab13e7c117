/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/report.h"
#include "ncclbench/clock.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <inttypes.h>

/* The child notices its own deadlines; the supervisor steps in this much later. */
#define GRACE_NSEC (5 * NSEC_PER_SEC)

struct Report {
        const Options *options;
        const Launch *launch;
        FILE *out;
        json_object *document, *ranks, *rows;
        uint64_t started, hard_deadline;
        char *phase;
        Reason if_stuck;
        double phase_seconds;
        Failure failure;
        bool ended;
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
        json_set_string(j, "operation", o->collective ? o->collective->name : "all");
        json_set_int(j, "min_bytes", (int64_t) o->min_bytes);
        json_set_int(j, "max_bytes", (int64_t) o->max_bytes);
        if (o->step_factor > 0)
                json_set_int(j, "step_factor", o->step_factor);
        else
                json_set_int(j, "step_bytes", (int64_t) o->step_bytes);
        json_set_int(j, "warmup_iterations", o->warmup);
        json_set_int(j, "iterations", o->iterations);
        json_set_int(j, "checks", o->checks);
        return j;
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
                .started = now_nsec(),
                .hard_deadline = deadline_in(options->timeout) + GRACE_NSEC,
                .if_stuck = REASON_CUDA_TIMEOUT,
        };
        if (!r->document || !r->ranks || !r->rows) {
                json_object_put(r->ranks);
                json_object_put(r->rows);
                return report_free(r);
        }
        json_set_string(r->document, "program", "ncclbench");
        json_set_string(r->document, "version", NCCLBENCH_VERSION);
        json_set(r->document, "options", describe_options(options));
        json_set(r->document, "ranks", r->ranks);
        json_set(r->document, "rows", r->rows);
        return r;
}

static double get_real(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return v ? json_object_get_double(v) : 0;
}

static void on_about(Report *r, json_object *e) {
        static const char *const keys[] = { "nccl_version", "nccl_library", "cuda_version",
                "driver_version", "started_by" };
        const Options *o = r->options;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_set_string(r->document, keys[i], json_get_string(e, keys[i]));
        json_set_int(r->document, "processes", json_get_int(e, "processes", 1));
        json_set_int(r->document, "n_ranks", json_get_int(e, "ranks", 0));
        if (!r->out)
                return;
        fprintf(r->out, "# ncclbench %s  NCCL %s (%s)  CUDA %s  driver %s\n", NCCLBENCH_VERSION,
                        strempty(json_get_string(e, "nccl_version")),
                        strempty(json_get_string(e, "nccl_library")),
                        strempty(json_get_string(e, "cuda_version")),
                        strempty(json_get_string(e, "driver_version")));
        fprintf(r->out, "# %" PRId64 " ranks in %" PRId64 " processes (%s)\n",
                        json_get_int(e, "ranks", 0), json_get_int(e, "processes", 1),
                        strempty(json_get_string(e, "started_by")));
        fprintf(r->out,
                        "# minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %u iters: %u validation: %u\n"
                        "#\n",
                        o->min_bytes, o->max_bytes,
                        o->step_factor > 0 ? (size_t) o->step_factor : o->step_bytes,
                        o->step_factor > 0 ? "factor" : "bytes", o->warmup, o->iterations,
                        o->checks);
        fprintf(r->out, "# Using devices\n");
}

static void on_rank(Report *r, json_object *e) {
        if (r->out)
                fprintf(r->out,
                                "#  Rank %2" PRId64 " Pid %6" PRId64 " on %10s device %2" PRId64
                                " [%s] %s\n",
                                json_get_int(e, "rank", -1), json_get_int(e, "pid", -1),
                                strempty(json_get_string(e, "host")), json_get_int(e, "device", -1),
                                strempty(json_get_string(e, "pci")),
                                strempty(json_get_string(e, "model")));
        json_object_object_del(e, "event");
        json_object_array_add(r->ranks, json_object_get(e));
}

static void on_table(Report *r, json_object *e) {
        if (!r->out)
                return;
        fprintf(r->out, "#\n# %s\n#\n", strempty(json_get_string(e, "label")));
        fprintf(r->out, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n",
                        "", "", "", "", "");
        fprintf(r->out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n",
                        "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                        "#wrong", "time", "algbw", "busbw", "#wrong");
        fprintf(r->out, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n",
                        "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
                        "(GB/s)", "(GB/s)", "");
}

/* As many decimals as the column has room for. */
static void print_number(FILE *out, double v, int width) {
        int decimals = v < 1e3 ? 2 : v < 1e4 ? (width > 6 ? 2 : 1) : v < 1e5 ? 1 : 0;

        fprintf(out, "  %*.*f", width, decimals, v);
}

static void on_cell(Report *r, json_object *row, const char *key) {
        json_object *c = json_get(row, key);
        int64_t wrong = json_get_int(c, "wrong", -1);

        if (r->out) {
                print_number(r->out, get_real(c, "time_us"), 7);
                print_number(r->out, get_real(c, "algbw"), 6);
                print_number(r->out, get_real(c, "busbw"), 6);
                if (wrong < 0)
                        fprintf(r->out, "  %6s", "N/A");
                else
                        fprintf(r->out, "  %6" PRId64, wrong);
        }
        r->busbw_sum += get_real(c, "busbw");
        r->busbw_count++;
        if (wrong <= 0)
                return;
        if (r->wrong == 0)
                r->first_wrong = strf("%s %s %s %" PRId64 " bytes %s",
                                strempty(json_get_string(row, "collective")),
                                strempty(json_get_string(row, "type")),
                                strempty(json_get_string(row, "redop")),
                                json_get_int(row, "size", 0),
                                strempty(json_get_string(c, "detail")));
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
                fprintf(r->out, "%12" PRId64 "  %12" PRId64 "  %8s  %6s  %6" PRId64,
                                json_get_int(e, "size", 0), json_get_int(e, "count", 0),
                                strempty(json_get_string(e, "type")),
                                strempty(json_get_string(e, "redop")), json_get_int(e, "root", -1));
        on_cell(r, e, "out_of_place");
        on_cell(r, e, "in_place");
        if (r->out) {
                fputc('\n', r->out);
                fflush(r->out);
        }
        judge(r, e);
        json_object_object_del(e, "event");
        json_object_array_add(r->rows, json_object_get(e));
}

static void on_phase(Report *r, json_object *e, uint64_t *deadline) {
        free(r->phase);
        r->phase = strdup(strempty(json_get_string(e, "text")));
        r->if_stuck = reason_from_code(json_get_string(e, "if_stuck"));
        r->phase_seconds = get_real(e, "seconds");
        *deadline = MIN(r->hard_deadline, deadline_in(r->phase_seconds) + GRACE_NSEC);
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
        else if (streq(event, "table"))
                on_table(r, e);
        else if (streq(event, "row"))
                on_row(r, e);
        else if (streq(event, "failure"))
                failure_set(&r->failure, reason_from_code(json_get_string(e, "reason")), "%s",
                                strempty(json_get_string(e, "text")));
        else if (streq(event, "end"))
                r->ended = true;
}

static void decide(Report *r, ChildEnd end, int status) {
        const char *phase = r->phase ? r->phase : "starting";

        if (r->failure.reason != REASON_NONE)
                return;
        switch (end) {
        case CHILD_INTERRUPTED:
                failure_set(&r->failure, REASON_INTERRUPTED, "ended by a signal while %s", phase);
                return;
        case CHILD_STUCK:
                failure_set(&r->failure, REASON_WORKER_STUCK, "cannot be killed; it was %s", phase);
                return;
        case CHILD_TIMEOUT:
                failure_set(&r->failure, r->if_stuck,
                                "killed: no sign of life while %s, limit %.1f s", phase,
                                MIN(r->phase_seconds > 0 ? r->phase_seconds : r->options->timeout,
                                                r->options->timeout));
                return;
        case CHILD_SIGNALED:
                failure_set(&r->failure, REASON_WORKER_DIED, "ended by signal %d (%s) while %s",
                                status, strsignal(status), phase);
                return;
        case CHILD_EXITED:
                if (status != 0 || !r->ended) {
                        failure_set(&r->failure, REASON_WORKER_DIED,
                                        "exit status %d without a reason while %s", status, phase);
                        return;
                }
        }
        if (r->wrong > 0) {
                failure_set(&r->failure, REASON_NCCL_WRONG_RESULT,
                                "%" PRId64 " wrong elements; first: %s", r->wrong,
                                strempty(r->first_wrong));
                return;
        }
        if (r->slow) {
                failure_set(&r->failure, REASON_NCCL_SLOW, "%s", r->slow);
                return;
        }
        for (unsigned i = 0; r->launch->rank == 0 && i < r->options->n_expect; i++)
                if (r->expectations_seen[i] == 0) {
                        failure_set(&r->failure, REASON_NCCL_SLOW, "no row of %zu bytes came",
                                        r->options->expect[i].bytes);
                        return;
                }
}

static void add_verdict(Report *r) {
        const ReasonInfo *info = &reason_table[r->failure.reason];
        json_object *v = json_object_new_object();

        if (!v)
                return;
        json_set(v, "pass", json_object_new_boolean(r->failure.reason == REASON_NONE));
        json_set_string(v, "reason", info->code);
        if (r->failure.reason != REASON_NONE) {
                json_set_string(v, "text", r->failure.text);
                json_set_string(v, "summary", info->summary);
                json_set_string(v, "advice", info->advice);
        }
        json_set(r->document, "verdict", v);
        json_set_int(r->document, "wrong", r->wrong);
        json_set(r->document, "elapsed_s",
                        json_object_new_double((double) (now_nsec() - r->started) / 1e9));
}

static void print_verdict(const Report *r) {
        const ReasonInfo *info = &reason_table[r->failure.reason];

        if (r->out) {
                fprintf(r->out, "# %-20s : %" PRId64 " %s\n", "Out of bounds values", r->wrong,
                                r->wrong > 0 ? "FAILED" : "OK");
                if (r->busbw_count > 0)
                        fprintf(r->out, "# %-20s : %g\n", "Avg bus bandwidth",
                                        r->busbw_sum / r->busbw_count);
                fprintf(r->out, "#\n");
                if (r->failure.reason == REASON_NONE)
                        fprintf(r->out, "# Verdict: pass\n");
                else
                        fprintf(r->out, "# What is it: %s\n# What to do: %s\n# Verdict: FAIL %s: %s\n",
                                        info->summary, info->advice, info->code,
                                        strempty(r->failure.text));
                fflush(r->out);
        } else if (r->failure.reason != REASON_NONE)
                log_error("process %d on %s: %s: %s", r->launch->rank, r->launch->name, info->code,
                                strempty(r->failure.text));
}

static int write_document(Report *r) {
        if (r->launch->rank != 0)
                return 0;
        if (r->options->json) {
                printf("%s\n", json_object_to_json_string_ext(r->document,
                                               JSON_C_TO_STRING_PRETTY |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE));
                if (fflush(stdout) != 0)
                        return log_error_errno(errno, "Cannot write the report to standard output");
        }
        if (r->options->json_path) {
                int k = json_save(r->options->json_path, r->document, 0644);
                if (k < 0)
                        return log_error_errno(
                                        k, "Cannot write the report %s", r->options->json_path);
        }
        return 0;
}

int report_finish(Report *r, ChildEnd end, int status) {
        decide(r, end, status);
        add_verdict(r);
        print_verdict(r);
        if (write_document(r) < 0)
                return 1;
        return r->failure.reason == REASON_NONE ? 0 : 1;
}

const Failure *report_failure(const Report *r) {
        return &r->failure;
}

json_object *report_document(const Report *r) {
        return r->document;
}
