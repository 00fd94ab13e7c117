/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints the results as a table while they come, in the columns of nccl-tests. */

#include "ncclbench/table.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#define TIMESTAMP "%Y-%m-%d %H:%M:%S"

static const char *text_of(json_object *o, const char *key) {
        return strempty(json_get_string(o, key));
}

static double real_of(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return v ? json_object_get_double(v) : 0;
}

/* nccl-tests' first lines. Source: writeDeviceReport() of its src/util.cu, 2.19.6. */
static void perf_about(FILE *out, const Options *o, json_object *about) {
        bool by_factor = o->step_factor > 0;
        int major = 0, minor = 0, patch = 0, code;

        sscanf(text_of(about, "nccl_version"), "%d.%d.%d", &major, &minor, &patch);
        code = major * 10000 + minor * 100 + patch;
        fprintf(out,
                        "# nccl-tests version 2.19.6 (ncclbench " NCCLBENCH_VERSION
                        ") nccl-headers=%d nccl-library=%d\n",
                        code, code);
        fprintf(out, "# Collective test starting: %s\n", o->perf);
        fprintf(out, "# nThread %u nGpus %u minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %u iters: %u agg iters: %u validation: %u graph: %u unalign: %u\n",
                        o->threads, o->gpus_each, o->min_bytes, o->max_bytes,
                        by_factor ? (size_t) o->step_factor : o->step_bytes,
                        by_factor ? "factor" : "bytes", o->warmup, o->iterations, o->aggregate,
                        o->checks, o->graphs, o->unalign);
        if (o->blocking == 1)
                fprintf(out, "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n");
        if (o->blocking == 2)
                fprintf(out, "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n");
        if (o->blocking == 3)
                fprintf(out, "# Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier \n");
        if (o->per_iteration && o->skip_iterations > 0)
                fprintf(out, "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows; summary skips first %u iterations \n",
                                o->skip_iterations);
        else if (o->per_iteration)
                fprintf(out, "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows \n");
        if (o->parallel_init)
                fprintf(out, "# Parallel Init Enabled: threads call into NcclInitRank concurrently \n");
        fprintf(out, "#\n# Using devices\n");
}

void table_about(FILE *out, const Options *options, json_object *about) {
        bool by_factor = options->step_factor > 0;

        if (options->perf) {
                perf_about(out, options, about);
                return;
        }

        fprintf(out, "# ncclbench %s  NCCL %s (%s)  CUDA %s  driver %s\n", NCCLBENCH_VERSION,
                        text_of(about, "nccl_version"), text_of(about, "nccl_library"),
                        text_of(about, "cuda_version"), text_of(about, "driver_version"));
        fprintf(out, "# %" PRId64 " ranks in %" PRId64 " processes (%s)\n",
                        json_get_int(about, "ranks", 0), json_get_int(about, "processes", 1),
                        text_of(about, "started_by"));
        fprintf(out, "# minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %u iters: %u validation: %u\n",
                        options->min_bytes, options->max_bytes,
                        by_factor ? (size_t) options->step_factor : options->step_bytes,
                        by_factor ? "factor" : "bytes", options->warmup, options->iterations,
                        options->checks);
        fprintf(out, "#\n# Using devices\n");
}

void table_rank(FILE *out, const Options *options, json_object *rank) {
        const char *pci = text_of(rank, "pci");

        if (options->perf) {
                fprintf(out,
                                "#  Rank %2" PRId64 " Group %2d Pid %6" PRId64
                                " on %10s device %2" PRId64 " [%.*s] %s\n",
                                json_get_int(rank, "rank", -1), 0, json_get_int(rank, "pid", -1),
                                text_of(rank, "host"), json_get_int(rank, "device", -1),
                                (int) strcspn(pci, "."), pci, text_of(rank, "model"));
                return;
        }
        fprintf(out, "#  Rank %2" PRId64 " Pid %6" PRId64 " on %10s device %2" PRId64 " [%s] %s\n",
                        json_get_int(rank, "rank", -1), json_get_int(rank, "pid", -1),
                        text_of(rank, "host"), json_get_int(rank, "device", -1),
                        text_of(rank, "pci"), text_of(rank, "model"));
}

/* clang-format off */
static void lap_columns(FILE *out, const Options *o) {
        static const char columns[] = "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %7s  %7s  %7s  %7s  %6s  %6s  %6s  %7s  %7s  %7s  %7s %*s\n";
        const char *time = o->cpu_time ? "cputime" : "time", *label = o->timestamps ? "timestamp" : "",
                   *form = o->timestamps ? TIMESTAMP : "";
        int width = o->timestamps ? 19 : 0;

        fprintf(out, "# %10s  %12s  %8s  %6s  %6s              out-of-place (+ per-iteration)                                in-place (+ per-iteration)\n",
                "", "", "", "", "");
        fprintf(out, columns, "size", "count", "type", "redop", "root",
                time, "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%",
                time, "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%", width,
                label);
        fprintf(out, columns, "(B)", "(elements)", "", "", "",
                "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)", "(%)",
                "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)", "(%)", width, form);
}

void table_columns(FILE *out, const Options *options, const char *label) {
        static const char columns[] = "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s %*s\n";
        const char *time = options->cpu_time ? "cputime" : "time", *stamp = options->timestamps ? "timestamp" : "",
                   *form = options->timestamps ? TIMESTAMP : "";
        int width = options->timestamps ? 19 : 0;

        fprintf(out, "#\n");
        if (!options->perf)
                fprintf(out, "# %s\n#\n", label);
        if (options->per_iteration) {
                lap_columns(out, options);
                return;
        }
        fprintf(out, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n",
                "", "", "", "", "");
        fprintf(out, columns, "size", "count", "type", "redop", "root",
                time, "algbw", "busbw", "#wrong", time, "algbw", "busbw", "#wrong", width, stamp);
        fprintf(out, columns, "(B)", "(elements)", "", "", "",
                "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "", width, form);
}
/* clang-format on */

/* As many decimals as the column has room for; in a column that is too narrow even so, an
 * exponent. */
static void print_number(FILE *out, double v, int width) {
        char text[400];

        for (int decimals = 2; decimals >= 0; decimals--)
                if (snprintf(text, sizeof(text), "%*.*f", width, decimals, v) <= width) {
                        fprintf(out, "  %s", text);
                        return;
                }
        fprintf(out, width >= 7 ? "  %*.1e" : "  %*.0e", width, v);
}

static void print_cell(FILE *out, const Options *options, json_object *cell) {
        int64_t wrong = json_get_int(cell, "wrong", -1);

        print_number(out, real_of(cell, options->cpu_time ? "cpu_time_us" : "time_us"), 7);
        print_number(out, real_of(cell, "algbw"), 6);
        print_number(out, real_of(cell, "busbw"), 6);
        if (wrong < 0)
                fprintf(out, "  %6s", "N/A");
        else
                fprintf(out, "  %6g", (double) wrong);
        if (!options->per_iteration)
                return;
        print_number(out, real_of(cell, "iteration_us_min"), 7);
        print_number(out, real_of(cell, "iteration_us_max"), 7);
        print_number(out, real_of(cell, "iteration_us_p99"), 7);
        print_number(out, real_of(cell, "iteration_cv_percent"), 7);
}

/* nccl-tests' word in the column of the reduction where there is none. */
static const char *perf_redop(json_object *row) {
        const char *c = text_of(row, "collective");

        return streq(c, "sendrecv") ? "sum" : streq(c, "hypercube") ? "" : text_of(row, "redop");
}

/* As nccl-tests: the local time, in a column of 21. */
static void print_timestamp(FILE *out) {
        time_t now = time(NULL);
        char text[64];
        struct tm tm;

        if (localtime_r(&now, &tm) && strftime(text, sizeof(text), TIMESTAMP, &tm) > 0)
                fprintf(out, "%21s", text);
}

void table_row(FILE *out, const Options *options, json_object *row) {
        fprintf(out, "%12" PRId64 "  %12" PRId64 "  %8s  %6s  %6" PRId64,
                        json_get_int(row, "size", 0), json_get_int(row, "count", 0),
                        text_of(row, "type"),
                        options->perf ? perf_redop(row) : text_of(row, "redop"),
                        json_get_int(row, "root", -1));
        print_cell(out, options, json_get(row, "out_of_place"));
        print_cell(out, options, json_get(row, "in_place"));
        if (options->timestamps)
                print_timestamp(out);
        fputc('\n', out);
        fflush(out);
}

void table_verdict(FILE *out, const Options *options, int64_t wrong, double average,
                const Failure *f) {
        double least = options->min_average;

        fprintf(out, "# %-20s : %" PRId64 " %s\n", "Out of bounds values", wrong,
                        wrong > 0 ? "FAILED" : "OK");
        if (!isnan(average) && options->perf)
                fprintf(out, "# %-20s : %g %s\n", "Avg bus bandwidth", average,
                                least == 0              ? ""
                                : average < least * 0.9 ? "FAILED"
                                                        : "OK");
        else if (!isnan(average))
                fprintf(out, "# %-20s : %g\n", "Avg bus bandwidth", average);
        fprintf(out, "#\n");

        if (options->perf)
                fprintf(out, "# Collective test concluded: %s\n#\n", options->perf);
        if (!options->perf || f->reason != REASON_NONE)
                table_end(out, f);
        else
                fprintf(out, "\n"); /* where nccl-tests has NCCL's last error */
        fflush(out);
}

void table_item(FILE *out, const char *event, json_object *e) {
        if (streq(event, "device"))
                fprintf(out,
                                "GPU %2" PRId64
                                " [%s] %s: memory %.1f GB/s, tensor cores %.1f TFLOP/s, wrong %" PRId64
                                "\n",
                                json_get_int(e, "index", -1), text_of(e, "pci"),
                                text_of(e, "model"), real_of(e, "hbm_gbs"),
                                real_of(e, "gemm_tflops"), json_get_int(e, "wrong", 0));
        else if (streq(event, "p2p"))
                fprintf(out, "GPU %2" PRId64 " to %2" PRId64 ": %.1f GB/s%s, wrong %" PRId64 "\n",
                                json_get_int(e, "from", -1), json_get_int(e, "to", -1),
                                real_of(e, "gbs"),
                                json_get_bool(e, "peer", false) ? "" : " through the host",
                                json_get_int(e, "wrong", 0));
        else
                fprintf(out, "%s: %s (%s), CUDA %s\n", text_of(e, "soname"), text_of(e, "path"),
                                text_of(e, "source"), text_of(e, "version"));
        fflush(out);
}

void table_end(FILE *out, const Failure *f) {
        const ReasonInfo *info = &reason_table[f->reason];

        if (f->reason == REASON_NONE)
                fprintf(out, "# Verdict: pass\n");
        else
                fprintf(out, "# What is it: %s\n# What to do: %s\n# Verdict: FAIL %s: %s\n",
                                info->summary, info->advice, info->code, strempty(f->text));
        fflush(out);
}
