/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ncclbench run once, and what it says. It cannot hang by itself; a limit of our own holds over it
 * anyway. */

#include "contract/codes.h"
#include "contract/paths.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/nccl/conf.h"
#include "steps/nccl/internal.h"

#define REPORT_MAX (16 * 1024 * 1024)
#define LIMIT_USEC (30 * USEC_PER_SEC)
/* ncclbench kills its own child 5 s after its limit, and may need as long to see it gone. */
#define KILL_USEC (20 * USEC_PER_SEC)

void nccl_run_done(NcclRun *run) {
        json_putp(&run->report);
        free(run->text);
        *run = (NcclRun) {};
}

/* What is said only where it is known. */
static int add_optional_arguments(Nccl *s, const NcclRun *run, char ***argv) {
        json_object *o = s->context->section;
        const char *cuda = json_get_string(o, "cuda_library"),
                   *library = json_get_string(o, "nccl_library");
        int r = 0;

        if (run->devices)
                r = strv_extendf(argv, "--devices=%s", run->devices);
        else if (run->gpus > 0)
                r = strv_extendf(argv, "--ngpus=%u", run->gpus);
        if (r < 0)
                return r;
        if (run->min_gbps > 0)
                r = strv_extendf(argv, "--expect=%llu:%.9g", (unsigned long long) run->bytes,
                                run->min_gbps);
        if (r < 0)
                return r;
        if (cuda)
                r = strv_extendf(argv, "--cuda-library=%s", cuda);
        if (r < 0)
                return r;
        return library ? strv_extendf(argv, "--nccl-library=%s", library) : 0;
}

static int make_argv(Nccl *s, const NcclRun *run, const char *program, const char *report,
                char ***argv) {
        json_object *o = s->context->section;
        uint64_t limit = config_duration(o, "limit", LIMIT_USEC) / USEC_PER_SEC;
        unsigned long long bytes = run->bytes, seconds = MAX(limit, UINT64_C(1));
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
        r = strv_extend_strv(argv,
                        ARGV(program, "all_reduce", from, to, iterations, timeout, init, output));
        return r < 0 ? r : add_optional_arguments(s, run, argv);
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

/* Whether one of the settings is of the same variable. */
static bool is_set(char *const *settings, const char *variable) {
        size_t n = strcspn(variable, "=") + 1;

        STRV_FOREACH (e, settings)
                if (strncmp(*e, variable, n) == 0)
                        return true;
        return false;
}

/* One setting of the shape, unless we or /etc/nccl.conf say otherwise. */
static int add_shape_variable(Nccl *s, char ***env, const char *variable) {
        _cleanup_free_ char *key = strndup(variable, strcspn(variable, "=")), *conf = NULL;

        if (!key)
                return -ENOMEM;
        if (s->nvls && streq(key, "NCCL_NVLS_ENABLE"))
                return 0;
        conf = nccl_conf_get(s->conf, key);
        return conf ? 0 : strv_extend(env, variable);
}

/* Our own environment, and the shape's settings where /etc/nccl.conf, which NCCL reads after the
 * environment, does not say otherwise. */
static int make_env(Nccl *s, const NcclRun *run, char ***env) {
        const Shape *shape = s->detected.shape;
        int r;

        STRV_FOREACH (e, run->settings) {
                r = strv_extend(env, *e);
                if (r < 0)
                        return r;
        }

        STRV_FOREACH (e, environ) {
                if (is_kept_away(*e) || is_set(run->settings, *e))
                        continue;
                r = strv_extend(env, *e);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (e, shape ? shape->nccl_env : NULL) {
                r = is_set(run->settings, *e) ? 0 : add_shape_variable(s, env, *e);
                if (r < 0)
                        return r;
        }
        return s->nvls && !is_set(run->settings, "NCCL_NVLS_ENABLE=")
                               ? strv_extendf(env, "NCCL_NVLS_ENABLE=%s", s->nvls)
                               : 0;
}

static void on_line(const char *line, void *userdata) {
        char **last = userdata;

        log_info("  %s", line);
        if (line[strspn(line, " \t")]) {
                free(*last);
                *last = strdup(line);
        }
}

static int no_report(NcclRun *run, const char *code, char *text) {
        run->code = code;
        run->text = text;
        return text ? 0 : -ENOMEM;
}

/* Takes the report that ncclbench has left at path. */
static int take(NcclRun *run, const char *path, int status, const char *last) {
        JsonError e = {};
        int r;

        r = json_load(path, REPORT_MAX, &e, &run->report);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return no_report(run, "nccl.no-verdict",
                                strf("ncclbench ended with exit code %d and left no report: %s",
                                                status, isempty(last) ? e.message : last));

        bool pass = json_get_bool(json_get(run->report, "verdict"), "pass", false);
        if (status != (pass ? 0 : 1))
                return no_report(run, "nccl.no-verdict",
                                strf("ncclbench ended with exit code %d, but its report says %s",
                                                status, pass ? "pass" : "fail"));
        return 0;
}

static int execute(Nccl *s, NcclRun *run, char *const *argv, char *const *env, const char *path) {
        _cleanup_free_ char *text = strv_join(argv, " "), *last = NULL;
        SpawnOptions o = {
                .env = env,
                .on_line = on_line,
                .line_data = &last,
                .timeout_usec = KILL_USEC +
                                config_duration(s->context->section, "limit", LIMIT_USEC),
        };
        char limit[FORMAT_DURATION_MAX];
        uint64_t start = now_usec();
        int r, status = 0;

        log_info("Running %s", strempty(text));
        r = spawn_run(&o, argv, &status);
        run->seconds = (double) (now_usec() - start) / 1e6;
        if (r == -ETIMEDOUT)
                return no_report(run, "nccl.no-end",
                                strf("ncclbench did not end within %s and was killed",
                                                format_duration(limit, o.timeout_usec)));
        if (r < 0)
                return no_report(run, "nccl.no-verdict", strf("ncclbench: %s", strerror(-r)));
        return take(run, path, status, last);
}

char *nccl_report_path(const StepContext *c, const char *name) {
        return fb_pathf("%s/%s", c->check ? PATH_RUN_CHECK : PATH_RUN, name);
}

int nccl_bench(Nccl *s, NcclRun *run) {
        _cleanup_free_ char *program = fb_path(NCCL_PROGRAM),
                            *path = nccl_report_path(s->context, NCCL_REPORT);
        _cleanup_strv_free_ char **argv = NULL, **env = NULL;
        int r;

        if (!program || !path)
                return -ENOMEM;
        if (access(program, X_OK) < 0)
                return no_report(run, "nccl.no-program",
                                strf("%s: %s", NCCL_PROGRAM, strerror(errno)));
        /* The report is what counts, and one from before must not be taken for it. */
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = make_argv(s, run, program, path, &argv);
        if (r < 0)
                return r;
        r = make_env(s, run, &env);
        return r < 0 ? r : execute(s, run, argv, env, path);
}

double nccl_number(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)
                               ? json_object_get_double(v)
                               : -1;
}

json_object *nccl_row(json_object *report, uint64_t bytes) {
        json_object *rows = json_get(report, "rows");
        size_t n = json_array_length(rows);

        for (size_t i = 0; i < n; i++) {
                json_object *row = json_object_array_get_idx(rows, i);

                if ((uint64_t) json_get_int(row, "nominal", -1) == bytes)
                        return json_get(row, "out_of_place");
        }
        return NULL;
}

/* Another try may end otherwise: what was late or not set up yet, not what was wrong or slow. */
bool nccl_may_pass(const char *code) {
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
const char *nccl_code_of(const char *reason) {
        _cleanup_free_ char *own = reason && !strchr(reason, '.') ? strf("nccl.%s", reason) : NULL;
        const Code *code = code_find(own ? own : reason);

        return code ? code->code : NULL;
}
