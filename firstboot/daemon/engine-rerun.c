/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs steps again on request, with those that depend on them. */

#include "daemon/engine-internal.h"
#include "contract/paths.h"
#include "shared/time-util.h"

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

int engine_begin_rerun(Engine *e, const char *name) {
        Node *n = &e->node;
        bool all = streq(name, RERUN_ALL), changes = streq(name, RERUN_CHANGES);
        int r;

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

        if (!all && !changes)
                return 1;
        /* What the watch has found stays where only changes run; it begins again by the new
         * settings. */
        watch_end(e->watch);
        /* Every step shows anew what it is worth: more than a full check. */
        if (all)
                (void) state_set_watch(n->state, NULL, NULL);
        r = configure_start_over(e->configure);
        return MIN(r, 0);
}
