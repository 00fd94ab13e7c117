/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files that tell how the node stands, and the units that its verdict starts. */

#include "daemon/publish.h"
#include "daemon/document.h"
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "daemon/membership.h"
#include "daemon/metrics.h"
#include "contract/paths.h"
#include "contract/status-file.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <systemd/sd-daemon.h>

#define CONFIG_MAX (16 * 1024 * 1024)

void publisher_done(Publisher *p) {
        free(p->written);
}

int publish_config(json_object *document) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG), *old = NULL;
        const char *text = json_object_to_json_string_ext(
                        document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
        int r;

        if (!path || !text)
                return log_oom();
        if (read_file(path, CONFIG_MAX, &old, NULL) >= 0 && streq(old, text))
                return 0; /* where /run is full, a restarted firstbootd goes on */
        r = write_file_atomic(path, text, strlen(text), 0600);
        if (r < 0)
                return log_error_errno(r, "Cannot write %s; is /run full?", path);
        return 0;
}

static void write_metrics(const Node *n) {
        const char *folder = json_get_string(json_get(node_config(n), "metrics"), "directory");
        _cleanup_free_ char *path = folder ? fb_path(folder) : NULL,
                            *file = path ? path_join(path, "firstboot.prom") : NULL, *text = NULL;
        int r;

        if (!file || access(path, F_OK) < 0)
                return;

        text = metrics_text(n);
        r = text ? write_file_atomic(file, text, strlen(text), 0644) : -ENOMEM;
        if (r >= 0)
                return;
        log_warning_errno(r, "Cannot write %s", file);
        (void) unlink(file); /* what it says may be over: none is better */
}

/* What the steps are at, for systemctl status. */
static void notify_progress(const Node *n) {
        _cleanup_strv_free_ char **running = NULL;
        _cleanup_free_ char *names = NULL;
        size_t done = 0;

        for (size_t i = 0; i < n->n_jobs; i++) {
                StepStatus s = step_run_standing(job_run(&n->jobs[i]));

                done += step_status_is_final(s);
                if (s != STEP_RUNNING && s != STEP_BACKOFF)
                        continue;
                if (strv_extend(&running, n->jobs[i].step->name) < 0)
                        return;
        }

        names = strv_join(running, ", ");
        if (n->problem)
                (void) sd_notifyf(0, "STATUS=Failed: %s", n->problem);
        else if (n->state->settled_usec > 0)
                (void) sd_notifyf(0, "STATUS=Node is %s", node_status_to_string(n->state->node));
        else if (names)
                (void) sd_notifyf(0, "STATUS=%zu of %zu steps at their end; under way: %s", done,
                                n->n_jobs, names[0] ? names : "none");
}

/* Somebody may have taken the folder away meanwhile. */
static int save_state(const Node *n, const char *path) {
        int r = mkdir_parents(path, 0755);

        return r < 0 ? r : state_save(n->state, path);
}

static void write_state(const Node *n) {
        _cleanup_free_ char *path = fb_path(PATH_STATE), *unsaved = fb_path(PATH_RUN_UNSAVED);
        int r;

        r = path && unsaved ? save_state(n, path) : -ENOMEM;
        if (r >= 0) {
                (void) unlink(unsaved);
                return;
        }
        log_error_errno(r, "Cannot save %s; after a restart, steps will run again", PATH_STATE);
        r = unsaved ? write_file_atomic(unsaved, "", 0, 0644) : -ENOMEM;
        if (r < 0)
                log_error_errno(r, "Cannot write %s", PATH_RUN_UNSAVED);
}

bool publish_is_saved(void) {
        _cleanup_free_ char *unsaved = fb_path(PATH_RUN_UNSAVED);

        return unsaved && access(unsaved, F_OK) < 0;
}

bool publish_status(Publisher *p, const Node *n) {
        _cleanup_json_ json_object *o = status_document(n);
        const char *text = NULL;
        int r;

        if (o)
                text = json_object_to_json_string_ext(
                                o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!text) {
                log_oom();
                return false;
        }
        if (streq_ptr(p->written, text))
                return false;
        free(p->written);
        p->written = strdup(text);

        if (n->state) {
                write_state(n);
                write_metrics(n);
                notify_progress(n);
        }
        r = status_file_save(text);
        if (r == 0)
                return true;
        if (r > 0)
                log_warning("There is no room for " PATH_RUN_STATUS
                            "; the status is at " PATH_SPARE_STATUS " meanwhile");
        else
                log_error_errno(r, "Cannot write " PATH_RUN_STATUS);
        free(TAKE_PTR(p->written)); /* the next look tries again */
        return true;
}

/* When the verdict came about, which no other one has. */
static char *verdict_mark(const State *s) {
        return strf("%s %llu", node_status_to_string(s->node),
                        (unsigned long long) s->settled_usec);
}

/* systemd has answered. Where the mark is missing, a restart of firstbootd announces the verdict
 * again. */
static int on_target_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Node *n = userdata;
        _cleanup_free_ char *path = fb_path(PATH_RUN_ANNOUNCED),
                            *mark = n->state ? verdict_mark(n->state) : NULL,
                            *line = mark ? strf("%s\n", mark) : NULL;
        int r;

        (void) error;
        if (sd_bus_message_is_method_error(m, NULL)) {
                log_error_errno(-sd_bus_message_get_errno(m),
                                "systemd does not start or stop node-ready.target; is it installed?");
                return 0;
        }
        r = path && line ? write_file_atomic(path, line, strlen(line), 0644) : -ENOMEM;
        if (r < 0)
                log_warning_errno(r,
                                "Cannot write %s; a restart of firstbootd will announce the verdict again",
                                PATH_RUN_ANNOUNCED);
        return 0;
}

static void call_target(const Node *n, sd_bus *bus, const char *method) {
        int r = manager_call(bus, NULL, method, "node-ready.target", on_target_answer, (void *) n);

        if (r < 0)
                log_error_errno(r, "Cannot ask systemd for %s of node-ready.target", method);
}

/* One line with each step that failed and why. */
static char *failures(const Node *n) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        if (n->problem && strv_extendf(&l, "%s: %s", n->problem, strempty(n->problem_text)) < 0)
                return NULL;
        if (n->state && n->state->watch_code &&
                        strv_extendf(&l, "%s: %s", n->state->watch_code, n->state->watch_text) < 0)
                return NULL;

        for (size_t i = 0; i < n->n_jobs; i++) {
                const StepRun *run = job_run(&n->jobs[i]);

                StepStatus s = step_run_standing(run);

                if (s != STEP_FAILED && s != STEP_DEGRADED)
                        continue;
                r = strv_extendf(&l, "%s [%s] %s", run->name, strempty(step_run_code(run)),
                                strempty(json_get_string(run->result, "message")));
                if (r < 0)
                        return NULL;
        }
        return strv_join(l, "; ");
}

/* A node that is not ready any more leaves to its admin what he was left before: his kubelet may
 * have to start anew. */
static void leave_memberships(const Node *n, bool good) {
        for (size_t i = 0; i < MEMBERSHIPS; i++) {
                const Job *j = node_membership(n, i);
                bool left = !j || step_run_standing(job_run(j)) == STEP_SKIPPED;

                if (good || !left)
                        membership_leave(i, left);
        }
}

/* The files first: node-ready.target asserts that one is there, and what it starts asks for
 * others. */
static void announce_ready(
                const Node *n, sd_bus *bus, const char *path, uint64_t took, const char *why) {
        const char *status = node_status_to_string(n->state->node);
        _cleanup_free_ char *line = strf("%s\n", status);
        char after[FORMAT_DURATION_MAX];
        int r;

        r = line ? write_file_atomic(path, line, strlen(line), 0644) : -ENOMEM;
        if (r < 0)
                log_error_errno(r, "Cannot write %s; node-ready.target will not be reached", path);

        call_target(n, bus, "StartUnit");
        journal_event(n->state->node == NODE_READY ? "event.ready" : "event.degraded", NULL, 0,
                        took, "Node is %s after %s%s%s", status, format_duration(after, took),
                        isempty(why) ? "" : ": ", why);
}

static void announce_failed(
                const Node *n, sd_bus *bus, const char *path, uint64_t took, const char *why) {
        (void) unlink(path);
        call_target(n, bus, "StopUnit");
        journal_event("event.failed", NULL, 0, took, "Node is not ready: %s", why);
}

bool publish_is_announced(const State *s) {
        _cleanup_free_ char *ready = fb_path(PATH_READY), *path = fb_path(PATH_RUN_ANNOUNCED),
                            *mark = verdict_mark(s), *text = NULL;
        bool good = s->node == NODE_READY || s->node == NODE_DEGRADED;

        if (s->settled_usec == 0 || !ready || !path || !mark)
                return false;
        if ((access(ready, F_OK) >= 0) != good)
                return false;
        return read_line_file(path, &text) >= 0 && streq(text, mark);
}

void publish_verdict(const Node *n, sd_bus *bus) {
        json_object *on = json_get(json_get(node_config(n), "ready"), "on");
        _cleanup_free_ char *path = fb_path(PATH_READY), *why = failures(n);
        const State *s = n->state;
        bool good = s->node == NODE_READY || s->node == NODE_DEGRADED;
        uint64_t took = s->settled_usec - MIN(s->started_usec, s->settled_usec);
        int r;

        if (!path || !why) {
                log_oom();
                return;
        }

        leave_memberships(n, good);
        if (good)
                announce_ready(n, bus, path, took, why);
        else
                announce_failed(n, bus, path, took, why);
        if (!good && !streq_ptr(on ? json_object_get_string(on) : NULL, "always"))
                return;
        r = manager_call(bus, NULL, "StartUnit", "firstboot-notify.service", NULL, NULL);
        if (r < 0)
                log_error_errno(r, "Cannot ask systemd for firstboot-notify.service");
}
