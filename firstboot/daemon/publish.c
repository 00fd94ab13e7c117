/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/publish.h"
#include "daemon/bus-api.h"
#include "shared/file-util.h"
#include "daemon/journal.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <systemd/sd-daemon.h>

static json_object *strings(char *const *l) {
        json_object *o = json_object_new_array();

        STRV_FOREACH (s, l)
                json_object_array_add(o, json_object_new_string(*s));
        return o;
}

static json_object *step_document(const Job *j) {
        _cleanup_json_ json_object *o = step_run_to_json(job_run(j));

        if (!o || json_set_string(o, "description", j->step->description) < 0 ||
                        json_set(o, "required", json_object_new_boolean(j->step->required)) < 0 ||
                        json_set(o, "requires", strings(j->step->requires)) < 0 ||
                        json_set(o, "after", strings(j->step->after)) < 0 ||
                        json_set_int(o, "retries", j->step->retries) < 0 ||
                        json_set_int(o, "timeout_usec", (int64_t) j->step->timeout_usec) < 0)
                return NULL;
        return TAKE_PTR(o);
}

json_object *status_document(const Engine *e) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *steps = json_object_new_array();
        json_object *instance = json_get(e->document, "instance"),
                    *warnings = json_get(e->document, "warnings"),
                    *errors = json_get(e->document, "errors");
        const State *s = e->state;

        if (!o || json_set(o, "steps", steps) < 0 ||
                        json_set_string(o, "node",
                                        node_status_to_string(s ? s->node : NODE_STARTING)) < 0)
                return NULL;
        if (e->problem) {
                if (json_set_string(o, "code", e->problem) < 0 ||
                                json_set_string(o, "message", e->problem_text) < 0)
                        return NULL;
        }
        if (e->problem && e->graph == NULL && errors && json_object_array_length(errors) > 0 &&
                        json_set(o, "errors", json_object_get(errors)) < 0)
                return NULL;
        if (warnings && json_object_array_length(warnings) > 0 &&
                        json_set(o, "warnings", json_object_get(warnings)) < 0)
                return NULL;
        if (instance && json_set(o, "instance", json_object_get(instance)) < 0)
                return NULL;
        if (s && (json_set_string(o, "instance_id", s->instance_id) < 0 ||
                                 json_set_string(o, "boot_id", s->boot_id) < 0 ||
                                 json_set_int(o, "boots", s->boots) < 0 ||
                                 json_set_int(o, "started_usec", (int64_t) s->started_usec) < 0 ||
                                 json_set_int(o, "settled_usec", (int64_t) s->settled_usec) < 0))
                return NULL;
        for (size_t i = 0; i < e->n_jobs; i++) {
                json_object *step = step_document(&e->jobs[i]);

                if (!step || json_object_array_add(steps, step) < 0) {
                        json_object_put(step);
                        return NULL;
                }
        }
        return TAKE_PTR(o);
}

char *metrics_text(const Engine *e) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fprintf(f, "# HELP firstboot_node_state Whether the node is in this state (1) or not (0).\n"
                   "# TYPE firstboot_node_state gauge\n");
        for (NodeStatus n = 0; n < _NODE_STATUS_MAX; n++)
                fprintf(f, "firstboot_node_state{state=\"%s\"} %d\n", node_status_to_string(n),
                                e->state->node == n);
        fprintf(f, "# HELP firstboot_seconds Time from the agent's start to its verdict.\n"
                   "# TYPE firstboot_seconds gauge\n");
        if (e->state->settled_usec > e->state->started_usec)
                fprintf(f, "firstboot_seconds %.3f\n",
                                (double) (e->state->settled_usec - e->state->started_usec) /
                                                USEC_PER_SEC);
        fprintf(f, "# HELP firstboot_step_state Whether the step is in this state (1) or not (0).\n"
                   "# TYPE firstboot_step_state gauge\n");
        for (size_t i = 0; i < e->n_jobs; i++)
                for (StepStatus s = 0; s < _STEP_STATUS_MAX; s++)
                        fprintf(f, "firstboot_step_state{step=\"%s\",state=\"%s\"} %d\n",
                                        e->jobs[i].step->name, step_status_to_string(s),
                                        job_run(&e->jobs[i])->status == s);
        fprintf(f, "# HELP firstboot_step_attempts Attempts made in this boot.\n"
                   "# TYPE firstboot_step_attempts gauge\n");
        for (size_t i = 0; i < e->n_jobs; i++)
                fprintf(f, "firstboot_step_attempts{step=\"%s\"} %zu\n", e->jobs[i].step->name,
                                job_run(&e->jobs[i])->n_attempts);
        fprintf(f, "# HELP firstboot_step_seconds Time of the step's attempts together.\n"
                   "# TYPE firstboot_step_seconds gauge\n");
        for (size_t i = 0; i < e->n_jobs; i++) {
                const StepRun *run = job_run(&e->jobs[i]);
                uint64_t usec = 0;

                for (size_t k = 0; k < run->n_attempts; k++)
                        if (run->attempts[k].finished_usec > run->attempts[k].started_usec)
                                usec += run->attempts[k].finished_usec -
                                        run->attempts[k].started_usec;
                fprintf(f, "firstboot_step_seconds{step=\"%s\"} %.3f\n", run->name,
                                (double) usec / USEC_PER_SEC);
        }
        /* Closed before it is handed out: fclose() may still move the text. */
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

static void write_metrics(const Engine *e) {
        const char *folder = json_get_string(
                        json_get(json_get(e->document, "config"), "metrics"), "directory");
        _cleanup_free_ char *path = folder ? fb_path(folder) : NULL,
                            *file = path ? path_join(path, "firstboot.prom") : NULL, *text = NULL;
        int r;

        if (!file || access(path, F_OK) < 0)
                return;
        text = metrics_text(e);
        r = text ? write_file_atomic(file, text, strlen(text), 0644) : -ENOMEM;
        if (r < 0)
                log_warning_errno(r, "Cannot write %s", file);
}

/* What the steps are at, for systemctl status. */
static void notify_progress(const Engine *e) {
        _cleanup_strv_free_ char **running = NULL;
        _cleanup_free_ char *names = NULL;
        size_t done = 0;

        for (size_t i = 0; i < e->n_jobs; i++) {
                StepStatus s = job_run(&e->jobs[i])->status;

                done += step_status_is_final(s);
                if ((s == STEP_RUNNING || s == STEP_BACKOFF) &&
                                strv_extend(&running, e->jobs[i].step->name) < 0)
                        return;
        }
        names = strv_join(running, ", ");
        if (e->problem)
                (void) sd_notifyf(0, "STATUS=Failed: %s", e->problem);
        else if (e->state->settled_usec > 0)
                (void) sd_notifyf(0, "STATUS=Node is %s", node_status_to_string(e->state->node));
        else if (names)
                (void) sd_notifyf(0, "STATUS=%zu of %zu steps at their end; under way: %s", done,
                                e->n_jobs, names[0] ? names : "none");
}

void publish_status(Engine *e) {
        _cleanup_free_ char *state_path = fb_path(PATH_STATE),
                            *status_path = fb_path(PATH_RUN_STATUS);
        _cleanup_json_ json_object *o = status_document(e);
        const char *text = o ? json_object_to_json_string_ext(
                                               o, JSON_C_TO_STRING_PRETTY |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE)
                             : NULL;
        int r;

        if (!text || !state_path || !status_path) {
                log_oom();
                return;
        }
        if (streq_ptr(e->published, text))
                return;
        free(e->published);
        e->published = strdup(text);
        if (e->state) {
                r = state_save(e->state, state_path);
                if (r < 0)
                        log_error_errno(r, "Cannot save %s; after a restart, steps will run again",
                                        state_path);
                write_metrics(e);
                notify_progress(e);
        }
        r = write_file_atomic(status_path, text, strlen(text), 0644);
        if (r < 0)
                log_error_errno(r, "Cannot write %s", status_path);
        bus_api_changed(e);
}

static void start_unit(const Engine *e, const char *method, const char *unit) {
        int r = sd_bus_call_method_async(e->bus, NULL, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                        method, NULL, NULL, "ss", unit, "replace");

        if (r < 0)
                log_error_errno(r, "Cannot ask systemd for %s of %s", method, unit);
}

/* One line with each step that failed and why. */
static char *failures(const Engine *e) {
        _cleanup_strv_free_ char **l = NULL;

        if (e->problem && strv_extendf(&l, "%s: %s", e->problem, strempty(e->problem_text)) < 0)
                return NULL;
        for (size_t i = 0; i < e->n_jobs; i++) {
                const StepRun *run = job_run(&e->jobs[i]);
                const char *code = json_get_string(run->result, "code");

                if ((run->status == STEP_FAILED || run->status == STEP_DEGRADED) &&
                                strv_extendf(&l, "%s [%s] %s", run->name, strempty(code),
                                                strempty(json_get_string(run->result, "message"))) <
                                                0)
                        return NULL;
        }
        return strv_join(l, "; ");
}

void publish_verdict(Engine *e) {
        json_object *ready = json_get(json_get(json_get(e->document, "config"), "ready"), "on");
        _cleanup_free_ char *path = fb_path(PATH_READY), *line = NULL, *why = failures(e);
        const State *s = e->state;
        bool good = s->node == NODE_READY || s->node == NODE_DEGRADED;
        uint64_t took = s->settled_usec - MIN(s->started_usec, s->settled_usec);
        int r;

        if (!path || !why) {
                log_oom();
                return;
        }
        /* What reads the files must find them in step with the verdict. */
        publish_status(e);
        if (good) {
                line = strf("%s\n", node_status_to_string(s->node));
                r = line ? write_file_atomic(path, line, strlen(line), 0644) : -ENOMEM;
                if (r < 0)
                        log_error_errno(r, "Cannot write %s; node-ready.target will not be reached",
                                        path);
                start_unit(e, "StartUnit", "node-ready.target");
                journal_event(s->node == NODE_READY ? "event.ready" : "event.degraded", NULL, 0,
                                took, "Node is %s after %.1f s%s%s", node_status_to_string(s->node),
                                (double) took / USEC_PER_SEC, isempty(why) ? "" : ": ", why);
        } else {
                (void) unlink(path);
                start_unit(e, "StopUnit", "node-ready.target");
                journal_event("event.failed", NULL, 0, took, "Node is not ready: %s", why);
        }
        if (good || streq_ptr(ready ? json_object_get_string(ready) : NULL, "always"))
                start_unit(e, "StartUnit", "firstboot-notify.service");
}
