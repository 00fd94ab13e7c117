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

#include "daemon/engine.h"
#include "daemon/bus-api.h"
#include "daemon/configure.h"
#include "daemon/connection.h"
#include "daemon/fingerprint.h"
#include "daemon/instance.h"
#include "daemon/journal.h"
#include "daemon/late.h"
#include "daemon/node.h"
#include "daemon/pace.h"
#include "daemon/past.h"
#include "daemon/publish.h"
#include "daemon/take-document.h"
#include "daemon/watch.h"
#include "contract/affected.h"
#include "contract/condition.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/time-util.h"

struct Engine {
        Node node;
        JobHost host;
        Configure *configure;
        Connection *connection;
        BusApi api;
        Publisher publisher;
        Watch *watch;

        sd_event_source *late; /* the watch of the results' folder */

        bool paced;          /* others have less of the CPU until the verdict */
        bool drain_due;      /* slurm is to run again: what it tells the controller has changed */
        json_object *ran_by; /* the configuration that the steps ran by; NULL: none yet */
        bool changes_only;   /* what comes next runs only the steps that it concerns */
        bool told; /* settling was announced (a restart of firstbootd does not repeat it) */
};

static void advance(Engine *e);

static void publish(Engine *e) {
        if (!publish_status(&e->publisher, &e->node))
                return;
        if (e->host.bus && connection_is_announced(e->connection))
                bus_api_changed(&e->api, e->host.bus);
}

/* --- The verdict ----------------------------------------------------------------------------- */

static NodeStatus judge(const Engine *e) {
        const Node *n = &e->node;

        if (!n->problem && !n->graph)
                return NODE_STARTING;
        /* With metadata out of reach at first, the node is still on its way for some tries. */
        if (streq_ptr(n->problem, "config.metadata") &&
                        configure_tries(e->configure) < RETRY_METADATA_TRIES)
                return NODE_STARTING;
        /* Whatever the steps say, and while slurm drains. */
        if (n->graph && n->state->watch_code)
                return NODE_FAILED;
        return node_verdict(n);
}

/* From a good verdict on; and where the watch itself had taken it away, before firstbootd was
 * restarted. */
static void begin_watch(Engine *e) {
        const Node *n = &e->node;
        const State *s = n->state;
        int r;

        if (!n->graph || (s->node != NODE_READY && s->node != NODE_DEGRADED && !s->watch_code))
                return;
        r = watch_begin(e->watch, node_config(n), s->settled_usec, s->watch_code, s->watch_text);
        if (r < 0)
                log_error_errno(r, "The node is not watched");
}

static void settle(Engine *e) {
        State *s = e->node.state;
        NodeStatus node = judge(e);

        if (node == s->node && e->told) {
                begin_watch(e);
                return;
        }
        if (node == NODE_STARTING) {
                s->node = node;
                s->settled_usec = 0;
                e->told = false;
                watch_end(e->watch);
                return;
        }
        /* Without the bus, node-ready.target cannot be started; the verdict waits for it. */
        if (!connection_is_ready(e->connection))
                return;

        s->node = node;
        s->settled_usec = now_usec();
        e->told = true;
        if (e->paced)
                pace_end(e->host.bus);
        e->paced = false;

        json_putp(&e->node.fingerprint);
        e->node.fingerprint = fingerprint_read(&e->node);
        publish(e); /* what reads the files must find them in step with the verdict */
        publish_verdict(&e->node, e->host.bus);
        past_add_verdict(&e->node);
        begin_watch(e);
}

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
        publish(e); /* a step that runs on failure reads there what failed */
        job_start(j);
}

/* The slurm step drains the node for what the watch has found, or for a step that failed since, and
 * lifts that drain: it alone talks to the controller. */
static void renew_membership(Engine *e) {
        Job *j = node_find_job(&e->node, "slurm");

        e->drain_due = e->drain_due || (j && node_drain_is_due(&e->node, j));
        if (!e->drain_due)
                return;
        if (j && job_run(j)->status == STEP_RUNNING)
                return; /* its end comes back here */
        e->drain_due = false;
        if (!j || job_run(j)->status == STEP_SKIPPED)
                return;
        job_cancel(j);
        step_run_reset(job_run(j));
}

/* Starts what may start, blocks what cannot, and settles once every step has come to its end. */
static void advance(Engine *e) {
        if (!e->node.state)
                return;

        renew_membership(e);
        for (size_t i = 0; i < e->node.n_jobs && !e->node.problem; i++)
                advance_step(e, &e->node.jobs[i]);
        settle(e);
        publish(e);
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
        e->drain_due = true;
        advance(e);
}

static const WatchOps watch_ops = { .changed = on_watch_changed };

/* The bus may have gone before systemd had heard of the verdict. */
static void announce_again(Engine *e) {
        if (!e->told || !e->host.bus || e->node.problem || publish_is_announced(e->node.state))
                return;
        pace_end(e->host.bus);
        publish_verdict(&e->node, e->host.bus);
}

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

/* The steps that the change concerns begin anew; where it is not known, or not asked for, the others have
 * already. */
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
        r = node_take_document(n, &e->host, document, &e->told);
        if (r < 0)
                return r;
        if (r > 0) {
                advance(e);
                return 0;
        }
        r = take_changes(e);
        if (r < 0)
                return r;

        if (n->state->watch_code)
                e->drain_due = true; /* it may not have come about before we were restarted */
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
        announce_again(e);
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

static bool is_part_of_rerun(const Engine *e, const Job *j, const char *name) {
        return streq(name, RERUN_ALL) || streq(j->step->name, name) ||
               graph_waits_for(e->node.graph, j->step, name);
}

static bool is_running(const Engine *e, const char *name) {
        const Node *n = &e->node;

        for (size_t i = 0; i < n->n_jobs; i++)
                if ((streq(name, RERUN_CHANGES) || is_part_of_rerun(e, &n->jobs[i], name)) &&
                                job_run(&n->jobs[i])->status == STEP_RUNNING)
                        return true;
        return false;
}

/* Runs a step and all that waits for it once more; "all" gathers the configuration afresh and runs
 * every step, RERUN_CHANGES those that what has changed concerns. -ENOENT: no such step; -EBUSY: it, or
 * something that waits for it, is running. */
static int rerun(const char *name, void *userdata) {
        Engine *e = userdata;
        Node *n = &e->node;
        bool all = streq(name, RERUN_ALL), changes = streq(name, RERUN_CHANGES);

        if (!n->state || (!n->graph && !all && !changes))
                return n->state && n->problem ? -ENOENT : -EBUSY;
        if (!all && !changes && !node_find_job(n, name))
                return -ENOENT;
        if (configure_is_running(e->configure) || is_running(e, name))
                return -EBUSY;

        for (size_t i = 0; i < n->n_jobs; i++) {
                if (!is_part_of_rerun(e, &n->jobs[i], name))
                        continue;
                job_cancel(&n->jobs[i]);
                step_run_reset(job_run(&n->jobs[i]));
        }
        n->state->node = NODE_STARTING;
        n->state->started_usec = now_usec(); /* times are told of this run, not of the boot */
        n->state->settled_usec = 0;
        e->told = false;
        e->changes_only = changes || (e->changes_only && !all);

        if (changes) {
                watch_end(e->watch); /* what it has found stays; it begins again by the new settings */
                return configure_start_over(e->configure);
        }
        if (all) {
                /* Every step shows anew what it is worth: more than a full check. */
                watch_end(e->watch);
                (void) state_set_watch(n->state, NULL, NULL);
                return configure_start_over(e->configure);
        }
        advance(e);
        return 0;
}

/* --- Beginning and end ----------------------------------------------------------------------- */

Engine *engine_free(Engine *e) {
        if (!e)
                return NULL;
        sd_event_source_disable_unref(e->late);
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
