/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl check: whether the node is still what its verdict says, by the steps' own probes.
 * For people, for Slurm's Prolog, Epilog and HealthCheckProgram, and for firstbootd's watch. It
 * needs what the agent left in /run and not the agent; but a node whose agent is dead is not
 * well. */

#include "contract/condition.h"
#include "contract/graph.h"
#include "contract/history.h"
#include "contract/jobs.h"
#include "contract/paths.h"
#include "ctl/ctl.h"
#include "ctl/probe.h"
#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/suggest.h"
#include "shared/time-util.h"

#include <time.h>

#define CONFIG_MAX (16 * 1024 * 1024)
#define QUICK_USEC (60 * USEC_PER_SEC)     /* of one probe; those that can hang have 20 s */
#define AGENT_USEC (5 * USEC_PER_SEC)      /* a restart takes 1 s */
#define OTHER_USEC (5 * 60 * USEC_PER_SEC) /* of somebody else's full check */

typedef struct Check {
        Ctl *ctl;
        const char *mode;
        json_object *document; /* the configuration as the agent left it */
        Graph *graph;
        Probe *probes;
        size_t n;
        json_object *findings; /* {code, message, step}, worst of each step */
        uint64_t started_usec;
} Check;

static void check_done(Check *k) {
        for (size_t i = 0; i < k->n; i++)
                probe_done(&k->probes[i]);
        free(k->probes);
        graph_free(k->graph);
        json_object_put(k->document);
        json_object_put(k->findings);
}

static int add_finding(Check *k, const char *step, const char *code, const char *message) {
        json_object *o;
        int r;

        r = json_append_object(k->findings, &o);
        return r < 0 ? r
                     : json_set_fields(o, JSON_STRING("code", code),
                                       JSON_STRING("message", message), JSON_STRING("step", step));
}

static bool has_finding(const Check *k, const char *step) {
        for (size_t i = 0; i < json_object_array_length(k->findings); i++)
                if (streq_ptr(json_get_string(json_object_array_get_idx(k->findings, i), "step"),
                                    step))
                        return true;
        return false;
}

/* What a Prolog has in its environment is the job's, or nothing. */
static void clean_environment(void) {
        static const char *const of_jobs[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                "CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL" };

        for (size_t i = 0; i < ELEMENTSOF(of_jobs); i++)
                (void) unsetenv(of_jobs[i]);
        (void) setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);
}

/* 0, or the exit code. */
static int load_config(Check *k) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        JsonError e = {};
        int r;

        r = path ? json_load(path, CONFIG_MAX, &e, &k->document) : -ENOMEM;
        if (r >= 0)
                return 0;
        if (r == -EACCES)
                log_error("Looking needs root: %s holds secrets", path);
        else
                log_error("%s: %s; firstbootd has left no configuration to hold the node against: "
                          "systemctl status firstbootd",
                                strempty(path), r == -ENOENT ? strerror(-r) : e.message);
        return EXIT_CHECK_BLIND;
}

/* A configuration with errors is no node's: that is the finding, and nothing is looked at. 0, 1
 * where there is one, or negative errno. */
static int take_errors(Check *k) {
        json_object *errors = json_get(k->document, "errors");
        _cleanup_strv_free_ char **list = NULL;
        _cleanup_free_ char *text = NULL;
        const char *code = "config.invalid";
        int r;

        r = graph_load(json_get(k->document, "config"), &k->graph);
        if (r < 0)
                return r;
        if (json_array_length(errors) > 0)
                r = json_to_strv(errors, &list);
        else if (k->graph->errors) {
                code = "graph.invalid";
                list = strv_copy(k->graph->errors);
                r = list ? 0 : -ENOMEM;
        } else
                return 0;
        if (r < 0)
                return r;
        text = strv_join(list, "; ");
        r = text ? add_finding(k, NULL, code, text) : -ENOMEM;
        return r < 0 ? r : 1;
}

/* One probe for each step that has something to do here. */
static int make_probes(Check *k) {
        bool full = streq(k->mode, "full");

        k->probes = calloc(k->graph->n + 1, sizeof(Probe));
        if (!k->probes)
                return -ENOMEM;
        for (size_t i = 0; i < k->graph->n; i++) {
                const Step *s = &k->graph->steps[i];
                _cleanup_free_ char *why = NULL;
                int r;

                if (k->ctl->step && !streq(s->name, k->ctl->step))
                        continue;
                r = condition_holds(s, json_get(k->document, "config"), &why);
                if (r == 0)
                        continue;
                k->probes[k->n++] = (Probe) {
                        .step = s->name,
                        /* Load on one part must not fall into the measurement of another. */
                        .after = full ? s->requires : NULL,
                        .timeout_usec = full ? s->timeout_usec : MIN(QUICK_USEC, s->timeout_usec),
                        .required = s->required,
                        .fd = -EBADF,
                };
        }
        return 0;
}

/* Two that measure at once would both find the node slow. The lock ends with us. -EISCONN: a job
 * runs, and was to be left alone. */
static int begin_full(Check *k) {
        _cleanup_free_ char *path = fb_path("/run/firstboot/check.lock");
        int fd = path ? lock_file(path, now_usec() + OTHER_USEC) : -ENOMEM;

        if (fd < 0)
                return fd;
        if (!k->ctl->beside_jobs && jobs_run())
                return log_error_return(-EISCONN,
                                "Nothing was looked at: a job runs on this node, and a full check puts load on GPUs and network beside it. --quick disturbs nobody; or drain the node and wait for its jobs; --beside-jobs goes on all the same");
        k->started_usec = now_usec();
        return 0; /* kept open on purpose */
}

/* The agent's own word: its verdict counts as much as any probe, for it has watched longer. */
static int ask_agent(Check *k) {
        uint64_t deadline = now_usec() + AGENT_USEC;
        _cleanup_json_ json_object *status = NULL;
        json_object *steps, *watch;
        size_t n;

        while (ctl_agent_status(k->ctl, &status) < 0) {
                if (now_usec() >= deadline)
                        return add_finding(k, NULL, "check.no-agent",
                                        "firstbootd does not answer on the system bus: nobody watches this node");
                usleep(200000);
        }
        if (!streq_ptr(json_get_string(status, "node"), "failed"))
                return 0;

        watch = json_get(status, "watch");
        if (json_get_string(watch, "code"))
                return add_finding(k, NULL, json_get_string(watch, "code"),
                                strempty(json_get_string(watch, "message")));
        if (json_get_string(status, "code"))
                return add_finding(k, NULL, json_get_string(status, "code"),
                                strempty(json_get_string(status, "message")));
        steps = status_steps(status, &n);
        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i), *result;
                const char *name = json_get_string(step, "name"), *code;
                int r;

                if (!streq_ptr(json_get_string(step, "status"), "failed") ||
                                !json_get_bool(step, "required", true) || has_finding(k, name))
                        continue;
                result = json_get(step, "result");
                code = json_get_string(result, "code");
                r = add_finding(k, name, code ? code : "step.failed",
                                strempty(json_get_string(result, "message")));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_results(Check *k) {
        int r;

        for (size_t i = 0; i < k->n; i++) {
                const Probe *p = &k->probes[i];

                if (!p->required || !streq_ptr(json_get_string(p->result, "status"), "failed"))
                        continue;
                r = add_finding(k, p->step, json_get_string(p->result, "code"),
                                strempty(json_get_string(p->result, "message")));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int print_json(const Check *k, bool pass) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *steps = json_object_new_array();
        int r = 0;

        for (size_t i = 0; steps && i < k->n && r >= 0; i++) {
                const Probe *p = &k->probes[i];
                json_object *step;

                r = json_append_object(steps, &step);
                if (r < 0)
                        break;
                json_object_object_foreach (p->result, key, value)
                        r = r < 0 ? r : json_set(step, key, json_object_get(value));
                r = r < 0 ? r
                          : json_set_fields(step, JSON_STRING("name", p->step),
                                            JSON_BOOL("required", p->required),
                                            JSON_DOUBLE("seconds", (double) p->took_usec / 1e6));
        }
        if (r < 0) {
                json_object_put(steps);
                return r;
        }
        r = json_set_fields(o, JSON_TAKE("steps", steps), JSON_STRING("mode", k->mode),
                        JSON_BOOL("pass", pass),
                        JSON_DOUBLE("seconds", (double) (now_usec() - k->started_usec) / 1e6),
                        JSON_TAKE("findings", json_object_get(k->findings)));
        if (r < 0)
                return r;
        json_print(o, 0);
        return 0;
}

/* Whether the newest entry says the same: a fault that stays is told once, lest it push out the
 * past. */
static bool is_repeated(const HistoryEntry *e) {
        _cleanup_free_ HistoryEntry *past = NULL;
        size_t n;

        if (history_load(&past, &n, NULL) < 0 || n == 0)
                return false;
        return streq(past[n - 1].verdict, e->verdict) && streq(past[n - 1].code, e->code);
}

/* A full check's figures against this machine's past. */
static int judge_speed(Check *k, HistoryEntry *e) {
        json_object *watch = json_get(json_get(k->document, "config"), "watch");
        int64_t percent = json_get_int(watch, "slow_percent", 15);
        _cleanup_free_ HistoryEntry *past = NULL;
        const HistoryFigureInfo *info;
        _cleanup_free_ char *text = NULL;
        HistoryFigure figure;
        double median;
        size_t n;

        if (percent == 0 || history_load(&past, &n, NULL) < 0 ||
                        !history_is_slow(past, n, e, (double) percent, &figure, &median))
                return 0;
        e->slow = true;
        info = &history_figure_info[figure];
        text = strf("%s is %.5g %s, usually it is %.5g", info->name, e->figures[figure], info->unit,
                        median);
        if (!text)
                return -ENOMEM;
        if (streq_ptr(json_get_string(watch, "slow"), "fail"))
                return add_finding(k, NULL, "watch.slow", text);
        fprintf(stderr, "watch.slow: %s (let pass)\n", text);
        return 0;
}

/* Full checks are kept, and of quick ones what was found: those that find nothing come every
 * minute. */
static void remember(Check *k) {
        HistoryEntry e = { .kind = "check", .time = time(NULL) };
        json_object *first;
        int r;

        if (k->ctl->step)
                return;
        for (size_t i = 0; i < k->n; i++)
                history_take(&e, k->probes[i].step, json_get(k->probes[i].result, "figures"));
        if (streq(k->mode, "full") && judge_speed(k, &e) < 0)
                return;
        first = json_object_array_length(k->findings) > 0
                                ? json_object_array_get_idx(k->findings, 0)
                                : NULL;
        if (!first && streq(k->mode, "quick"))
                return;
        snprintf(e.verdict, sizeof(e.verdict), "%s", first ? "failed" : "ready");
        snprintf(e.code, sizeof(e.code), "%s", strempty(json_get_string(first, "code")));
        snprintf(e.text, sizeof(e.text), "%s", strempty(json_get_string(first, "message")));
        if (first && is_repeated(&e))
                return;
        r = history_append(&e);
        if (r < 0)
                log_warning_errno(r, "This check is missing in the history");
}

/* What is wrong on standard output, what is let pass on standard error. */
static void print(const Check *k) {
        for (size_t i = 0; i < json_object_array_length(k->findings); i++) {
                json_object *o = json_object_array_get_idx(k->findings, i);

                printf("%s: %s\n", json_get_string(o, "code"), json_get_string(o, "message"));
        }
        for (size_t i = 0; i < k->n; i++) {
                const Probe *p = &k->probes[i];
                const char *status = json_get_string(p->result, "status");

                if (streq(status, "degraded") || (streq(status, "failed") && !p->required))
                        fprintf(stderr, "%s: %s (let pass)\n",
                                        strempty(json_get_string(p->result, "code")),
                                        strempty(json_get_string(p->result, "message")));
        }
}

static void log_no_such_step(const Check *k) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL;

        for (size_t i = 0; i < k->graph->n; i++)
                (void) strv_extend(&names, k->graph->steps[i].name);
        meant = suggest_text(k->ctl->step, names);
        log_error("There is no step \"%s\" on this node%s", k->ctl->step,
                        isempty(meant) ? "; 'firstbootctl status' lists them" : meant);
}

static int run(Check *k) {
        int r;

        r = take_errors(k);
        if (r != 0)
                return r < 0 ? r : 0;
        r = make_probes(k);
        if (r < 0)
                return r;
        if (k->ctl->step && !graph_find(k->graph, k->ctl->step)) {
                log_no_such_step(k);
                return -EINVAL;
        }
        if (streq(k->mode, "full")) {
                r = begin_full(k);
                if (r < 0)
                        return r;
        }
        r = probes_run(k->probes, k->n, k->mode);
        if (r < 0)
                return r;
        r = take_results(k);
        if (r < 0)
                return r;
        return k->ctl->probes || k->ctl->step ? 0 : ask_agent(k);
}

int verb_check(Ctl *c, int argc, char *argv[]) {
        _cleanup_(check_done) Check k = { .ctl = c, .mode = c->full ? "full" : "quick" };
        bool pass;
        int r;

        (void) argv;
        if (argc > 0 || (c->quick && c->full) || (c->beside_jobs && !c->full)) {
                log_error("check takes --quick or --full, --step=NAME, --probes and --json; and --full takes --beside-jobs");
                return EXIT_CHECK_USAGE;
        }
        k.started_usec = now_usec();
        k.findings = json_object_new_array();
        clean_environment();
        r = load_config(&k);
        if (r != 0)
                return r;
        r = k.findings ? run(&k) : -ENOMEM;
        if (r == -EINVAL)
                return EXIT_CHECK_USAGE;
        if (r == -EISCONN)
                return EXIT_CHECK_JOBS;
        if (r == -EBUSY)
                log_error("Another full check has gone on for more than 5 min: 'fuser -v /run/firstboot/check.lock' shows whose");
        else if (r == -ENOENT || r == -EACCES)
                log_error_errno(r, "Cannot look, for " PATH_STEP
                                   " cannot be run; reinstall the firstboot programs");
        else if (r < 0)
                log_error_errno(r, "Cannot look at the node");
        if (r < 0)
                return EXIT_CHECK_BLIND;

        remember(&k);
        pass = json_object_array_length(k.findings) == 0;
        if (!c->json)
                print(&k);
        else if (print_json(&k, pass) < 0)
                return EXIT_CHECK_BLIND;
        if (fflush(stdout) != 0)
                return EXIT_CHECK_BLIND;
        return pass ? EXIT_CHECK_GOOD : EXIT_CHECK_BAD;
}
