/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The whole of a boot. The configuration comes (configure.c), the graph is laid out, each step
 * starts as soon as what it waits for is done (job.c), and the node settles on ready, degraded or
 * failed. Files and bus tell of every change (publish.c, bus-api.c).
 *
 *   configure ── document ──┐           ┌── publish: state, status, metrics, verdict
 *   connection ── ready ────┼─ engine ──┤
 *   job ──────── changed ───┤           └── bus-api: signals
 *   bus-api ──── rerun ─────┤
 *   watch ────── changed ───┘
 *
 * What stands on the left gets callbacks from here and calls nothing of this file. */

#include "daemon/engine-internal.h"
#include "daemon/instance.h"
#include "daemon/journal.h"
#include "daemon/late.h"
#include "daemon/pace.h"
#include "daemon/take-document.h"
#include "contract/affected.h"
#include "contract/condition.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/room.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/time-util.h"

/* --- The steps ------------------------------------------------------------------------------- */

static void block(Job *j, const Job *failed) {
        StepRun *run = job_run(j);
        const char *name = failed->step->name;

        run->status = STEP_BLOCKED;
        run->slow = false;
        run->retry_usec = 0;
        step_run_set_result(run, "step.requirement",
                        strf("step %s, which it requires, is %s", name,
                                        step_status_to_string(job_run(failed)->status)));
        journal_event("step.requirement", j->step->name, 0, 0, "%s is held back: step %s failed.",
                        j->step->name, name);
}

/* Whether there is nothing to do for the step; then it is over. */
static bool skip(Engine *e, Job *j) {
        StepRun *run = job_run(j);
        _cleanup_free_ char *why = NULL;

        if (j->step->first_boot_only && run->completed) {
                run->status = STEP_SKIPPED;
                step_run_set_result(run, NULL, strf("done at this instance's first boot"));
                return true;
        }
        if (condition_holds(j->step, node_config(&e->node), &why) != 0)
                return false;

        run->status = STEP_SKIPPED;
        journal_event("event.step-skipped", j->step->name, 0, 0, "%s", why);
        step_run_set_result(run, NULL, TAKE_PTR(why));
        return true;
}

/* What was held back by a failure, or ran all the same, begins again once the failure is healed. */
static void revive(const Node *n, Job *j) {
        StepRun *run = job_run(j);

        if (run->status != STEP_BLOCKED && !(run->despite && step_status_is_final(run->status)))
                return;
        if (node_failed_requirement(n, j))
                return;
        job_cancel(j);
        step_run_reset(run);
}

static void advance_step(Engine *e, Job *j) {
        StepRun *run = job_run(j);
        const Job *failed = NULL;

        revive(&e->node, j);
        if (run->status != STEP_WAITING)
                return;
        switch (node_hurdle(&e->node, j, &failed)) {
        case HURDLE_WAIT:
                return;
        case HURDLE_FAILED:
                /* What has nothing to do is not held back; whether it still has nothing to do is
                 * looked at once the failure is healed. */
                if (skip(e, j))
                        run->despite = true;
                else
                        block(j, failed);
                return;
        case HURDLE_NONE:
                break;
        }

        if (run->free_usec == 0)
                run->free_usec = now_usec();
        if (skip(e, j) || !connection_is_ready(e->connection) || job_awaits_turn(j))
                return;
        run->despite = node_failed_requirement(&e->node, j) != NULL;
        engine_publish(e); /* a step that runs on failure reads there what failed */
        job_start(j);
}

/* A step that made the node a member of a cluster holds it back there for what the watch has found,
 * or for a step that failed since, and lifts that again: it alone talks to the controller or API
 * server. */
static void renew_membership(Engine *e, size_t i) {
        Job *j = node_membership(&e->node, i);
        bool *due = &e->renewal_due[i];

        *due = *due || (j && node_drain_is_due(&e->node, j));
        if (!*due)
                return;
        if (j && job_run(j)->status == STEP_RUNNING)
                return; /* its end comes back here */
        *due = false;
        if (!j || job_run(j)->status == STEP_SKIPPED)
                return;
        job_cancel(j);
        step_run_reset(job_run(j));
}

static void renewals_are_due(Engine *e) {
        for (size_t i = 0; i < MEMBERSHIPS; i++)
                e->renewal_due[i] = true;
}

/* Starts what may start, blocks what cannot, and settles once every step has come to its end. */
static void advance(Engine *e) {
        if (!e->node.state)
                return;

        for (size_t i = 0; i < MEMBERSHIPS; i++)
                renew_membership(e, i);
        for (size_t i = 0; i < e->node.n_jobs && !e->node.problem; i++)
                advance_step(e, &e->node.jobs[i]);
        engine_settle(e);
        engine_publish(e);
}

static void on_job_changed(void *userdata) {
        advance(userdata);
}

static void on_watch_changed(void *userdata) {
        Engine *e = userdata;
        const char *code = watch_code(e->watch);

        if (state_set_watch(e->node.state, code, watch_text(e->watch)) < 0) {
                log_oom();
                return;
        }
        if (code)
                journal_event(code, NULL, 0, 0, "%s", strempty(watch_text(e->watch)));
        else
                journal_event("event.recovered", NULL, 0, 0, "The node is well again.");
        renewals_are_due(e);
        advance(e);
}

static const WatchOps watch_ops = { .changed = on_watch_changed };

/* The bus is (again) there: finds out what happened to steps that were running. */
static void resync(Engine *e) {
        Node *n = &e->node;

        if (n->n_jobs > 0 && n->state->node == NODE_STARTING && !e->paced && e->host.bus) {
                e->paced = true;
                pace_begin(e->host.bus);
        }

        for (size_t i = 0; i < n->n_jobs; i++) {
                const StepRun *run = job_run(&n->jobs[i]);

                if (run->status == STEP_RUNNING)
                        job_resync(&n->jobs[i]);
                else if (run->retry_usec > 0)
                        job_arm_backoff(&n->jobs[i]);
        }
        late_look(n);
        advance(e);
}

/* The steps that the change concerns begin anew; where it is not known, or not asked for, the
 * others have already. */
static int take_changes(Engine *e) {
        Node *n = &e->node;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (e->changes_only && e->ran_by) {
                r = steps_affected(n->graph, e->ran_by, node_config(n), &names);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (name, names) {
                log_info("The configuration changed for step %s: it runs again", *name);
                step_run_reset(job_run(node_find_job(n, *name)));
        }
        e->changes_only = false;
        json_putp(&e->ran_by);
        e->ran_by = json_object_get(node_config(n));
        return 0;
}

/* A new document has come: goes by it. */
static int on_document(json_object *document, void *userdata) {
        Engine *e = userdata;
        Node *n = &e->node;
        int r;

        n->retry_usec = configure_retry_usec(e->configure);
        /* What was told of it is not told again every few seconds. */
        if (!n->graph && streq_ptr(n->problem, ROOM_CODE) && (r = room_prove()) < 0) {
                json_object_put(document);
                return r;
        }
        r = node_take_document(n, &e->host, document, &e->told);
        if (r < 0) {
                if (n->problem)
                        advance(e);
                return r;
        }
        if (r > 0) {
                advance(e);
                return 0;
        }
        r = take_changes(e);
        if (r < 0)
                return r;

        if (n->state->watch_code)
                renewals_are_due(e); /* it may not have come about before we were restarted */
        /* What was held back before we were restarted. */
        if (n->state->node == NODE_FAILED && node_verdict(n) != NODE_FAILED)
                e->held = true;
        engine_release(e);
        journal_event("event.started", NULL, 0, 0, "Bringing the node up with %zu steps.",
                        n->n_jobs);
        if (connection_is_ready(e->connection))
                resync(e);
        else
                advance(e);
        return 0;
}

/* --- The bus --------------------------------------------------------------------------------- */

static int on_bus_opened(sd_bus *bus, void *userdata) {
        Engine *e = userdata;

        e->host.bus = bus;
        return bus_api_install(&e->api, bus);
}

static void on_bus_ready(void *userdata) {
        Engine *e = userdata;

        watch_set_bus(e->watch, e->host.bus);
        resync(e);
        engine_announce_again(e);
}

static void on_job_removed(const char *unit, const char *job, const char *result, void *userdata) {
        Engine *e = userdata;

        watch_job_removed(e->watch, unit);
        for (size_t i = 0; i < e->node.n_jobs; i++)
                if (streq(e->node.jobs[i].unit, unit)) {
                        job_removed(&e->node.jobs[i], job, result);
                        return;
                }
}

static void on_bus_closed(void *userdata) {
        Engine *e = userdata;

        watch_set_bus(e->watch, NULL);
        e->host.bus = NULL;
        for (size_t i = 0; i < e->node.n_jobs; i++)
                job_forget_calls(&e->node.jobs[i]);
}

static const ConnectionOps connection_ops = {
        .opened = on_bus_opened,
        .ready = on_bus_ready,
        .job_removed = on_job_removed,
        .closed = on_bus_closed,
};

/* --- Once more ------------------------------------------------------------------------------- */

static int rerun(const char *name, void *userdata) {
        Engine *e = userdata;
        int r = engine_begin_rerun(e, name);

        if (r > 0)
                advance(e);
        return MIN(r, 0);
}

/* --- Beginning and end ----------------------------------------------------------------------- */

Engine *engine_free(Engine *e) {
        if (!e)
                return NULL;
        sd_event_source_disable_unref(e->late);
        sd_event_source_disable_unref(e->room);
        node_drop_jobs(&e->node);
        connection_free(e->connection);
        watch_free(e->watch);
        configure_free(e->configure);
        json_putp(&e->ran_by);
        node_done(&e->node);
        publisher_done(&e->publisher);
        sd_event_unref(e->host.event);
        strv_free(e->host.secrets);
        free(e);
        return NULL;
}

int engine_new(sd_event *event, Engine **ret) {
        _cleanup_(engine_freep) Engine *e = calloc(1, sizeof(*e));
        int r;

        if (!e)
                return -ENOMEM;
        e->host = (JobHost) {
                .event = sd_event_ref(event),
                .changed = on_job_changed,
                .userdata = e,
                .seed = node_seed(),
        };
        e->api = (BusApi) { .node = &e->node, .rerun = rerun, .userdata = e };

        r = connection_new(event, &connection_ops, e, &e->connection);
        if (r < 0)
                return r;
        r = watch_new(event, &watch_ops, e, &e->watch);
        if (r < 0)
                return r;
        r = configure_new(event, on_document, e, &e->configure);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(e);
        return 0;
}

int engine_start(Engine *e) {
        int r;

        /* Before anybody can ask. */
        e->node.before = instance_recall_status();
        e->node.fingerprint = json_object_get(json_get(e->node.before, "fingerprint"));

        r = late_watch(e->host.event, &e->node, &e->late);
        if (r < 0)
                return r;
        r = connection_open(e->connection);
        if (r < 0)
                return r;
        return configure_start(e->configure);
}
