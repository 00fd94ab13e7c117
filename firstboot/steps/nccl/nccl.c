/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NCCL over all GPUs of the node, measured by ncclbench: every element right, and the bus
 * bandwidth that the machine's shape must have. ncclbench cannot hang by itself; a limit of our
 * own holds over it anyway. */

#include "contract/codes.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/nccl/conf.h"
#include "steps/nccl/pair-limit.h"
#include "steps/nccl/runtime.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#define PROGRAM "/usr/bin/ncclbench"
#define NCCL_CONF "/etc/nccl.conf"
#define REPORT PATH_RUN "/ncclbench.json"
#define CHECK_REPORT PATH_RUN_CHECK "/ncclbench.json"
#define REPORT_MAX (16 * 1024 * 1024)
/* Size where no number is known: two such buffers fit into any GPU that has NCCL. */
#define PLAIN_BYTES (UINT64_C(1) << 30)
#define LIMIT_USEC (30 * USEC_PER_SEC)
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

/* How many GPUs there must be: by the configuration, the shape, or what is there. */
static unsigned choose_gpus(const Nccl *s) {
        const Shape *shape = s->detected.shape;
        int64_t count = json_get_int(json_get(s->context->config, "gpu"), "count", 0);

        if (count != 0)
                return (unsigned) count;
        return shape && shape->gpus > 0 ? (unsigned) shape->gpus : s->detected.gpus;
}

/* What is measured, and what it must reach. */
static void choose(Nccl *s) {
        json_object *o = s->context->section;
        int64_t percent = json_get_int(o, "measured_percent", 95);
        bool nvls = nvls_allowed(s);

        s->gpus = choose_gpus(s);
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

/* What is said only where it is known. */
static int add_optional_arguments(Nccl *s) {
        json_object *o = s->context->section;
        const char *cuda = json_get_string(o, "cuda_library"),
                   *library = json_get_string(o, "nccl_library");
        int r = 0;

        if (s->gpus > 0)
                r = strv_extendf(&s->argv, "--ngpus=%u", s->gpus);
        if (r < 0)
                return r;
        if (s->min_gbps > 0)
                r = strv_extendf(&s->argv, "--expect=%llu:%.9g", (unsigned long long) s->bytes,
                                s->min_gbps);
        if (r < 0)
                return r;
        if (cuda)
                r = strv_extendf(&s->argv, "--cuda-library=%s", cuda);
        if (r < 0)
                return r;
        return library ? strv_extendf(&s->argv, "--nccl-library=%s", library) : 0;
}

static int make_argv(Nccl *s, const char *program, const char *report) {
        json_object *o = s->context->section;
        uint64_t limit = config_duration(o, "limit", LIMIT_USEC) / USEC_PER_SEC;
        unsigned long long bytes = s->bytes, seconds = MAX(limit, UINT64_C(1));
        _cleanup_free_ char *from = strf("--minbytes=%llu", bytes),
                            *to = strf("--maxbytes=%llu", bytes),
                            *iterations = strf("--iters=%lld",
                                            (long long) json_get_int(o, "iterations", 5)),
                            *timeout = strf("--timeout=%llu", seconds),
                            *init = strf("--init-timeout=%llu", seconds),
                            *output = strf("--output-file=%s", report);
        int r;

        if (!from || !to || !iterations || !timeout || !init || !output)
                return -ENOMEM;
        r = strv_extend_strv(&s->argv,
                        ARGV(program, "all_reduce", from, to, iterations, timeout, init, output));
        return r < 0 ? r : add_optional_arguments(s);
}

/* Whether a variable would make ncclbench look for other processes, or is what we say ourselves. */
static bool is_kept_away(const char *variable) {
        static const char *const others[] = { "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "MASTER_ADDR=",
                "MASTER_PORT=", "SLURM_", "OMPI_", "PMI_", "PMIX_", "MV2_", "NCCL_NVLS_ENABLE=" };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (startswith(variable, others[i]))
                        return true;
        return false;
}

/* One setting of the shape, unless we or /etc/nccl.conf say otherwise. */
static int add_shape_variable(Nccl *s, const char *variable) {
        _cleanup_free_ char *key = strndup(variable, strcspn(variable, "=")), *conf = NULL;

        if (!key)
                return -ENOMEM;
        if (s->nvls && streq(key, "NCCL_NVLS_ENABLE"))
                return 0;
        conf = nccl_conf_get(s->conf, key);
        return conf ? 0 : strv_extend(&s->env, variable);
}

/* Our own environment, and the shape's settings where /etc/nccl.conf, which NCCL reads after the
 * environment, does not say otherwise. */
static int make_env(Nccl *s) {
        const Shape *shape = s->detected.shape;
        int r;

        STRV_FOREACH (e, environ) {
                if (is_kept_away(*e))
                        continue;
                r = strv_extend(&s->env, *e);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (e, shape ? shape->nccl_env : NULL) {
                r = add_shape_variable(s, *e);
                if (r < 0)
                        return r;
        }
        return s->nvls ? strv_extendf(&s->env, "NCCL_NVLS_ENABLE=%s", s->nvls) : 0;
}

static void on_line(const char *line, void *userdata) {
        char **last = userdata;

        log_info("  %s", line);
        if (line[strspn(line, " \t")]) {
                free(*last);
                *last = strdup(line);
        }
}

/* Runs ncclbench and takes the report that it leaves at path. */
static int run(Nccl *s, const char *path) {
        _cleanup_free_ char *text = strv_join(s->argv, " "), *last = NULL;
        SpawnOptions o = {
                .env = s->env,
                .on_line = on_line,
                .line_data = &last,
                .timeout_usec = KILL_USEC +
                                config_duration(s->context->section, "limit", LIMIT_USEC),
        };
        StepContext *c = s->context;
        uint64_t start = now_usec();
        JsonError e = {};
        int r, status = 0;

        log_info("Running %s", strempty(text));
        r = spawn_run(&o, s->argv, &status);
        step_figure(c, "seconds", json_object_new_double((double) (now_usec() - start) / 1e6));
        if (r == -ETIMEDOUT)
                return step_fail_later(c, "nccl.no-end",
                                "ncclbench did not end within %llu s and was killed",
                                (unsigned long long) (o.timeout_usec / USEC_PER_SEC));
        if (r < 0)
                return step_fail_later(c, "nccl.no-verdict", "ncclbench: %s", strerror(-r));

        r = json_load(path, REPORT_MAX, &e, &s->report);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return step_fail_later(c, "nccl.no-verdict",
                                "ncclbench ended with exit code %d and left no report: %s", status,
                                isempty(last) ? e.message : last);

        bool pass = json_get_bool(json_get(s->report, "verdict"), "pass", false);
        if (status != (pass ? 0 : 1))
                return step_fail_later(c, "nccl.no-verdict",
                                "ncclbench ended with exit code %d, but its report says %s", status,
                                pass ? "pass" : "fail");
        return 0;
}

/* The report is what counts, and one from before must not be taken for it. */
static int measure(Nccl *s) {
        _cleanup_free_ char *program = fb_path(PROGRAM),
                            *path = fb_path(s->context->check ? CHECK_REPORT : REPORT);
        int r;

        if (!program || !path)
                return -ENOMEM;
        if (access(program, X_OK) < 0)
                return step_fail(s->context, "nccl.no-program", "%s: %s", PROGRAM, strerror(errno));
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = make_argv(s, program, path);
        if (r < 0)
                return r;
        r = make_env(s);
        return r < 0 ? r : run(s, path);
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

static int judge_failure(Nccl *s, json_object *verdict) {
        const char *reason = json_get_string(verdict, "reason"),
                   *text = json_get_string(verdict, "text"),
                   *advice = json_get_string(verdict, "advice"), *code = code_of(reason);

        if (!code)
                return step_fail(s->context, "nccl.no-verdict",
                                "ncclbench failed for a reason that is not known here: %s: %s",
                                strempty(reason), strempty(text));
        if (!isempty(advice))
                step_remedy(s->context, "%s", advice);
        return may_pass(code) ? step_fail_later(s->context, code, "%s", strempty(text))
                              : step_fail(s->context, code, "%s", strempty(text));
}

/* Nothing was held against the bandwidth: is that as it should be? */
static int judge_without_limit(Nccl *s, int64_t ranks, double busbw) {
        const Shape *shape = s->detected.shape;
        const char *how = json_get_string(s->context->section, "no_limit"),
                   *name = shape ? shape->name : "a machine of unknown shape";
        /* Where the configuration says how many GPUs there must be, none can be missing unseen. */
        bool counted = json_get(json_get(s->context->config, "gpu"), "count") != NULL;

        if (!shape && !counted)
                return shape_unknown(s->context, &s->detected);
        if (ranks <= 1)
                return 0;
        if (streq_ptr(how, "fail"))
                return step_fail(s->context, "nccl.no-limit",
                                "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                                (long long) ranks, busbw, name);
        return step_degrade(s->context, "nccl.no-limit",
                        "busbw of %lld GPUs is %.1f GB/s; no limit is known for %s",
                        (long long) ranks, busbw, name);
}

static int judge(Nccl *s) {
        json_object *verdict = json_get(s->report, "verdict"), *row = row_of(s);
        int64_t ranks = json_get_int(s->report, "n_ranks", 0);
        double busbw = number(row, "busbw");
        int r;

        if (!json_get_bool(verdict, "pass", false))
                return judge_failure(s, verdict);

        /* A pass must hold what it stands for. */
        if (!row || busbw < 0 || number(row, "wrong") != 0 ||
                        json_get_int(s->report, "wrong", -1) != 0 || ranks < 1 ||
                        (s->gpus > 0 && ranks != (int64_t) s->gpus) ||
                        (s->min_gbps > 0 && busbw < s->min_gbps))
                return step_fail(s->context, "nccl.no-verdict",
                                "ncclbench's report says pass, but does not show it: see %s",
                                REPORT);

        if (s->min_gbps == 0) {
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

/* The runtime that programs get, after the driver and NCCL were seen to work: what is wrong then is the
 * runtime's own. */
static int prove_runtime(Nccl *s) {
        _cleanup_free_ char *program = fb_path(PROGRAM);
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
        r = read_file(path, 1024 * 1024, &s.conf, NULL);
        if (r == -ENOENT)
                r = (s.conf = strdup("")) ? 0 : -ENOMEM;
        if (r < 0)
                return step_fail(c, "rdma.nccl-conf", "%s not read: %s", NCCL_CONF, strerror(-r));
        choose(&s);
        r = pair_limit_write(s.detected.shape, nvls_allowed(&s),
                        json_get_int(c->section, "measured_percent", 95));
        if (r < 0)
                return r;
        r = measure(&s);
        if (r < 0)
                return r;
        add_figures(&s);
        if (json_get_bool(json_get(s.report, "verdict"), "pass", false)) {
                r = prove_runtime(&s);
                if (r < 0)
                        return r;
        }
        return judge(&s);
}
