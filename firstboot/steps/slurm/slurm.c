/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Membership in a Slurm cluster: munge key, clock, slurmd without a local configuration,
 * registered. It runs last. Where a required step has failed and the configuration wants it seen,
 * the node registers drained, with the reason; once all is well, a drain of ours (and only ours)
 * is lifted. */

#include "contract/drained.h"
#include "contract/paths.h"
#include "shared/time-util.h"
#include "steps/common/attempt.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/slurm/control.h"
#include "steps/slurm/environment.h"
#include "steps/slurm/membership.h"
#include "steps/slurm/munge-probe.h"
#include "steps/slurm/munge.h"
#include "steps/slurm/node-name.h"
#include "steps/slurm/node.h"
#include "steps/slurm/reach.h"
#include "steps/steps.h"

#define UNIT_USEC (120 * USEC_PER_SEC)
#define SLURM_GIVE_UP_USEC (300 * USEC_PER_SEC)

static void slurm_done(Slurm *s) {
        free(s->node);
        free(s->drain);
        fault_done(&s->fault);
}

/* What the watch has found counts whatever slurm.drain_on_failure says, for slurmd runs already:
 * jobs are to be kept away. No status, no joining, and none that goes on. */
static int find_failure(Slurm *s) {
        int r = fault_find_for(s->context, "slurm.slurmd", PATH_SLURMD_PERMIT, &s->fault);

        if (r < 0)
                return r;
        if (s->fault.code && !(s->drain = own_reason(s->fault.code, s->fault.text)))
                return -ENOMEM;
        return 0;
}

/* 1 where the file, in /run, was written; 0 where it held the text. */
static int put_file(StepContext *c, const char *name, const char *text) {
        int r = own_file_put(name, text, 0644, false);

        if (r < 0)
                return step_fail_later(
                                c, "slurm.slurmd", "%s not written: %s", PATH_RUN, strerror(-r));
        return r;
}

static int write_client_conf(Slurm *s) {
        _cleanup_free_ char *conf = client_conf(s->context->section);

        return conf ? put_file(s->context, PATH_SLURM_CLIENT_CONF, conf) : -ENOMEM;
}

/* slurmd's options. *ret_changed: it must be started afresh for them. What a dynamic node says of
 * itself names a drain, for who is new to the controller; one that is known already is drained by
 * scontrol alone. So slurmd is left as it is then, and a full /run keeps no drain from being
 * made. */
static int write_environment(Slurm *s, bool *ret_changed) {
        StepContext *c = s->context;
        const char *fabric = json_get_string(c->instance, "fabric");
        _cleanup_free_ char *text = slurmd_environment(c->section, s->node, fabric, s->drain),
                            *joined = slurmd_environment(c->section, s->node, fabric, false);
        int r;

        if (!text || !joined)
                return -ENOMEM;
        if (s->drain && (s->running || s->fault.watch) && own_file_holds(PATH_SLURMD_ENV, joined))
                return 0;
        r = put_file(c, PATH_SLURMD_ENV, text);
        if (r < 0)
                return r;
        *ret_changed = r > 0;
        return 0;
}

/* With its permit; without one slurmd.service does not start. */
static int permit_and_start(Slurm *s, sd_bus *bus, bool changed, char **ret_result) {
        int r;

        r = own_permit_put(PATH_SLURMD_PERMIT, s->drain ? "drain\n" : "ready\n");
        if (r < 0)
                return r;
        return unit_job(bus, changed ? "RestartUnit" : "StartUnit", "slurmd.service", UNIT_USEC,
                        ret_result);
}

static int start_slurmd(Slurm *s, sd_bus *bus, bool changed) {
        _cleanup_free_ char *result = NULL;
        int r = permit_and_start(s, bus, changed, &result);

        if (r >= 0)
                return 0;
        (void) slurmd_stop(bus);
        return step_fail_later(s->context, "slurm.slurmd", "slurmd.service did not start: %s",
                        unit_job_words(r, result));
}

int slurm_run(StepContext *c) {
        _cleanup_(slurm_done) Slurm s = {
                .context = c,
                .deadline = now_usec() + attempt_give_up(c, c->section, SLURM_GIVE_UP_USEC),
                .dynamic = json_get_bool(c->section, "dynamic", false),
        };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *slurmd = fb_path("/usr/sbin/slurmd");
        bool changed = false;
        int r;

        if (!c->section)
                return step_skip(c, "no slurm section in the configuration");
        if (!slurmd)
                return -ENOMEM;
        if (access(slurmd, X_OK) < 0)
                return step_fail(c, "slurm.not-installed", "/usr/sbin/slurmd: %s", strerror(errno));

        /* A drain that was made before now is this step's to keep or lift, and no finding of a
         * watch that may be turned on days later. */
        drained_forget();
        r = find_failure(&s);
        if (r < 0)
                return r;
        r = slurm_node_name(c->section, &s.node);
        if (r == -EINVAL)
                return step_fail(c, "slurm.node-name", "the host name is no name for a node");
        if (r < 0)
                return r;
        r = munge_prepare(c);
        if (r < 0)
                return r;
        r = write_client_conf(&s);
        if (r < 0)
                return r;
        r = munge_probe(&s);
        if (r < 0)
                return r;
        r = slurm_reach_controller(&s);
        if (r < 0)
                return r;
        if (c->slow) /* it answers: what follows has its time */
                s.deadline = now_usec() +
                             config_duration(c->section, "give_up", SLURM_GIVE_UP_USEC);

        r = unit_bus(&bus);
        if (r < 0)
                return unit_fail_no_bus(c, "slurm.slurmd", r);
        s.running = unit_is_active(bus, "slurmd.service");
        r = write_environment(&s, &changed);
        if (r < 0)
                return r;
        /* One that was stopped since is what the watch has found: whoever did it is left alone. */
        bool left_alone = s.fault.watch && !s.running;
        /* Drained before slurmd registers: no job gets in between. */
        if (s.drain) {
                r = slurm_ensure_drained(&s, bus);
                if (r < 0)
                        return r;
        }
        s.running = s.running && !changed;
        r = left_alone ? 0 : start_slurmd(&s, bus, changed);
        if (r < 0)
                return r;
        s.started = true;
        if (!s.drain)
                return slurm_ensure_in_service(&s, bus);
        r = slurm_ensure_drained(&s, bus);
        return r >= 0 && s.fault.unknown ? fault_unknown(c, &s.fault) : r;
}

int slurm_hold(StepContext *c, const Fault *f) {
        _cleanup_free_ char *node = NULL, *reason = own_reason(f->code, f->text);
        int r = slurm_node_name(c->section, &node);

        if (r == -EINVAL)
                return step_fail(c, "slurm.node-name", "the host name is no name for a node");
        if (r < 0 || !reason)
                return r < 0 ? r : -ENOMEM;
        r = slurm_drain_now(node, reason);
        if (r == -EBUSY) /* DOWN, and not for us */
                return 0;
        return r < 0 ? step_fail_later(c, "slurm.drain-failed", "%s could not be drained", node)
                     : 0;
}
