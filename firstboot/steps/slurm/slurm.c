/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Membership in a Slurm cluster: munge key, clock, slurmd without a local configuration,
 * registered. It runs last. Where a required step has failed and the configuration wants it seen,
 * the node registers drained, with the reason; once all is well, a drain of ours (and only ours)
 * is lifted. */

#include "steps/steps.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/slurm/munge.h"
#include "contract/paths.h"
#include "steps/slurm/control.h"
#include "steps/slurm/sntp.h"
#include "shared/spawn.h"
#include "steps/common/unit.h"

#include <dirent.h>
#include <time.h>

#define UNIT_USEC (120 * USEC_PER_SEC)
#define PING_USEC (5 * USEC_PER_SEC) /* what a controller gets to hear of a slurmd that runs */
#define STATUS_MAX (4 * 1024 * 1024)

typedef struct Slurm {
        StepContext *context;
        char *node;
        char *drain; /* the reason to register drained with; NULL: all is well */
        uint64_t deadline;
        bool running; /* slurmd was up before this run of the step */
} Slurm;

static void slurm_done(Slurm *s) {
        free(s->node);
        free(s->drain);
}

static uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}

/* Sleeps with growing pauses; false once the time is up. */
static bool again(const Slurm *s, uint64_t *pause) {
        if (now_usec() + *pause >= s->deadline)
                return false;
        usleep((useconds_t) *pause);
        *pause = MIN(*pause * 2, 10 * USEC_PER_SEC);
        return true;
}

/* The first required step that failed, as firstbootd's status has it. No status, no joining. */
static int find_failure(Slurm *s) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_STATUS);
        _cleanup_json_ json_object *o = NULL;
        json_object *steps;
        JsonError e = {};
        int r;

        r = path ? json_load(path, STATUS_MAX, &e, &o) : -ENOMEM;
        steps = json_get(o, "steps");
        if (r < 0 || !json_object_is_type(steps, json_type_array))
                return step_fail_later(s->context, "slurm.slurmd",
                                "%s does not tell how the other steps went: %s", PATH_RUN_STATUS,
                                e.message);
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                json_object *step = json_object_array_get_idx(steps, i),
                            *result = json_get(step, "result");
                const char *status = json_get_string(step, "status");

                if (!status || !streq(status, "failed") || !json_get_bool(step, "required", true))
                        continue;
                const char *code = json_get_string(result, "code"),
                           *text = json_get_string(result, "message");
                s->drain = drain_reason(code ? code : "step.failed", strempty(text));
                return s->drain ? 0 : -ENOMEM;
        }
        return 0;
}

static int node_name(Slurm *s) {
        const char *given = json_get_string(s->context->section, "node_name");
        char host[256] = "";

        if (!given && gethostname(host, sizeof(host) - 1) < 0)
                return -errno;
        host[strcspn(host, ".")] = '\0';
        s->node = strdup(given ? given : host);
        return s->node ? 0 : -ENOMEM;
}

/* The controller refuses our credential and does not say why: another key, or clocks that are more
 * than munge's five minutes apart. Its host's NTP server, if there is one, knows. */
static int refused(Slurm *s, const char *line, uint64_t limit) {
        json_object *list = json_get(s->context->section, "controllers");
        const char *first = json_object_get_string(json_object_array_get_idx(list, 0));
        _cleanup_free_ char *host = strndup(first, strcspn(first, ":"));
        int64_t offset = 0;
        int r;

        if (!host)
                return -ENOMEM;
        r = sntp_offset(host, &offset);
        if (r < 0)
                return step_fail_later(s->context, "slurm.munge-mismatch",
                                "%s; a clock five minutes off looks the same, and %s gives no time by NTP: %s",
                                line, host, strerror(-r));
        int64_t skew = offset < 0 ? -offset : offset;
        step_figure(s->context, "clock_skew_seconds", json_object_new_int64(skew));
        if ((uint64_t) skew * USEC_PER_SEC > limit)
                return step_fail_later(s->context, "slurm.clock-skew",
                                "the clock is %lld s %s the controller's; %llu s are allowed",
                                (long long) skew, offset < 0 ? "ahead of" : "behind",
                                (unsigned long long) (limit / USEC_PER_SEC));
        return step_fail_later(s->context, "slurm.munge-mismatch", "%s; the clocks agree", line);
}

/* Waits until a controller answers with a credential that we can decode and a clock like ours. */
static int check_controller(Slurm *s) {
        static char *const args[] = { (char *) "show", (char *) "config", NULL };
        static const char *const codes[] = {
                [PROBE_UNREACHABLE] = "slurm.controller-unreachable",
                [PROBE_CLOCK] = "slurm.clock-skew",
                [PROBE_MISMATCH] = "slurm.munge-mismatch",
                [PROBE_MUNGE] = "slurm.munge",
                [PROBE_OTHER] = "slurm.controller-unreachable",
        };
        StepContext *c = s->context;
        uint64_t pause = USEC_PER_SEC,
                 limit = config_duration(c->section, "clock_skew_max", 60 * USEC_PER_SEC);
        int64_t theirs = 0;
        int r;

        for (;;) {
                _cleanup_free_ char *output = NULL;

                time_t before = time(NULL);
                r = scontrol(args, &output);
                if (r == -ENOENT)
                        return step_fail(c, "slurm.not-installed", "scontrol is not installed");
                ProbeKind kind = r < 0 ? PROBE_UNREACHABLE : probe_judge(r, output);
                if (kind == PROBE_GOOD) {
                        time_t after = time(NULL);

                        if (probe_clock(output, &theirs) < 0)
                                return step_fail_later(c, "slurm.clock-skew",
                                                "the controller's clock could not be read from scontrol's answer");
                        int64_t skew = theirs < before  ? before - theirs
                                       : theirs > after ? theirs - after
                                                        : 0;
                        step_figure(c, "clock_skew_seconds", json_object_new_int64(skew));
                        if ((uint64_t) skew * USEC_PER_SEC <= limit)
                                return 0;
                        /* Time synchronisation may be under way. */
                        if (!again(s, &pause))
                                return step_fail_later(c, "slurm.clock-skew",
                                                "the clock differs from the controller's by %lld s; %llu s are allowed",
                                                (long long) skew,
                                                (unsigned long long) (limit / USEC_PER_SEC));
                        continue;
                }
                if (!again(s, &pause)) {
                        char *line = output ? output : (char *) "";

                        line[strcspn(line, "\n")] = '\0';
                        if (kind == PROBE_MISMATCH)
                                return refused(s, line, limit);
                        return step_fail_later(c, codes[kind], "%s",
                                        isempty(line) ? "scontrol did not end in time" : line);
                }
        }
}

static unsigned count_gpus(void) {
        _cleanup_free_ char *path = fb_path("/dev");
        DIR *d = path ? opendir(path) : NULL;
        struct dirent *e;
        unsigned n = 0;

        while (d && (e = readdir(d))) {
                const char *digits = startswith(e->d_name, "nvidia");

                n += digits && digits[0] && strspn(digits, "0123456789") == strlen(digits);
        }
        if (d)
                closedir(d);
        return n;
}

/* SLURMD_OPTIONS for slurmd.service's environment file; systemd takes quotes in it as a shell
 * would. */
static char *slurmd_environment(Slurm *s) {
        StepContext *c = s->context;
        json_object *controllers = json_get(c->section, "controllers"),
                    *features = json_get(c->section, "features"),
                    *options = json_get(c->section, "options");
        const char *gres = json_get_string(c->section, "gres");
        unsigned gpus = streq_ptr(gres, "auto") ? count_gpus() : 0;
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fprintf(f, "SLURMD_OPTIONS='--conf-server ");
        for (size_t i = 0; i < json_object_array_length(controllers); i++)
                fprintf(f, "%s%s", i ? "," : "",
                                json_object_get_string(json_object_array_get_idx(controllers, i)));
        fprintf(f, " -N %s", s->node);
        if (json_get_bool(c->section, "dynamic", false)) {
                fprintf(f, " -Z");
                size_t n = features ? json_object_array_length(features) : 0;
                bool has_gres = gpus > 0 || (gres && !streq(gres, "auto") && !streq(gres, "none"));

                if (n > 0 || has_gres)
                        fprintf(f, " --conf \"");
                for (size_t i = 0; i < n; i++)
                        fprintf(f, "%s%s", i ? "," : "Feature=",
                                        json_object_get_string(
                                                        json_object_array_get_idx(features, i)));
                if (gpus > 0)
                        fprintf(f, "%sGres=gpu:%u", n ? " " : "", gpus);
                else if (has_gres)
                        fprintf(f, "%sGres=%s", n ? " " : "", gres);
                if (n > 0 || has_gres)
                        fprintf(f, "\"");
        }
        for (size_t i = 0; options && i < json_object_array_length(options); i++)
                fprintf(f, " %s", json_object_get_string(json_object_array_get_idx(options, i)));
        fprintf(f, "'\n");
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

static int put_run_file(const char *name, const char *text, bool *ret_changed) {
        _cleanup_free_ char *path = fb_path(name), *old = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        if (read_file(path, 65536, &old, NULL) >= 0 && streq(old, text))
                return 0;
        r = mkdir_parents(path, 0755);
        if (r >= 0)
                r = write_file_atomic(path, text, strlen(text), 0644);
        if (r >= 0 && ret_changed)
                *ret_changed = true;
        return r;
}

/* 0 with the node's state, -ENOENT where the controller does not know the node, -EIO otherwise. */
static int show_node(const Slurm *s, NodeInfo *ret) {
        char *args[] = { (char *) "--oneliner", (char *) "show", (char *) "node", s->node, NULL };
        _cleanup_free_ char *output = NULL;
        int r = scontrol(args, &output);

        if (r < 0)
                return r;
        /* The node first: its reason may well say that something is "not found". */
        if (r == 0 && node_parse(output, ret) >= 0)
                return 0;
        return strstr(output, "not found") ? -ENOENT : -EIO;
}

static int update_node(const Slurm *s, const char *state, const char *reason, char **ret_words) {
        _cleanup_free_ char *node = strf("NodeName=%s", s->node), *to = strf("State=%s", state),
                            *why = reason ? strf("Reason=%s", reason) : NULL;
        _cleanup_free_ char *output = NULL;
        char *args[] = { (char *) "update", node, to, why, NULL };

        if (!node || !to || (reason && !why))
                return -ENOMEM;
        int r = scontrol(args, &output);
        if (output)
                output[strcspn(output, "\n")] = '\0';
        log_info("scontrol update %s %s %s: %s", node, to, strempty(why),
                        isempty(output) ? "done" : output);
        if (r != 0 && ret_words)
                *ret_words = TAKE_PTR(output);
        return r < 0 ? r : r == 0 ? 0 : -EIO;
}

static int stop_slurmd(sd_bus *bus) {
        _cleanup_free_ char *permit = fb_path(PATH_SLURMD_PERMIT);

        if (permit)
                (void) unlink(permit);
        return unit_job(bus, "StopUnit", "slurmd.service", UNIT_USEC, NULL);
}

/* Drained, as the controller itself shows it; else slurmd does not stay. */
static int ensure_drained(Slurm *s, sd_bus *bus) {
        uint64_t pause = 500 * USEC_PER_MSEC;
        NodeInfo info = {};

        do {
                _cleanup_free_ char *words = NULL;

                if (show_node(s, &info) >= 0 && node_state_has(info.state, "DRAIN"))
                        return 0;
                if (update_node(s, "DRAIN", s->drain, &words) >= 0 && show_node(s, &info) >= 0 &&
                                node_state_has(info.state, "DRAIN"))
                        return 0;
        } while (again(s, &pause));
        (void) stop_slurmd(bus);
        return step_fail_later(s->context, "slurm.drain-failed", "%s %s; slurmd was stopped",
                        s->node, info.state[0] ? info.state : "is not known to the controller");
}

/* A slurmd that went on while the controller was away, or did not understand it, registers when
 * the controller next asks: up to a third of SlurmdTimeout later. A new one registers at once; the
 * jobs' slurmstepds are not touched by that. At most once in a run of the step. */
static void register_anew(Slurm *s, sd_bus *bus, uint64_t since, uint64_t *pause) {
        if (!s->running || now_usec() < since + PING_USEC)
                return;
        s->running = false;
        *pause = 200 * USEC_PER_MSEC;
        log_info("slurmd runs, but the controller does not hear of it: restarting slurmd");
        if (unit_job(bus, "RestartUnit", "slurmd.service", UNIT_USEC, NULL) < 0)
                log_warning("slurmd.service could not be restarted");
}

/* Waits until the node is registered; lifts a drain of ours. */
static int ensure_in_service(Slurm *s, sd_bus *bus) {
        StepContext *c = s->context;
        uint64_t pause = 200 * USEC_PER_MSEC, since = now_usec();
        NodeInfo info = {};
        int r;

        for (;;) {
                r = show_node(s, &info);
                if (r >= 0 && node_state_is_registered(info.state))
                        break;
                register_anew(s, bus, since, &pause);
                if (!again(s, &pause)) {
                        if (r == -ENOENT)
                                return step_fail_later(c, "slurm.not-registered",
                                                "the controller knows no node %s", s->node);
                        return step_fail_later(c, "slurm.not-registered", "node %s is %s%s%s",
                                        s->node, info.state[0] ? info.state : "unknown",
                                        info.reason[0] ? ": " : "", info.reason);
                }
        }
        if (!node_state_has(info.state, "DRAIN"))
                return step_done(c, "node %s is registered and %s", s->node, info.state);
        if (!startswith(info.reason, DRAIN_MARK))
                return step_degrade(c, "slurm.drained",
                                "node %s was drained by someone else (%s) and left so", s->node,
                                info.reason);
        /* Resumed, it is idle but "not responding" until the controller has heard of it again, and
         * gets no job before. */
        for (;;) {
                _cleanup_free_ char *words = NULL;

                if (node_state_has(info.state, "DRAIN"))
                        (void) update_node(s, "RESUME", NULL, &words);
                if (show_node(s, &info) >= 0 && !node_state_has(info.state, "DRAIN") &&
                                node_state_is_registered(info.state))
                        return step_done(c, "node %s is back in service", s->node);
                register_anew(s, bus, since, &pause);
                if (again(s, &pause))
                        continue;
                if (node_state_has(info.state, "DRAIN"))
                        return step_fail_later(c, "slurm.not-registered",
                                        "the drain of %s could not be lifted: %s", s->node,
                                        strempty(words));
                return step_fail_later(c, "slurm.not-registered",
                                "node %s was resumed, but is %s: the controller does not hear of it",
                                s->node, info.state);
        }
}

int slurm_run(StepContext *c) {
        _cleanup_(slurm_done) Slurm s = { .context = c,
                .deadline = now_usec() +
                            config_duration(c->section, "give_up", 300 * USEC_PER_SEC) };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *conf = NULL, *environment = NULL, *result = NULL,
                            *slurmd = fb_path("/usr/sbin/slurmd");
        bool changed = false;
        int r;

        if (!c->section)
                return step_skip(c, "no slurm section in the configuration");
        if (!slurmd)
                return -ENOMEM;
        if (access(slurmd, X_OK) < 0)
                return step_fail(c, "slurm.not-installed", "/usr/sbin/slurmd: %s", strerror(errno));
        r = find_failure(&s);
        if (r >= 0)
                r = node_name(&s);
        if (r >= 0)
                r = munge_prepare(c);
        if (r < 0)
                return r;
        conf = client_conf(c->section);
        environment = slurmd_environment(&s);
        if (!conf || !environment)
                return -ENOMEM;
        r = put_run_file(PATH_SLURM_CLIENT_CONF, conf, NULL);
        if (r >= 0)
                r = put_run_file(PATH_SLURMD_ENV, environment, &changed);
        if (r < 0)
                return step_fail_later(
                                c, "slurm.slurmd", "%s not written: %s", PATH_RUN, strerror(-r));
        r = check_controller(&s);
        if (r < 0)
                return r;

        r = unit_bus(&bus);
        if (r < 0)
                return step_fail_later(c, "slurm.slurmd", "the system bus does not answer: %s",
                                strerror(-r));
        /* A node that the controller knows is drained before slurmd registers: no job gets in
         * between. */
        if (s.drain)
                (void) update_node(&s, "DRAIN", s.drain, NULL);
        s.running = !changed && unit_is_active(bus, "slurmd.service");
        r = put_run_file(PATH_SLURMD_PERMIT, s.drain ? "drain\n" : "ready\n", NULL);
        if (r >= 0)
                r = unit_job(bus, changed ? "RestartUnit" : "StartUnit", "slurmd.service",
                                UNIT_USEC, &result);
        if (r < 0) {
                (void) stop_slurmd(bus);
                return step_fail_later(c, "slurm.slurmd", "slurmd.service: %s",
                                isempty(result) ? strerror(-r) : result);
        }
        if (!s.drain)
                return ensure_in_service(&s, bus);
        r = ensure_drained(&s, bus);
        return r < 0 ? r
                     : step_degrade(c, "slurm.drained-by-firstboot",
                                       "node %s is registered as DRAIN: %s", s.node, s.drain);
}
