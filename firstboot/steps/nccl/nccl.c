/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NCCL over all GPUs of the node, measured by ncclbench: every element right, and the bus
 * bandwidth that the machine must have (limit.c); then over each RDMA port alone (loopback.c). */

#include "contract/paths.h"
#include "shared/file-util.h"
#include "steps/nccl/internal.h"
#include "steps/nccl/pair-limit.h"
#include "steps/nccl/runtime.h"
#include "steps/steps.h"

#define NCCL_CONF "/etc/nccl.conf"

static void nccl_done(Nccl *s) {
        shape_detected_done(&s->detected);
        free(s->conf);
        free(s->source);
        json_putp(&s->report);
}

static int measure(Nccl *s) {
        _cleanup_(nccl_run_done) NcclRun run = {
                .gpus = s->gpus,
                .bytes = s->bytes,
                .min_gbps = s->min_gbps,
        };
        StepContext *c = s->context;
        int r;

        r = nccl_bench(s, &run);
        if (r < 0)
                return r;
        if (run.seconds > 0)
                step_figure(c, "seconds", json_object_new_double(run.seconds));
        if (run.code)
                return streq(run.code, "nccl.no-program")
                                       ? step_fail(c, run.code, "%s", run.text)
                                       : step_fail_later(c, run.code, "%s", run.text);
        s->report = TAKE_PTR(run.report);
        return 0;
}

static void add_figures(Nccl *s) {
        static const char *const copied[] = { "nccl_version", "nccl_library", "cuda_version",
                "driver_version", "n_ranks", "wrong", "elapsed_s", "ranks" };
        json_object *row = nccl_row(s->report, s->bytes);

        for (size_t i = 0; i < ELEMENTSOF(copied); i++) {
                json_object *v = json_get(s->report, copied[i]);

                if (v)
                        step_figure(s->context, copied[i], json_object_get(v));
        }
        step_figure(s->context, "bytes", json_object_new_int64((int64_t) s->bytes));
        if (row && nccl_number(row, "busbw") >= 0)
                step_figure(s->context, "busbw", json_object_new_double(nccl_number(row, "busbw")));
        if (s->min_gbps > 0)
                step_figure(s->context, "min_busbw", json_object_new_double(s->min_gbps));
        if (s->source)
                step_figure(s->context, "min_busbw_source", json_object_new_string(s->source));
}

static int judge_failure(Nccl *s, json_object *verdict) {
        const char *reason = json_get_string(verdict, "reason"),
                   *text = json_get_string(verdict, "text"),
                   *advice = json_get_string(verdict, "advice"), *code = nccl_code_of(reason);

        if (!code)
                return step_fail(s->context, "nccl.no-verdict",
                                "ncclbench failed for a reason that is not known here: %s: %s",
                                strempty(reason), strempty(text));
        if (!isempty(advice))
                step_remedy(s->context, "%s", advice);
        return nccl_may_pass(code) ? step_fail_later(s->context, code, "%s", strempty(text))
                                   : step_fail(s->context, code, "%s", strempty(text));
}

/* Where the configuration says how many GPUs there must be, none can be missing unseen. */
static bool is_counted(const Nccl *s) {
        return s->detected.shape || json_get(json_get(s->context->config, "gpu"), "count");
}

/* Nothing was held against the bandwidth: is that as it should be? */
static int judge_without_limit(Nccl *s, int64_t ranks, double busbw) {
        const Shape *shape = s->detected.shape;
        const char *how = json_get_string(s->context->section, "no_limit"),
                   *name = shape ? shape->name : "a machine of unknown shape";

        if (ranks <= 1)
                return 0;
        if (!streq_ptr(how, "warn"))
                return step_fail(s->context, "nccl.no-limit",
                                "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                                (long long) ranks, busbw, name);
        return step_degrade(s->context, "nccl.no-limit",
                        "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                        (long long) ranks, busbw, name);
}

static int judge(Nccl *s) {
        json_object *verdict = json_get(s->report, "verdict"), *row = nccl_row(s->report, s->bytes);
        int64_t ranks = json_get_int(s->report, "n_ranks", 0);
        double busbw = nccl_number(row, "busbw");
        int r;

        if (!json_get_bool(verdict, "pass", false))
                return judge_failure(s, verdict);

        /* A pass must hold what it stands for. */
        if (!row || busbw < 0 || nccl_number(row, "wrong") != 0 ||
                        json_get_int(s->report, "wrong", -1) != 0 || ranks < 1 ||
                        (s->gpus > 0 && ranks != (int64_t) s->gpus) ||
                        (s->min_gbps > 0 && busbw < s->min_gbps))
                return step_fail(s->context, "nccl.no-verdict",
                                "ncclbench's report says pass, but does not show it: see %s/%s",
                                s->context->check ? PATH_RUN_CHECK : PATH_RUN, NCCL_REPORT);

        if (!is_counted(s)) {
                r = shape_unknown(s->context, &s->detected);
                if (r < 0)
                        return r;
        } else if (s->min_gbps == 0) {
                r = judge_without_limit(s, ranks, busbw);
                if (r < 0)
                        return r;
        }
        if (ranks == 1)
                return step_done(s->context,
                                "results of 1 GPU are right; there is no bandwidth between GPUs");
        if (s->min_gbps == 0)
                return step_done(s->context, "results of %lld GPUs are right, busbw %.1f GB/s",
                                (long long) ranks, busbw);
        return step_done(s->context,
                        "results of %lld GPUs are right, busbw %.1f GB/s of at least %.1f",
                        (long long) ranks, busbw, s->min_gbps);
}

/* The runtime that programs get, after the driver and NCCL were seen to work: what is wrong then is
 * the runtime's own. */
static int prove_runtime(Nccl *s) {
        _cleanup_free_ char *program = fb_path(NCCL_PROGRAM);
        _cleanup_json_ json_object *report = NULL;
        json_object *verdict;
        int r;

        if (!program)
                return -ENOMEM;
        r = runtime_prove(s->context, program, &report);
        if (r < 0 || !report)
                return r;
        verdict = json_get(report, "verdict");
        return json_get_bool(verdict, "pass", false) ? 0 : judge_failure(s, verdict);
}

int nccl_run(StepContext *c) {
        _cleanup_(nccl_done) Nccl s = { .context = c };
        _cleanup_free_ char *path = fb_path(NCCL_CONF);
        int r;

        if (!c->section)
                return step_skip(c, "no nccl section in the configuration");
        if (c->check == STEP_CHECK_QUICK)
                return step_skip(c, "GPUs in use are not measured; --full does");
        if (!path)
                return -ENOMEM;

        r = shape_detect(c, NULL, &s.detected);
        if (r < 0)
                return r;
        if (s.detected.gpus == 0 && !json_get_bool(json_get(c->config, "gpu"), "required", true))
                return step_skip(c, "no GPU, and none is required");
        if (streq_ptr(json_get_string(json_get(c->config, "gpu"), "mig"), "on"))
                return step_skip(
                                c, "the GPUs are divided by MIG, and NCCL does not join instances");

        r = read_file(path, 1024 * 1024, &s.conf, NULL);
        if (r == -ENOENT)
                r = (s.conf = strdup("")) ? 0 : -ENOMEM;
        if (r < 0)
                return step_fail(c, "rdma.nccl-conf", "%s not read: %s", NCCL_CONF, strerror(-r));

        r = nccl_choose(&s);
        if (r < 0)
                return r;
        if (!c->check) {
                r = pair_limit_write(s.detected.shape, nccl_nvls_allowed(&s),
                                json_get_int(c->section, "measured_percent", 95));
                if (r < 0)
                        return r;
        }

        r = measure(&s);
        if (r < 0)
                return r;
        add_figures(&s);
        if (json_get_bool(json_get(s.report, "verdict"), "pass", false)) {
                r = prove_runtime(&s);
                if (r < 0)
                        return r;
        }

        r = judge(&s);
        if (r < 0 || c->check) /* a job waits for a check: no turn over each port alone */
                return r;
        return nccl_loopback(&s);
}
