/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NCCL over all GPUs of the node, measured by ncclbench: every element right, and the bus
 * bandwidth that the machine's shape must have. ncclbench cannot hang by itself; a limit of our
 * own holds over it anyway. */

#include "steps/steps.h"
#include "contract/codes.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/nccl/conf.h"
#include "contract/paths.h"
#include "steps/shape/detect.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#define PROGRAM "/usr/bin/ncclbench"
#define NCCL_CONF "/etc/nccl.conf"
#define REPORT PATH_RUN "/ncclbench.json"
#define REPORT_MAX (16 * 1024 * 1024)
/* Size where no number is known: two such buffers fit into any GPU that has NCCL. */
#define PLAIN_BYTES (UINT64_C(1) << 30)
/* ncclbench kills its own child 5 s after its limit, and may need as long to see it gone. */
#define KILL_USEC (20 * USEC_PER_SEC)

typedef struct Nccl {
        StepContext *context;
        ShapeDetected detected;
        const ShapeBusbw *busbw; /* of the shape; NULL: none that holds */
        unsigned gpus;           /* that there must be; 0: as many as CUDA sees */
        uint64_t bytes;
        double min_gbps;  /* 0: no limit */
        const char *nvls; /* value of NCCL_NVLS_ENABLE, or NULL */
        char *conf;       /* /etc/nccl.conf */
        char **argv, **env;
        json_object *report;
} Nccl;

static void nccl_done(Nccl *s) {
        shape_detected_done(&s->detected);
        free(s->conf);
        strv_free(s->argv);
        strv_free(s->env);
        json_putp(&s->report);
}

/* Whether NVLink multicast may be used: by the configuration, else by what NCCL will read. */
static bool nvls_allowed(Nccl *s) {
        const char *how = json_get_string(s->context->section, "nvls");
        _cleanup_free_ char *conf = NULL;

        if (streq_ptr(how, "off"))
                s->nvls = "0";
        else if (streq_ptr(how, "on"))
                s->nvls = "1";
        if (s->nvls)
                return !streq(s->nvls, "0");
        conf = nccl_conf_get(s->conf, "NCCL_NVLS_ENABLE");
        const char *shape = shape_env(s->detected.shape, "NCCL_NVLS_ENABLE");
        return conf ? !streq(conf, "0") : !streq_ptr(shape, "0");
}

/* What is measured, and what it must reach. */
static void choose(Nccl *s) {
        json_object *o = s->context->section;
        int64_t percent = json_get_int(o, "measured_percent", 95);
        bool nvls = nvls_allowed(s);

        s->gpus = (unsigned) json_get_int(json_get(s->context->config, "gpu"), "count", 0);
        if (s->gpus == 0)
                s->gpus = s->detected.shape && s->detected.shape->gpus > 0
                                          ? (unsigned) s->detected.shape->gpus
                                          : s->detected.gpus;
        s->bytes = config_size(o, "size", 0);
        if (s->detected.shape)
                s->busbw = shape_busbw(s->detected.shape, 1, nvls, 0);
        if (json_get(o, "min_busbw")) {
                s->busbw = NULL;
                s->min_gbps = (double) json_get_int(o, "min_busbw", 0);
        } else if (s->busbw && (s->bytes == 0 || s->bytes == s->busbw->bytes)) {
                s->bytes = s->busbw->bytes;
                s->min_gbps = s->busbw->gate ? s->busbw->gbps
                                             : s->busbw->gbps * (double) percent / 100;
        } else
                s->busbw = NULL; /* a number for another size says nothing about this one */
        if (s->bytes == 0)
                s->bytes = PLAIN_BYTES;
        /* One GPU moves nothing to another: only its results can be judged. */
        if (s->gpus == 1) {
                s->busbw = NULL;
                s->min_gbps = 0;
                s->bytes = MIN(s->bytes, PLAIN_BYTES);
        }
}

static int make_argv(Nccl *s, const char *program, const char *report) {
        json_object *o = s->context->section;
        unsigned long long bytes = s->bytes,
                           seconds = config_duration(o, "limit", 30 * USEC_PER_SEC) / USEC_PER_SEC;
        const char *cuda = json_get_string(o, "cuda_library"),
                   *library = json_get_string(o, "nccl_library");
        int r;

        r = strv_extend_many(&s->argv, program, "all_reduce", NULL);
        if (r >= 0)
                r = strv_extendf(&s->argv, "--minbytes=%llu", bytes);
        if (r >= 0)
                r = strv_extendf(&s->argv, "--maxbytes=%llu", bytes);
        if (r >= 0)
                r = strv_extendf(&s->argv, "--iters=%lld",
                                (long long) json_get_int(o, "iterations", 5));
        if (r >= 0)
                r = strv_extendf(&s->argv, "--timeout=%llu", MAX(seconds, 1ULL));
        if (r >= 0)
                r = strv_extendf(&s->argv, "--init-timeout=%llu", MAX(seconds, 1ULL));
        if (r >= 0)
                r = strv_extendf(&s->argv, "--output-file=%s", report);
        if (r >= 0 && s->gpus > 0)
                r = strv_extendf(&s->argv, "--ngpus=%u", s->gpus);
        if (r >= 0 && s->min_gbps > 0)
                r = strv_extendf(&s->argv, "--expect=%llu:%.9g", bytes, s->min_gbps);
        if (r >= 0 && cuda)
                r = strv_extendf(&s->argv, "--cuda-library=%s", cuda);
        if (r >= 0 && library)
                r = strv_extendf(&s->argv, "--nccl-library=%s", library);
        return r;
}

/* Ours, without what would make ncclbench look for other processes, and the shape's settings where
 * /etc/nccl.conf, which NCCL reads after the environment, does not say otherwise. */
static int make_env(Nccl *s) {
        static const char *const others[] = { "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "MASTER_ADDR=",
                "MASTER_PORT=", "SLURM_", "NCCL_NVLS_ENABLE=" };
        int r = 0;

        STRV_FOREACH (e, environ) {
                bool other = false;

                for (size_t i = 0; i < ELEMENTSOF(others); i++)
                        other = other || startswith(*e, others[i]);
                if (r >= 0 && !other)
                        r = strv_extend(&s->env, *e);
        }
        STRV_FOREACH (e, s->detected.shape ? s->detected.shape->nccl_env : NULL) {
                _cleanup_free_ char *key = strndup(*e, strcspn(*e, "=")), *conf = NULL;

                if (r < 0 || !key)
                        return r < 0 ? r : -ENOMEM;
                if (s->nvls && streq(key, "NCCL_NVLS_ENABLE"))
                        continue;
                conf = nccl_conf_get(s->conf, key);
                if (!conf)
                        r = strv_extend(&s->env, *e);
        }
        if (r >= 0 && s->nvls)
                r = strv_extendf(&s->env, "NCCL_NVLS_ENABLE=%s", s->nvls);
        return r;
}

static void on_line(const char *line, void *userdata) {
        char **last = userdata;

        log_info("  %s", line);
        if (line[strspn(line, " \t")]) {
                free(*last);
                *last = strdup(line);
        }
}

/* Runs it; the report is what counts, and one from before must not be taken for it. */
static int measure(Nccl *s) {
        _cleanup_free_ char *program = fb_path(PROGRAM), *path = fb_path(REPORT), *text = NULL,
                            *last = NULL;
        SpawnOptions o = { .on_line = on_line, .line_data = &last };
        uint64_t limit = config_duration(s->context->section, "limit", 30 * USEC_PER_SEC);
        JsonError e = {};
        int r, status = 0;

        if (!program || !path)
                return -ENOMEM;
        if (access(program, X_OK) < 0)
                return step_fail(s->context, "nccl.no-program", "%s: %s", PROGRAM, strerror(errno));
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        r = mkdir_parents(path, 0755);
        if (r >= 0)
                r = make_argv(s, program, path);
        if (r >= 0)
                r = make_env(s);
        if (r < 0)
                return r;
        text = strv_join(s->argv, " ");
        log_info("Running %s", strempty(text));
        o.env = s->env;
        o.timeout_usec = limit + KILL_USEC;
        uint64_t start = now_usec();
        r = spawn_run(&o, s->argv, &status);
        step_figure(s->context, "seconds",
                        json_object_new_double((double) (now_usec() - start) / 1e6));
        if (r == -ETIMEDOUT)
                return step_fail_later(s->context, "nccl.no-end",
                                "ncclbench did not end within %llu s and was killed",
                                (unsigned long long) (o.timeout_usec / USEC_PER_SEC));
        if (r < 0)
                return step_fail_later(
                                s->context, "nccl.no-verdict", "ncclbench: %s", strerror(-r));
        r = json_load(path, REPORT_MAX, &e, &s->report);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return step_fail_later(s->context, "nccl.no-verdict",
                                "ncclbench ended with exit code %d and left no report: %s", status,
                                isempty(last) ? e.message : last);
        bool pass = json_get_bool(json_get(s->report, "verdict"), "pass", false);
        if (status != (pass ? 0 : 1))
                return step_fail_later(s->context, "nccl.no-verdict",
                                "ncclbench ended with exit code %d, but its report says %s", status,
                                pass ? "pass" : "fail");
        return 0;
}

static double number(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)
                               ? json_object_get_double(v)
                               : -1;
}

/* The row of the size measured; NULL where there is none. */
static json_object *row_of(const Nccl *s) {
        json_object *rows = json_get(s->report, "rows");
        size_t n = json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *row = json_object_array_get_idx(rows, i);

                if ((uint64_t) json_get_int(row, "nominal", -1) == s->bytes)
                        return json_get(row, "out_of_place");
        }
        return NULL;
}

static void add_figures(Nccl *s) {
        static const char *const copied[] = { "nccl_version", "nccl_library", "cuda_version",
                "driver_version", "n_ranks", "wrong", "elapsed_s", "ranks" };
        json_object *row = row_of(s);

        for (size_t i = 0; i < ELEMENTSOF(copied); i++) {
                json_object *v = json_get(s->report, copied[i]);

                if (v)
                        step_figure(s->context, copied[i], json_object_get(v));
        }
        step_figure(s->context, "bytes", json_object_new_int64((int64_t) s->bytes));
        if (row && number(row, "busbw") >= 0)
                step_figure(s->context, "busbw", json_object_new_double(number(row, "busbw")));
        if (s->min_gbps > 0)
                step_figure(s->context, "min_busbw", json_object_new_double(s->min_gbps));
        if (s->busbw)
                step_figure(s->context, "min_busbw_source",
                                json_object_new_string(s->busbw->source));
}

/* Another try may end otherwise: what was late or not set up yet, not what was wrong or slow. */
static bool may_pass(const char *code) {
        static const char *const passing[] = { "cuda.fabric-not-ready", "cuda.timeout",
                "nccl.init-timeout", "nccl.init-failed", "nccl.timeout", "nccl.error",
                "worker.died", "worker.stuck", "nccl.interrupted", "internal.error",
                "cuda.out-of-memory" };

        for (size_t i = 0; i < ELEMENTSOF(passing); i++)
                if (streq(passing[i], code))
                        return true;
        return false;
}

/* ncclbench's reasons are reason codes here too; one that is a plain word becomes one of this
 * step. NULL for one that the table of codes does not have. */
static const char *code_of(const char *reason) {
        _cleanup_free_ char *own = reason && !strchr(reason, '.') ? strf("nccl.%s", reason) : NULL;
        const Code *code = code_find(own ? own : reason);

        return code ? code->code : NULL;
}

static int judge(Nccl *s) {
        json_object *verdict = json_get(s->report, "verdict"), *row = row_of(s);
        const char *reason = json_get_string(verdict, "reason"),
                   *text = json_get_string(verdict, "text"),
                   *advice = json_get_string(verdict, "advice");
        int64_t ranks = json_get_int(s->report, "n_ranks", 0);
        double busbw = number(row, "busbw");

        if (!json_get_bool(verdict, "pass", false)) {
                const char *code = code_of(reason);

                if (!code)
                        return step_fail(s->context, "nccl.no-verdict",
                                        "ncclbench failed for a reason that is not known here: %s: %s",
                                        strempty(reason), strempty(text));
                if (!isempty(advice))
                        step_remedy(s->context, "%s", advice);
                return may_pass(code) ? step_fail_later(s->context, code, "%s", strempty(text))
                                      : step_fail(s->context, code, "%s", strempty(text));
        }
        /* A pass must hold what it stands for. */
        if (!row || busbw < 0 || number(row, "wrong") != 0 ||
                        json_get_int(s->report, "wrong", -1) != 0 || ranks < 1 ||
                        (s->gpus > 0 && ranks != (int64_t) s->gpus) ||
                        (s->min_gbps > 0 && busbw < s->min_gbps))
                return step_fail(s->context, "nccl.no-verdict",
                                "ncclbench's report says pass, but does not show it: see %s",
                                REPORT);
        /* Where the configuration says how many GPUs there must be, none can be missing unseen. */
        bool counted = json_get(json_get(s->context->config, "gpu"), "count") != NULL;
        if (!s->detected.shape && s->min_gbps == 0 && !counted) {
                int r = shape_unknown(s->context, &s->detected);

                if (r < 0)
                        return r;
        } else if (s->min_gbps == 0 && ranks > 1) {
                const char *how = json_get_string(s->context->section, "no_limit");
                const char *name = s->detected.shape ? s->detected.shape->name
                                                     : "a machine of unknown shape";
                if (streq_ptr(how, "fail"))
                        return step_fail(s->context, "nccl.no-limit",
                                        "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                                        (long long) ranks, busbw, name);
                (void) step_degrade(s->context, "nccl.no-limit",
                                "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                                (long long) ranks, busbw, name);
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

int nccl_run(StepContext *c) {
        _cleanup_(nccl_done) Nccl s = { .context = c };
        _cleanup_free_ char *path = fb_path(NCCL_CONF);
        int r;

        if (!c->section)
                return step_skip(c, "no nccl section in the configuration");
        if (!path)
                return -ENOMEM;
        r = shape_detect(c, NULL, &s.detected);
        if (r < 0)
                return r;
        if (s.detected.gpus == 0 && !json_get_bool(json_get(c->config, "gpu"), "required", true))
                return step_skip(c, "no GPU, and none is required");
        r = read_file(path, 1024 * 1024, &s.conf, NULL);
        if (r == -ENOENT)
                r = (s.conf = strdup("")) ? 0 : -ENOMEM;
        if (r < 0)
                return step_fail(c, "rdma.nccl-conf", "%s not read: %s", NCCL_CONF, strerror(-r));
        choose(&s);
        r = measure(&s);
        if (r < 0)
                return r;
        add_figures(&s);
        return judge(&s);
}
