/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The state file and what it holds: the runs of steps in memory, to JSON, and back. */

#include "daemon/state.h"
#include "shared/log.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define STATE_MAX (4 * 1024 * 1024)
#define STATE_VERSION 2

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
        identity_done(&s->identity);
        free(s->watch_code);
        free(s->watch_text);
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

int state_set_watch(State *s, const char *code, const char *text) {
        _cleanup_free_ char *c = code ? strdup(code) : NULL, *t = strdup(strempty(text));

        if ((code && !c) || !t)
                return -ENOMEM;
        free(s->watch_code);
        free(s->watch_text);
        s->watch_code = TAKE_PTR(c);
        s->watch_text = TAKE_PTR(t);
        return 0;
}

void step_run_reset(StepRun *run) {
        free(run->attempts);
        json_putp(&run->result);
        *run = (StepRun) { .name = run->name, .completed = run->completed, .seed = run->seed };
}

unsigned step_run_tries(const StepRun *run) {
        return (unsigned) run->n_attempts + (run->slow_tries > 1 ? run->slow_tries - 1 : 0);
}

StepStatus step_run_standing(const StepRun *run) {
        if (!run->slow || step_status_is_final(run->status))
                return run->status;
        return run->slow_defect ? STEP_DEGRADED : STEP_FAILED;
}

Attempt *step_run_add_attempt(StepRun *run, uint64_t started_usec) {
        Attempt *grown;

        if (run->slow && ++run->slow_tries > 1) {
                run->attempts[run->n_attempts - 1] = (Attempt) { .started_usec = started_usec };
                return &run->attempts[run->n_attempts - 1];
        }
        grown = reallocarray(run->attempts, run->n_attempts + 1, sizeof(Attempt));
        if (!grown)
                return NULL;

        run->attempts = grown;
        run->attempts[run->n_attempts] = (Attempt) { .started_usec = started_usec };
        return &run->attempts[run->n_attempts++];
}

Attempt *step_run_last_attempt(const StepRun *run) {
        return run->n_attempts > 0 ? &run->attempts[run->n_attempts - 1] : NULL;
}

void step_run_set_result(StepRun *run, const char *code, char *message) {
        _cleanup_json_ json_object *o = json_object_new_object();
        _cleanup_free_ char *text = message;

        json_putp(&run->result);
        run->result = NULL;
        if (!o || json_set_fields(o, JSON_STRING("code", code), JSON_STRING("message", text)) < 0)
                return;

        run->result = TAKE_PTR(o);
}

const char *step_run_code(const StepRun *run) {
        return json_get_string(run->result, "code");
}

static json_object *attempt_to_json(const Attempt *a) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o || json_set_fields(o, JSON_INT("started_usec", a->started_usec),
                                  JSON_INT("finished_usec", a->finished_usec),
                                  JSON_STRING("code", a->code)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

/* NULL on out of memory, like what it is put together from. */
static json_object *attempts_to_json(const StepRun *run) {
        _cleanup_json_ json_object *list = json_object_new_array();

        for (size_t i = 0; list && i < run->n_attempts; i++)
                if (json_append(list, attempt_to_json(&run->attempts[i])) < 0)
                        return NULL;
        return TAKE_PTR(list);
}

json_object *step_run_to_json(const StepRun *run) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *attempts = attempts_to_json(run);
        int r;

        if (!o || !attempts) {
                json_object_put(attempts);
                return NULL;
        }
        r = json_set_fields(o, JSON_TAKE("attempts", attempts), JSON_STRING("name", run->name),
                        JSON_STRING("status", step_status_to_string(run->status)),
                        JSON_BOOL("completed", run->completed),
                        JSON_INT("free_usec", run->free_usec),
                        JSON_INT("retry_usec", run->retry_usec), JSON_BOOL("slow", run->slow),
                        JSON_BOOL("slow_defect", run->slow_defect),
                        JSON_INT("slow_tries", run->slow_tries), JSON_BOOL("despite", run->despite),
                        JSON_TAKE("result", json_object_get(run->result)));
        return r < 0 ? NULL : TAKE_PTR(o);
}

/* What happened in this very boot; of an earlier one only counts that the step was completed. */
static int attempts_from_json(StepRun *run, json_object *attempts) {
        if (!json_object_is_type(attempts, json_type_array))
                return 0;

        for (size_t i = 0; i < json_object_array_length(attempts); i++) {
                json_object *o = json_object_array_get_idx(attempts, i);
                Attempt *a = step_run_add_attempt(
                                run, (uint64_t) json_get_int(o, "started_usec", 0));

                if (!a)
                        return -ENOMEM;
                a->finished_usec = (uint64_t) json_get_int(o, "finished_usec", 0);
                snprintf(a->code, sizeof(a->code), "%s", strempty(json_get_string(o, "code")));
        }
        return 0;
}

static int run_from_json(State *s, json_object *o, bool same_boot) {
        const char *name = json_get_string(o, "name");
        json_object *result = json_get(o, "result");
        StepRun *run;
        int r;

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
        run->despite = json_get_bool(o, "despite", false);
        if (json_object_is_type(result, json_type_object))
                run->result = json_object_get(result);
        r = attempts_from_json(run, json_get(o, "attempts"));
        if (r < 0)
                return r;

        /* Last, for adding an attempt looks at it. */
        run->slow = run->n_attempts > 0 && json_get_bool(o, "slow", false);
        run->slow_defect = run->slow && json_get_bool(o, "slow_defect", false);
        run->slow_tries = (unsigned) json_get_int(o, "slow_tries", 0);
        return 0;
}

void state_start_over(State *s) {
        for (size_t i = 0; i < s->n_runs; i++)
                step_run_reset(&s->runs[i]);
        s->node = NODE_STARTING;
        s->started_usec = s->settled_usec = 0;
        (void) state_set_watch(s, NULL, NULL);
}

int state_learn(State *s, const Identity *now) {
        const Identity *i = &s->identity;
        const char *name;
        char *copy;
        int r;

        r = identity_learn(&s->identity, now);
        if (r < 0)
                return r;

        /* A name, once given, stays until the cloud gives one. */
        name = i->cloud_id ? i->cloud_id : s->instance_id;
        if (!name)
                name = i->machine_id ? i->machine_id : "unknown"; /* DMI's UUID is root's alone */
        copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        free(s->instance_id);
        s->instance_id = copy;
        return 0;
}

static int state_new(const Identity *now, const char *boot_id, State **ret) {
        _cleanup_state_ State *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->boot_id = strdup(boot_id);
        if (!s->boot_id)
                return -ENOMEM;
        r = state_learn(s, now);
        if (r < 0)
                return r;

        s->boots = 1;
        *ret = TAKE_PTR(s);
        return 0;
}

/* Whom the state is of. Version 1 had a name alone: the cloud's, where it is not the machine's own
 * or one that cloud-init gives where it knows none. */
static int read_identity(json_object *o, Identity *ret) {
        const char *name = json_get_string(o, "instance_id");
        Identity found = {};

        if (json_get_int(o, "version", 0) == STATE_VERSION)
                return identity_from_json(json_get(o, "identity"), ret);
        if (strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32)
                found.machine_id = (char *) name;
        else if (!startswith(name, "iid-") && !streq(name, "nocloud") && !streq(name, "unknown"))
                found.cloud_id = (char *) name;
        return identity_learn(ret, &found);
}

/* What is on record of this instance: what was completed, and of this very boot all. */
static int take_record(State *s, json_object *o, bool same_boot) {
        json_object *steps = json_get(o, "steps");
        int r;

        s->boots = (unsigned) json_get_int(o, "boots", 0) + (same_boot ? 0 : 1);
        if (same_boot) {
                s->node = node_status_from_string(json_get_string(o, "node"));
                s->started_usec = (uint64_t) json_get_int(o, "started_usec", 0);
                s->settled_usec = (uint64_t) json_get_int(o, "settled_usec", 0);
                r = state_set_watch(s, json_get_string(o, "watch_code"),
                                json_get_string(o, "watch_text"));
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                r = run_from_json(s, json_object_array_get_idx(steps, i), same_boot);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int from_json(json_object *o, const Identity *now, const char *boot_id, State **ret,
                StateOrigin *ret_origin, const char **ret_difference) {
        const char *instance = json_get_string(o, "instance_id"),
                   *boot = json_get_string(o, "boot_id");
        int64_t version = json_get_int(o, "version", 0);
        _cleanup_(identity_done) Identity before = {};
        _cleanup_state_ State *s = NULL;
        bool same_boot;
        int r;

        if (version < 1 || version > STATE_VERSION || !instance || !boot ||
                        !json_object_is_type(json_get(o, "steps"), json_type_array))
                return -EBADMSG;
        r = read_identity(o, &before);
        if (r < 0)
                return r;
        *ret_difference = identity_difference(&before, now);
        if (*ret_difference) {
                *ret_origin = STATE_OTHER_INSTANCE;
                return state_new(now, boot_id, ret);
        }

        r = state_new(&before, boot_id, &s);
        if (r < 0)
                return r;
        free(s->instance_id);
        s->instance_id = strdup(instance);
        if (!s->instance_id)
                return -ENOMEM;
        r = state_learn(s, now);
        if (r < 0)
                return r;
        same_boot = streq(boot, boot_id);
        r = take_record(s, o, same_boot);
        if (r < 0)
                return r;

        *ret_origin = same_boot ? STATE_RESUMED : STATE_NEXT_BOOT;
        *ret = TAKE_PTR(s);
        return 0;
}

static int state_read(const char *path, const Identity *now, const char *boot_id, State **ret,
                StateOrigin *ret_origin, const char **ret_difference) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        r = json_load(path, STATE_MAX, &e, &o);
        if (r < 0)
                return r;
        return from_json(o, now, boot_id, ret, ret_origin, ret_difference);
}

int state_load(const char *path, const Identity *now, const char *boot_id, State **ret,
                StateOrigin *ret_origin, const char **ret_difference) {
        int r;

        *ret_difference = NULL;
        r = state_read(path, now, boot_id, ret, ret_origin, ret_difference);
        if (r >= 0 || r == -ENOMEM)
                return r;

        if (r != -ENOENT) {
                _cleanup_free_ char *aside = strf("%s.broken", path);

                if (!aside)
                        return -ENOMEM;
                log_warning("%s was written by a newer firstbootd, or is damaged (%s): it is %s now, and this counts as the node's first boot",
                                path, strerror(-r), aside);
                (void) rename(path, aside);
        }

        r = state_new(now, boot_id, ret);
        if (r < 0)
                return r;
        *ret_origin = STATE_NEW;
        return 0;
}

static json_object *runs_to_json(const State *s) {
        _cleanup_json_ json_object *list = json_object_new_array();

        for (size_t i = 0; list && i < s->n_runs; i++)
                if (json_append(list, step_run_to_json(&s->runs[i])) < 0)
                        return NULL;
        return TAKE_PTR(list);
}

int state_save(const State *s, const char *path) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *steps = runs_to_json(s);
        int r;

        if (!o || !steps) {
                json_object_put(steps);
                return -ENOMEM;
        }
        r = json_set_fields(o, JSON_TAKE("steps", steps), JSON_INT("version", STATE_VERSION),
                        JSON_STRING("instance_id", s->instance_id),
                        JSON_TAKE("identity", identity_to_json(&s->identity)),
                        JSON_STRING("boot_id", s->boot_id), JSON_INT("boots", s->boots),
                        JSON_STRING("node", node_status_to_string(s->node)),
                        JSON_INT("started_usec", s->started_usec),
                        JSON_INT("settled_usec", s->settled_usec),
                        JSON_STRING("watch_code", s->watch_code),
                        JSON_STRING("watch_text", s->watch_code ? s->watch_text : NULL));
        if (r < 0)
                return r;
        return json_save(path, o, 0600);
}
