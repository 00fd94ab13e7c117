/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A drain carries our mark; one without it is somebody else's, and stays. */

#include "steps/slurm/membership.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/time-util.h"
#include "steps/common/unit.h"
#include "steps/slurm/control.h"

#define UNIT_USEC (120 * USEC_PER_SEC)
#define PING_USEC (5 * USEC_PER_SEC) /* what a controller gets to hear of a slurmd that runs */

/* 0 with the node's state, -ENOENT where the controller does not know the node, -EIO otherwise. */
static int show_node(const Slurm *s, NodeInfo *ret) {
        _cleanup_free_ char *output = NULL;
        int r;

        r = scontrol(ARGV("--oneliner", "show", "node", s->node), &output);
        if (r < 0)
                return r;
        /* The node first: its reason may well say that something is "not found". */
        if (r == 0 && node_parse(output, ret) >= 0)
                return 0;
        return strstr(output, "not found") ? -ENOENT : -EIO;
}

int slurm_update_node(const Slurm *s, const char *state, const char *reason, char **ret_words) {
        _cleanup_free_ char *node = strf("NodeName=%s", s->node), *to = strf("State=%s", state),
                            *why = reason ? strf("Reason=%s", reason) : NULL, *output = NULL;
        int r;

        if (!node || !to || (reason && !why))
                return -ENOMEM;
        r = scontrol(ARGV("update", node, to, why), &output);
        if (output)
                output[strcspn(output, "\n")] = '\0';
        log_info("scontrol update %s %s %s: %s", node, to, strempty(why),
                        isempty(output) ? "done" : output);
        if (r != 0 && ret_words)
                *ret_words = TAKE_PTR(output);
        return r < 0 ? r : r == 0 ? 0 : -EIO;
}

int slurmd_stop(sd_bus *bus) {
        _cleanup_free_ char *permit = fb_path(PATH_SLURMD_PERMIT);

        if (permit)
                (void) unlink(permit);
        return unit_job(bus, "StopUnit", "slurmd.service", UNIT_USEC, NULL);
}

static bool shows_drained(const Slurm *s, NodeInfo *ret) {
        return show_node(s, ret) >= 0 && node_state_has(ret->state, "DRAIN");
}

int slurm_ensure_drained(Slurm *s, sd_bus *bus) {
        uint64_t pause = 500 * USEC_PER_MSEC;
        NodeInfo info = {};

        do {
                if (shows_drained(s, &info))
                        return 0;
                if (slurm_update_node(s, "DRAIN", s->drain, NULL) >= 0 && shows_drained(s, &info))
                        return 0;
        } while (slurm_again(s, &pause));

        (void) slurmd_stop(bus);
        return step_fail_later(s->context, "slurm.drain-failed", "%s %s; slurmd was stopped",
                        s->node, info.state[0] ? info.state : "is not known to the controller");
}

/* A slurmd that went on while the controller was away, or did not understand it, registers when
 * the controller next asks: up to a third of SlurmdTimeout later. A new one registers at once; the
 * jobs' slurmstepds are not touched by that. At most once in a run of the step. */
static void register_anew(Slurm *s, sd_bus *bus, uint64_t since, uint64_t *pause) {
        if (!s->running || now_usec() < since + PING_USEC)
                return;
        s->running = false;
        *pause = 200 * USEC_PER_MSEC;
        log_info("slurmd runs, but the controller does not hear of it: restarting slurmd");
        if (unit_job(bus, "RestartUnit", "slurmd.service", UNIT_USEC, NULL) < 0)
                log_warning("slurmd.service could not be restarted");
}

/* Waits until the node is registered; *ret is then what the controller shows. */
static int wait_registered(Slurm *s, sd_bus *bus, uint64_t since, uint64_t *pause, NodeInfo *ret) {
        StepContext *c = s->context;

        for (;;) {
                int r = show_node(s, ret);

                if (r >= 0 && node_state_is_registered(ret->state))
                        return 0;
                register_anew(s, bus, since, pause);
                if (slurm_again(s, pause))
                        continue;
                if (r == -ENOENT)
                        return step_fail_later(c, "slurm.not-registered",
                                        "the controller knows no node %s", s->node);
                return step_fail_later(c, "slurm.not-registered", "node %s is %s%s%s", s->node,
                                ret->state[0] ? ret->state : "unknown", ret->reason[0] ? ": " : "",
                                ret->reason);
        }
}

/* Lifts a drain of ours. Resumed, the node is idle but "not responding" until the controller has
 * heard of it again, and gets no job before. */
static int resume(Slurm *s, sd_bus *bus, uint64_t since, uint64_t *pause, NodeInfo *info) {
        StepContext *c = s->context;

        for (;;) {
                _cleanup_free_ char *words = NULL;

                if (node_state_has(info->state, "DRAIN"))
                        (void) slurm_update_node(s, "RESUME", NULL, &words);
                if (show_node(s, info) >= 0 && !node_state_has(info->state, "DRAIN") &&
                                node_state_is_registered(info->state))
                        return step_done(c, "node %s is back in service", s->node);
                register_anew(s, bus, since, pause);
                if (slurm_again(s, pause))
                        continue;
                if (node_state_has(info->state, "DRAIN"))
                        return step_fail_later(c, "slurm.not-registered",
                                        "the drain of %s could not be lifted: %s", s->node,
                                        strempty(words));
                return step_fail_later(c, "slurm.not-registered",
                                "node %s was resumed, but is %s: the controller does not hear of it",
                                s->node, info->state);
        }
}

int slurm_ensure_in_service(Slurm *s, sd_bus *bus) {
        StepContext *c = s->context;
        uint64_t pause = 200 * USEC_PER_MSEC, since = now_usec();
        NodeInfo info = {};
        int r;

        r = wait_registered(s, bus, since, &pause, &info);
        if (r < 0)
                return r;
        if (!node_state_has(info.state, "DRAIN"))
                return step_done(c, "node %s is registered and %s", s->node, info.state);
        if (!startswith(info.reason, DRAIN_MARK))
                return step_degrade(c, "slurm.drained",
                                "node %s was drained by someone else (%s) and left so", s->node,
                                info.reason);
        return resume(s, bus, since, &pause, &info);
}
