/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node's steps looked at together: which may start, and what they come to. */

#include "daemon/node.h"
#include "daemon/membership.h"

void node_drop_jobs(Node *n) {
        for (size_t i = 0; i < n->n_jobs; i++)
                job_done(&n->jobs[i]);
        free(TAKE_PTR(n->jobs));
        n->n_jobs = 0;
}

void node_done(Node *n) {
        node_drop_jobs(n);
        json_putp(&n->document);
        json_putp(&n->fingerprint);
        json_putp(&n->before);
        n->graph = graph_free(n->graph);
        n->state = state_free(n->state);
        free(n->problem_text);
}

int node_make_jobs(Node *n, const JobHost *host) {
        int r;

        node_drop_jobs(n);
        n->jobs = calloc(n->graph->n + 1, sizeof(Job));
        if (!n->jobs)
                return -ENOMEM;

        for (size_t i = 0; i < n->graph->n; i++) {
                r = job_init(&n->jobs[n->n_jobs++], host, &n->graph->steps[i], n->state);
                if (r < 0)
                        return r;
        }
        return 0;
}

Job *node_find_job(const Node *n, const char *name) {
        for (size_t i = 0; i < n->n_jobs; i++)
                if (streq(n->jobs[i].step->name, name))
                        return &n->jobs[i];
        return NULL;
}

json_object *node_config(const Node *n) {
        return json_get(n->document, "config");
}

json_object *node_before(const Node *n) {
        return n->state ? NULL : n->before;
}

NodeStatus node_status(const Node *n) {
        const char *before = json_get_string(node_before(n), "node");

        if (before)
                return node_status_from_string(before);
        return n->state ? n->state->node : NODE_STARTING;
}

static const Job *first_with_status(const Node *n, StepStatus status) {
        for (size_t i = 0; i < n->n_jobs; i++)
                if (step_run_standing(job_run(&n->jobs[i])) == status)
                        return &n->jobs[i];
        return NULL;
}

/* The code of the first step that has this status in a document. */
static const char *first_code(json_object *document, const char *status) {
        json_object *steps = json_get(document, "steps");
        size_t n = json_array_length(steps);

        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                if (streq_ptr(json_get_string(step, "status"), status))
                        return json_get_string(json_get(step, "result"), "code");
        }
        return NULL;
}

static const char *code_before(json_object *document) {
        const char *code = json_get_string(document, "code");

        if (!code)
                code = first_code(document, "failed");
        return strempty(code ? code : first_code(document, "degraded"));
}

const char *node_code(const Node *n) {
        const Job *j;

        if (node_before(n))
                return code_before(n->before);
        if (n->problem)
                return n->problem;
        if (n->state && n->state->watch_code)
                return n->state->watch_code;

        j = first_with_status(n, STEP_FAILED);
        if (!j)
                j = first_with_status(n, STEP_DEGRADED);
        return j ? strempty(step_run_code(job_run(j))) : "";
}

NodeStatus node_verdict(const Node *n) {
        NodeStatus node = NODE_READY;

        for (size_t i = 0; i < n->n_jobs; i++) {
                StepStatus s = step_run_standing(job_run(&n->jobs[i]));

                if (!step_status_is_final(s)) {
                        if (node_must_drain(n, &n->jobs[i]))
                                continue;
                        return NODE_STARTING;
                }
                if (!step_status_is_good(s) && n->jobs[i].step->required)
                        node = NODE_FAILED;
                else if (s != STEP_DONE && s != STEP_SKIPPED && node == NODE_READY)
                        node = NODE_DEGRADED;
        }
        return n->problem ? NODE_FAILED : node;
}

const Job *node_failed_requirement(const Node *n, const Job *j) {
        STRV_FOREACH (name, j->step->requires) {
                const Job *other = node_find_job(n, *name), *failed;
                StepStatus s = step_run_standing(job_run(other));

                /* A step with nothing to do stands for what it requires itself. */
                failed = s == STEP_SKIPPED ? node_failed_requirement(n, other) : NULL;
                if (failed)
                        return failed;
                if (step_status_is_final(s) && !step_status_is_good(s) && other->step->required)
                        return other;
        }
        return NULL;
}

Job *node_membership(const Node *n, size_t i) {
        return node_find_job(n, membership_step(i));
}

bool node_must_drain(const Node *n, const Job *j) {
        return node_failed_requirement(n, j) && membership_is_let(j->step->name);
}

bool node_drain_is_due(const Node *n, const Job *j) {
        const StepRun *run = job_run(j);

        return (run->status == STEP_DONE || run->status == STEP_DEGRADED) && !run->despite &&
               node_must_drain(n, j);
}

Hurdle node_hurdle(const Node *n, const Job *j, const Job **ret_failed) {
        Hurdle h = HURDLE_NONE;
        const Job *failed;

        STRV_FOREACH (name, j->step->after)
                if (!step_status_is_final(step_run_standing(job_run(node_find_job(n, *name)))))
                        h = HURDLE_WAIT;
        STRV_FOREACH (name, j->step->requires)
                if (!step_status_is_final(step_run_standing(job_run(node_find_job(n, *name)))))
                        h = HURDLE_WAIT;

        failed = j->step->run_on_failure ? NULL : node_failed_requirement(n, j);
        if (!failed || node_must_drain(n, j))
                return h;
        *ret_failed = failed;
        return HURDLE_FAILED;
}
