/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/state.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define STATE_MAX (4 * 1024 * 1024)
#define STATE_VERSION 1

static const char *const step_names[_STEP_STATUS_MAX] = {
        [STEP_WAITING] = "waiting",
        [STEP_RUNNING] = "running",
        [STEP_BACKOFF] = "retrying",
        [STEP_DONE] = "done",
        [STEP_DEGRADED] = "degraded",
        [STEP_SKIPPED] = "skipped",
        [STEP_FAILED] = "failed",
        [STEP_BLOCKED] = "blocked",
};

static const char *const node_names[_NODE_STATUS_MAX] = {
        [NODE_STARTING] = "starting",
        [NODE_READY] = "ready",
        [NODE_DEGRADED] = "degraded",
        [NODE_FAILED] = "failed",
};

const char *step_status_to_string(StepStatus s) {
        return step_names[s];
}

StepStatus step_status_from_string(const char *s) {
        for (size_t i = 0; s && i < ELEMENTSOF(step_names); i++)
                if (streq(step_names[i], s))
                        return (StepStatus) i;
        return STEP_WAITING;
}

const char *node_status_to_string(NodeStatus s) {
        return node_names[s];
}

NodeStatus node_status_from_string(const char *s) {
        for (size_t i = 0; s && i < ELEMENTSOF(node_names); i++)
                if (streq(node_names[i], s))
                        return (NodeStatus) i;
        return NODE_STARTING;
}

bool step_status_is_final(StepStatus s) {
        return s != STEP_WAITING && s != STEP_RUNNING && s != STEP_BACKOFF;
}

bool step_status_is_good(StepStatus s) {
        return s == STEP_DONE || s == STEP_DEGRADED || s == STEP_SKIPPED;
}

static void run_done(StepRun *run) {
        free(run->name);
        free(run->attempts);
        json_putp(&run->result);
}

State *state_free(State *s) {
        if (!s)
                return NULL;
        for (size_t i = 0; i < s->n_runs; i++)
                run_done(&s->runs[i]);
        free(s->runs);
        free(s->instance_id);
        free(s->boot_id);
        free(s);
        return NULL;
}

StepRun *state_run(State *s, const char *name) {
        StepRun *grown;

        for (size_t i = 0; i < s->n_runs; i++)
                if (streq(s->runs[i].name, name))
                        return &s->runs[i];
        grown = reallocarray(s->runs, s->n_runs + 1, sizeof(StepRun));
        if (!grown)
                return NULL;
        s->runs = grown;
        s->runs[s->n_runs] = (StepRun) { .name = strdup(name) };
        if (!s->runs[s->n_runs].name)
                return NULL;
        return &s->runs[s->n_runs++];
}

void step_run_reset(StepRun *run) {
        free(run->attempts);
        json_putp(&run->result);
        *run = (StepRun) { .name = run->name, .completed = run->completed };
}

Attempt *step_run_add_attempt(StepRun *run, uint64_t now_usec) {
        Attempt *grown = reallocarray(run->attempts, run->n_attempts + 1, sizeof(Attempt));

        if (!grown)
                return NULL;
        run->attempts = grown;
        run->attempts[run->n_attempts] = (Attempt) { .started_usec = now_usec };
        return &run->attempts[run->n_attempts++];
}

json_object *step_run_to_json(const StepRun *run) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *attempts = json_object_new_array();

        if (!o || json_set(o, "attempts", attempts) < 0 ||
                        json_set_string(o, "name", run->name) < 0 ||
                        json_set_string(o, "status", step_status_to_string(run->status)) < 0 ||
                        json_set(o, "completed", json_object_new_boolean(run->completed)) < 0 ||
                        json_set_int(o, "free_usec", (int64_t) run->free_usec) < 0 ||
                        json_set_int(o, "retry_usec", (int64_t) run->retry_usec) < 0)
                return NULL;
        if (run->result && json_set(o, "result", json_object_get(run->result)) < 0)
                return NULL;
        for (size_t i = 0; i < run->n_attempts; i++) {
                const Attempt *t = &run->attempts[i];
                json_object *a = json_object_new_object();

                if (!a || json_set_int(a, "started_usec", (int64_t) t->started_usec) < 0 ||
                                json_set_int(a, "finished_usec", (int64_t) t->finished_usec) < 0 ||
                                json_set_string(a, "code", t->code) < 0 ||
                                json_object_array_add(attempts, a) < 0) {
                        json_object_put(a);
                        return NULL;
                }
        }
        return TAKE_PTR(o);
}

static int run_from_json(State *s, json_object *o, bool same_boot) {
        const char *name = json_get_string(o, "name");
        json_object *attempts = json_get(o, "attempts"), *result = json_get(o, "result");
        StepRun *run;

        if (!name)
                return -EBADMSG;
        run = state_run(s, name);
        if (!run)
                return -ENOMEM;
        run->completed = json_get_bool(o, "completed", false);
        if (!same_boot)
                return 0;
        run->status = step_status_from_string(json_get_string(o, "status"));
        run->free_usec = (uint64_t) json_get_int(o, "free_usec", 0);
        run->retry_usec = (uint64_t) json_get_int(o, "retry_usec", 0);
        if (json_object_is_type(result, json_type_object))
                run->result = json_object_get(result);
        for (size_t i = 0; json_object_is_type(attempts, json_type_array) &&
                           i < json_object_array_length(attempts);
                        i++) {
                json_object *a = json_object_array_get_idx(attempts, i);
                Attempt *t = step_run_add_attempt(
                                run, (uint64_t) json_get_int(a, "started_usec", 0));

                if (!t)
                        return -ENOMEM;
                t->finished_usec = (uint64_t) json_get_int(a, "finished_usec", 0);
                snprintf(t->code, sizeof(t->code), "%s", strempty(json_get_string(a, "code")));
        }
        return 0;
}

static int state_new(const char *instance_id, const char *boot_id, State **ret) {
        _cleanup_state_ State *s = calloc(1, sizeof(*s));

        if (!s)
                return -ENOMEM;
        s->instance_id = strdup(instance_id);
        s->boot_id = strdup(boot_id);
        if (!s->instance_id || !s->boot_id)
                return -ENOMEM;
        s->boots = 1;
        *ret = TAKE_PTR(s);
        return 0;
}

static int from_json(json_object *o, const char *instance_id, const char *boot_id, State **ret,
                StateOrigin *ret_origin) {
        const char *instance = json_get_string(o, "instance_id"),
                   *boot = json_get_string(o, "boot_id");
        json_object *steps = json_get(o, "steps");
        _cleanup_state_ State *s = NULL;
        bool same_boot;
        int r;

        if (json_get_int(o, "version", 0) != STATE_VERSION || !instance || !boot ||
                        !json_object_is_type(steps, json_type_array))
                return -EBADMSG;
        r = state_new(instance_id, boot_id, &s);
        if (r < 0)
                return r;
        if (!streq(instance, instance_id)) {
                *ret_origin = STATE_OTHER_INSTANCE;
                *ret = TAKE_PTR(s);
                return 0;
        }
        same_boot = streq(boot, boot_id);
        s->boots = (unsigned) json_get_int(o, "boots", 0) + (same_boot ? 0 : 1);
        if (same_boot) {
                s->node = node_status_from_string(json_get_string(o, "node"));
                s->started_usec = (uint64_t) json_get_int(o, "started_usec", 0);
                s->settled_usec = (uint64_t) json_get_int(o, "settled_usec", 0);
        }
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                r = run_from_json(s, json_object_array_get_idx(steps, i), same_boot);
                if (r < 0)
                        return r;
        }
        *ret_origin = same_boot ? STATE_RESUMED : STATE_NEXT_BOOT;
        *ret = TAKE_PTR(s);
        return 0;
}

int state_load(const char *path, const char *instance_id, const char *boot_id, State **ret,
                StateOrigin *ret_origin) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *aside = NULL;
        JsonError e = {};
        int r;

        r = json_load(path, STATE_MAX, &e, &o);
        if (r >= 0)
                r = from_json(o, instance_id, boot_id, ret, ret_origin);
        if (r >= 0 || r == -ENOMEM)
                return r;
        if (r != -ENOENT) {
                aside = strf("%s.broken", path);
                if (!aside)
                        return -ENOMEM;
                (void) rename(path, aside);
        }
        r = state_new(instance_id, boot_id, ret);
        if (r >= 0)
                *ret_origin = STATE_NEW;
        return r;
}

int state_save(const State *s, const char *path) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *steps = json_object_new_array();

        if (!o || json_set(o, "steps", steps) < 0 ||
                        json_set_int(o, "version", STATE_VERSION) < 0 ||
                        json_set_string(o, "instance_id", s->instance_id) < 0 ||
                        json_set_string(o, "boot_id", s->boot_id) < 0 ||
                        json_set_int(o, "boots", s->boots) < 0 ||
                        json_set_string(o, "node", node_status_to_string(s->node)) < 0 ||
                        json_set_int(o, "started_usec", (int64_t) s->started_usec) < 0 ||
                        json_set_int(o, "settled_usec", (int64_t) s->settled_usec) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_runs; i++) {
                json_object *run = step_run_to_json(&s->runs[i]);

                if (!run || json_object_array_add(steps, run) < 0) {
                        json_object_put(run);
                        return -ENOMEM;
                }
        }
        return json_save(path, o, 0600);
}
