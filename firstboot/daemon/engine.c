/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/engine.h"
#include "contract/codes.h"
#include "contract/condition.h"
#include "shared/file-util.h"
#include "daemon/journal.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "daemon/publish.h"
#include "contract/result.h"

#include <systemd/sd-id128.h>
#include <time.h>

uint64_t monotonic_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}

static void drop_jobs(Engine *e) {
        for (size_t i = 0; i < e->n_jobs; i++) {
                Job *j = &e->jobs[i];

                job_cancel(j);
                free(j->unit);
                free(j->unit_path);
        }
        free(TAKE_PTR(e->jobs));
        e->n_jobs = 0;
}

Engine *engine_free(Engine *e) {
        if (!e)
                return NULL;
        drop_jobs(e);
        connection_close(e);
        sd_event_source_disable_unref(e->helper_io);
        sd_event_source_disable_unref(e->helper_child);
        sd_event_source_disable_unref(e->helper_timeout);
        sd_event_source_disable_unref(e->configure_again);
        sd_event_source_disable_unref(e->reconnect);
        safe_close(e->helper_fd);
        free(e->helper_output);
        free(e->published);
        free(e->problem_text);
        json_putp(&e->document);
        graph_free(e->graph);
        state_free(e->state);
        sd_event_unref(e->event);
        free(e);
        return NULL;
}

int engine_new(sd_event *event, Engine **ret) {
        Engine *e = calloc(1, sizeof(*e));

        if (!e)
                return -ENOMEM;
        e->event = sd_event_ref(event);
        e->helper_fd = -EBADF;
        *ret = e;
        return 0;
}

Job *engine_find_job(const Engine *e, const char *name) {
        for (size_t i = 0; i < e->n_jobs; i++)
                if (streq(e->jobs[i].step->name, name))
                        return &e->jobs[i];
        return NULL;
}

StepRun *job_run(const Job *j) {
        /* Made for every step when the jobs are: a lookup that cannot fail. */
        return state_run(j->engine->state, j->step->name);
}

static int boot_id(char ret[SD_ID128_STRING_MAX]) {
        const char *given = secure_getenv("FIRSTBOOT_BOOT_ID");
        sd_id128_t id;
        int r;

        r = given ? sd_id128_from_string(given, &id) : sd_id128_get_boot(&id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, ret);
        return 0;
}

static int load_state(Engine *e) {
        const char *instance_id = json_get_string(json_get(e->document, "instance"), "id");
        char boot[SD_ID128_STRING_MAX], machine[SD_ID128_STRING_MAX] = "unknown";
        _cleanup_free_ char *path = fb_path(PATH_STATE);
        _cleanup_state_ State *state = NULL;
        StateOrigin origin = STATE_NEW;
        sd_id128_t id;
        int r;

        if (!path)
                return -ENOMEM;
        if (!instance_id && sd_id128_get_machine(&id) >= 0)
                sd_id128_to_string(id, machine);
        r = boot_id(boot);
        if (r < 0)
                return r;
        r = state_load(path, instance_id ? instance_id : machine, boot, &state, &origin);
        if (r < 0)
                return r;
        if (origin == STATE_OTHER_INSTANCE) {
                _cleanup_free_ char *record = fb_path(PATH_SCRATCH_RECORD);

                if (record)
                        (void) unlink(record);
                journal_event("event.fresh-start", NULL, 0, 0,
                                "This is another instance: starting afresh.");
        }
        e->told = origin == STATE_RESUMED && state->settled_usec > 0;
        if (state->started_usec == 0)
                state->started_usec = monotonic_usec();
        state_free(e->state);
        e->state = TAKE_PTR(state);
        return 0;
}

static int make_jobs(Engine *e) {
        drop_jobs(e);
        e->jobs = calloc(e->graph->n + 1, sizeof(Job));
        if (!e->jobs)
                return -ENOMEM;
        for (size_t i = 0; i < e->graph->n; i++) {
                Job *j = &e->jobs[e->n_jobs++];
                int r;

                j->engine = e;
                j->step = &e->graph->steps[i];
                j->unit = strf("firstboot@%s.service", j->step->name);
                if (!j->unit || !state_run(e->state, j->step->name))
                        return -ENOMEM;
                r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", j->unit, &j->unit_path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Nothing may run: the node has failed for a reason that no step has. */
static void set_problem(Engine *e, const char *code, const char *text) {
        bool news = !streq_ptr(e->problem, code) || !streq_ptr(e->problem_text, text);

        e->problem = code;
        free(e->problem_text);
        e->problem_text = text ? strdup(text) : NULL;
        if (code && news)
                journal_event(code, NULL, 0, 0, "%s", strempty(text));
}

static char *join_errors(json_object *list) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; list && i < json_object_array_length(list); i++)
                if (strv_extend(&l, json_object_get_string(json_object_array_get_idx(list, i))) < 0)
                        return NULL;
        return strv_join(l, "; ");
}

int engine_take_document(Engine *e, json_object *document) {
        json_object *errors = json_get(document, "errors");
        _cleanup_graph_ Graph *graph = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        json_putp(&e->document);
        e->document = document;
        drop_jobs(e);
        e->graph = graph_free(e->graph);
        if (!e->state || e->state->settled_usec > 0) {
                r = load_state(e);
                if (r < 0)
                        return r;
        }
        if (!json_object_is_type(errors, json_type_array) || json_object_array_length(errors) > 0) {
                text = join_errors(errors);
                set_problem(e,
                                json_get(document, "code")                ? "config.helper"
                                : json_get_bool(document, "retry", false) ? "config.metadata"
                                                                          : "config.invalid",
                                text);
                engine_advance(e);
                return 0;
        }
        r = graph_load(json_get(document, "config"), &graph);
        if (r < 0)
                return r;
        if (graph->errors) {
                text = strv_join(graph->errors, "; ");
                set_problem(e, "graph.invalid", text);
                engine_advance(e);
                return 0;
        }
        set_problem(e, NULL, NULL);
        e->graph = TAKE_PTR(graph);
        r = make_jobs(e);
        if (r < 0)
                return r;
        journal_event("event.started", NULL, 0, 0, "Bringing the node up with %zu steps.",
                        e->n_jobs);
        if (e->bus_ready)
                engine_resync(e);
        else
                engine_advance(e);
        return 0;
}

void engine_resync(Engine *e) {
        if (e->n_jobs > 0 && e->state->node == NODE_STARTING)
                pace_begin(e);
        for (size_t i = 0; i < e->n_jobs; i++) {
                StepStatus s = job_run(&e->jobs[i])->status;

                if (s == STEP_RUNNING)
                        job_resync(&e->jobs[i]);
                else if (s == STEP_BACKOFF)
                        job_arm_backoff(&e->jobs[i]);
        }
        engine_advance(e);
}

typedef enum Hurdle {
        HURDLE_NONE,
        HURDLE_WAIT,
        HURDLE_FAILED, /* something required has failed */
} Hurdle;

/* What stands between a waiting step and its start; *ret_failed names the requirement that
 * failed. */
static Hurdle hurdle(const Job *j, const char **ret_failed) {
        Hurdle h = HURDLE_NONE;

        STRV_FOREACH (name, j->step->after)
                if (!step_status_is_final(job_run(engine_find_job(j->engine, *name))->status))
                        h = HURDLE_WAIT;
        STRV_FOREACH (name, j->step->requires) {
                const Job *other = engine_find_job(j->engine, *name);
                StepStatus s = job_run(other)->status;

                if (!step_status_is_final(s))
                        h = HURDLE_WAIT;
                else if (!step_status_is_good(s) && other->step->required &&
                                !j->step->run_on_failure) {
                        *ret_failed = *name;
                        return HURDLE_FAILED;
                }
        }
        return h;
}

static NodeStatus verdict(const Engine *e) {
        NodeStatus node = NODE_READY;

        if (e->problem)
                return NODE_FAILED;
        for (size_t i = 0; i < e->n_jobs; i++) {
                StepStatus s = job_run(&e->jobs[i])->status;

                if (!step_status_is_final(s))
                        return NODE_STARTING;
                if (!step_status_is_good(s) && e->jobs[i].step->required)
                        return NODE_FAILED;
                if (s != STEP_DONE && s != STEP_SKIPPED)
                        node = NODE_DEGRADED;
        }
        return node;
}

/* A verdict of "failed" waits until every other step has come to its end too. */
static bool all_final(const Engine *e) {
        for (size_t i = 0; i < e->n_jobs; i++)
                if (!step_status_is_final(job_run(&e->jobs[i])->status))
                        return false;
        return true;
}

static void settle(Engine *e) {
        NodeStatus node = all_final(e) ? verdict(e) : NODE_STARTING;

        if (!e->problem && !e->graph)
                node = NODE_STARTING;
        /* With metadata out of reach at first, the node is still on its way for some tries. */
        if (streq_ptr(e->problem, "config.metadata") && e->configure_tries < 5)
                node = NODE_STARTING;
        if (node == e->state->node && e->told)
                return;
        if (node == NODE_STARTING) {
                e->state->node = node;
                e->state->settled_usec = 0;
                e->told = false;
                return;
        }
        /* Without the bus, node-ready.target cannot be started; the verdict waits for it. */
        if (!e->bus_ready)
                return;
        e->state->node = node;
        e->state->settled_usec = monotonic_usec();
        e->told = true;
        pace_end(e);
        publish_verdict(e);
}

void engine_advance(Engine *e) {
        if (!e->state)
                return;
        for (size_t i = 0; i < e->n_jobs && !e->problem; i++) {
                Job *j = &e->jobs[i];
                StepRun *run = job_run(j);
                _cleanup_free_ char *why = NULL;
                const char *failed = NULL;

                if (run->status != STEP_WAITING)
                        continue;
                switch (hurdle(j, &failed)) {
                case HURDLE_WAIT:
                        continue;
                case HURDLE_FAILED:
                        run->status = STEP_BLOCKED;
                        result_set(run, "step.requirement",
                                        strf("step %s, which it requires, is %s", failed,
                                                        step_status_to_string(job_run(
                                                                        engine_find_job(e, failed))
                                                                                        ->status)));
                        journal_event("step.requirement", j->step->name, 0, 0,
                                        "%s is held back: step %s failed.", j->step->name, failed);
                        continue;
                case HURDLE_NONE:
                        break;
                }
                if (run->free_usec == 0)
                        run->free_usec = monotonic_usec();
                if (j->step->first_boot_only && run->completed) {
                        run->status = STEP_SKIPPED;
                        result_set(run, NULL, strf("done at this instance's first boot"));
                        continue;
                }
                if (condition_holds(j->step, json_get(e->document, "config"), &why) == 0) {
                        run->status = STEP_SKIPPED;
                        journal_event("event.step-skipped", j->step->name, 0, 0, "%s", why);
                        result_set(run, NULL, TAKE_PTR(why));
                        continue;
                }
                if (e->bus_ready) {
                        publish_status(e); /* a step that runs on failure reads there what failed */
                        job_start(j);
                }
        }
        settle(e);
        publish_status(e);
}

void engine_changed(Engine *e, Job *j) {
        StepRun *run = job_run(j);

        if (run->status == STEP_DONE || run->status == STEP_DEGRADED)
                run->completed = true;
        engine_advance(e);
}

static bool depends_on(const Engine *e, const Step *s, const char *name) {
        for (unsigned i = 0; i < 2; i++)
                STRV_FOREACH (other, i == 0 ? s->requires : s->after)
                        if (streq(*other, name) ||
                                        depends_on(e, graph_find(e->graph, *other), name))
                                return true;
        return false;
}

int engine_rerun(Engine *e, const char *name) {
        bool all = streq(name, "all");

        if (!e->state || (!e->graph && !all))
                return e->state && e->problem ? -ENOENT : -EBUSY;
        if (!all && !engine_find_job(e, name))
                return -ENOENT;
        if (e->helper > 0)
                return -EBUSY;
        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < e->n_jobs; i++) {
                        const Step *s = e->jobs[i].step;
                        StepRun *run = job_run(&e->jobs[i]);

                        if (!all && !streq(s->name, name) && !depends_on(e, s, name))
                                continue;
                        if (pass == 0 && run->status == STEP_RUNNING)
                                return -EBUSY;
                        if (pass == 1) {
                                job_cancel(&e->jobs[i]);
                                step_run_reset(run);
                        }
                }
        e->state->node = NODE_STARTING;
        e->state->started_usec = monotonic_usec(); /* times are told of this run, not of the boot */
        e->state->settled_usec = 0;
        e->told = false;
        if (all) {
                e->configure_tries = 0;
                return engine_configure(e);
        }
        engine_advance(e);
        return 0;
}
