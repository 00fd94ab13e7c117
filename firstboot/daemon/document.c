/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The status of the node as one JSON document: for the bus, for /run/firstboot/status.json. */

#include "daemon/document.h"
#include "shared/json-strv.h"

static json_object *step_document(const Job *j) {
        const StepRun *run = job_run(j);
        _cleanup_json_ json_object *o = step_run_to_json(run);
        const Step *s = j->step;
        int r;

        r = json_set_fields(o, JSON_STRING("description", s->description),
                        JSON_BOOL("required", s->required),
                        JSON_TAKE("requires", json_from_strv(s->requires)),
                        JSON_TAKE("after", json_from_strv(s->after)),
                        JSON_INT("retries", s->retries), JSON_INT("timeout_usec", s->timeout_usec),
                        JSON_STRING("status", step_status_to_string(step_run_standing(run))),
                        JSON_BOOL("trying", run->slow && run->status == STEP_RUNNING));
        return r < 0 ? NULL : TAKE_PTR(o);
}

static json_object *steps_document(const Node *n) {
        _cleanup_json_ json_object *list = json_object_new_array();

        for (size_t i = 0; list && i < n->n_jobs; i++)
                if (json_append(list, step_document(&n->jobs[i])) < 0)
                        return NULL;
        return TAKE_PTR(list);
}

/* A list of the configuration's document, where it has anything in it. */
static json_object *list_of(const Node *n, const char *key) {
        json_object *list = json_get(n->document, key);

        return list && json_object_array_length(list) > 0 ? json_object_get(list) : NULL;
}

/* What the watch has found, where it has. */
static json_object *watch_document(const State *s) {
        json_object *o;

        if (!s || !s->watch_code)
                return NULL;
        o = json_object_new_object();
        (void) json_set_fields(o, JSON_STRING("code", s->watch_code),
                        JSON_STRING("message", s->watch_text));
        return o;
}

static json_object *status_now(const Node *n) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *steps = steps_document(n);
        const State *s = n->state;
        bool watch = !n->problem && s && s->watch_code;
        int r;

        if (!steps)
                return NULL;
        r = json_set_fields(o, JSON_TAKE("steps", steps),
                        JSON_STRING("node", node_status_to_string(node_status(n))),
                        JSON_STRING("code", watch ? s->watch_code : n->problem),
                        JSON_STRING("message", watch        ? s->watch_text
                                               : n->problem ? n->problem_text
                                                            : NULL),
                        JSON_TAKE("watch", watch_document(s)),
                        JSON_TAKE("fingerprint", json_object_get(n->fingerprint)),
                        JSON_INT("retry_usec", n->problem ? n->retry_usec : 0),
                        JSON_TAKE("errors", n->problem && !n->graph ? list_of(n, "errors") : NULL),
                        JSON_TAKE("warnings", list_of(n, "warnings")),
                        JSON_TAKE("instance", json_object_get(json_get(n->document, "instance"))));
        if (r < 0)
                return NULL;
        if (!s)
                return TAKE_PTR(o);

        r = json_set_fields(o, JSON_STRING("instance_id", s->instance_id),
                        JSON_STRING("boot_id", s->boot_id), JSON_INT("boots", s->boots),
                        JSON_INT("started_usec", s->started_usec),
                        JSON_INT("settled_usec", s->settled_usec));
        return r < 0 ? NULL : TAKE_PTR(o);
}

json_object *status_document(const Node *n) {
        json_object *before = node_before(n);

        return before ? json_object_get(before) : status_now(n);
}
