/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the node, decides (node.h), writes, and reads again: at each repetition anew, for somebody
 * else may have drained the node meanwhile. Slurm has no "set if unchanged", so the read is the
 * last thing before each write. */

#include "steps/slurm/membership.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/time-util.h"
#include "steps/common/unit.h"
#include "steps/slurm/control.h"
#include "steps/slurm/node.h"

#define UNIT_USEC (120 * USEC_PER_SEC)
#define PING_USEC (5 * USEC_PER_SEC)    /* what a controller gets to hear of a slurmd that runs */
#define SETTLE_USEC (10 * USEC_PER_SEC) /* what it gets to return a DOWN node to service itself */

/* 0 with the node's state, -ENOENT where the controller does not know the node, -EIO otherwise. */
static int show_node(const char *node, NodeInfo *ret) {
        _cleanup_free_ char *output = NULL;
        int r;

        r = scontrol(ARGV("show", "node", node), &output);
        if (r < 0)
                return r;
        /* The node first: its reason may well say that something is "not found". */
        if (r == 0 && node_parse(output, ret) >= 0)
                return 0;
        return strstr(output, "not found") ? -ENOENT : -EIO;
}

static int update_node(const char *name, const char *state, const char *reason, char **ret_words) {
        _cleanup_free_ char *node = strf("NodeName=%s", name), *to = strf("State=%s", state),
                            *why = reason ? strf("Reason=%s", reason) : NULL, *output = NULL;
        int r;

        if (!node || !to || (reason && !why))
                return -ENOMEM;
        r = scontrol(ARGV("update", node, to, why), &output);
        if (output)
                output[strcspn(output, "\n")] = '\0';
        log_info("scontrol update %s %s %s: %s", node, to, strempty(why),
                        isempty(output) ? "done" : output);
        if (r != 0 && ret_words) {
                free(*ret_words);
                *ret_words = TAKE_PTR(output);
        }
        return r < 0 ? r : r == 0 ? 0 : -EIO;
}

int slurmd_stop(sd_bus *bus) {
        _cleanup_free_ char *permit = fb_path(PATH_SLURMD_PERMIT);

        if (permit)
                (void) unlink(permit);
        return unit_job(bus, "StopUnit", "slurmd.service", UNIT_USEC, NULL);
}

/* One look, and at most one write after it. 1: the node is drained, with somebody else's reason; 0:
 * with ours. -EAGAIN: look again; -EINPROGRESS: it is held back, and drained once slurmd has
 * registered; -EBUSY: it may not be drained; -ENOENT: the controller does not know it. */
static int drain_once(const char *name, const char *drain, bool running, NodeInfo *ret) {
        _cleanup_free_ char *reason = NULL;
        int r;

        r = show_node(name, ret);
        if (r < 0)
                return r;
        r = drain_choose(ret, drain, &reason);
        switch (r) {
        case DRAIN_HOLDS:
                return 0;
        case DRAIN_HOLDS_FOREIGN:
                return 1;
        case DRAIN_REFUSED:
                return -EBUSY;
        case DRAIN_HOLDS_FAIL:
                return -EINPROGRESS;
        case DRAIN_WRITE_FAIL:
                if (running) /* it is going down now, and comes by here again */
                        return 1;
                r = update_node(name, "FAIL", reason, NULL);
                return r < 0 ? r : -EAGAIN;
        case DRAIN_WRITE:
                r = update_node(name, "DRAIN", reason, NULL);
                return r < 0 ? r : -EAGAIN;
        default:
                return r;
        }
}

int slurm_drain_now(const char *node, const char *drain) {
        NodeInfo info;
        int r = -EIO;

        for (unsigned i = 0; i < 4; i++) {
                r = drain_once(node, drain, true, &info);
                if (r >= 0 || r == -EBUSY)
                        return r;
                if (r == -EINPROGRESS)
                        return 0;
        }
        return r;
}

int slurm_ensure_drained(Slurm *s, sd_bus *bus) {
        uint64_t pause = 500 * USEC_PER_MSEC;
        NodeInfo info = {};
        int r;

        for (;;) {
                r = drain_once(s->node, s->drain, s->running, &info);
                if (r >= 0)
                        break;
                if (r == -ENOENT && s->dynamic && !s->started)
                        return 0; /* it registers drained: environment.h */
                if (r == -EINPROGRESS && !s->started)
                        return 0;
                if (r == -EBUSY || !slurm_again(s, &pause)) {
                        (void) slurmd_stop(bus);
                        return step_fail_later(s->context, "slurm.drain-failed",
                                        "%s%s%s%s%s; slurmd was stopped", s->node,
                                        info.state[0] ? " is " : "",
                                        info.state[0] ? info.state
                                                      : " is not known to the controller",
                                        info.reason[0] ? ": " : "", info.reason);
                }
                if (r == -EAGAIN || r == -EINPROGRESS)
                        pause = 200 * USEC_PER_MSEC;
        }

        if (!s->started)
                return 0;
        if (r == 1)
                return step_degrade(s->context, "slurm.drained",
                                "node %s was drained by someone else (%s) and left so; its own fault: %s",
                                s->node, info.reason, s->drain);
        return step_degrade(s->context, "slurm.drained-by-firstboot",
                        "node %s is registered as DRAIN: %s", s->node, s->drain);
}

/* A slurmd that went on while the controller was away, or did not understand it, registers when
 * the controller next asks: up to a third of SlurmdTimeout later. A new one registers at once; the
 * jobs' slurmstepds are not touched by that. At most once in a run of the step. What it takes, 90 s
 * where slurmd does not end by itself, is not the controller's time. */
static void register_anew(Slurm *s, sd_bus *bus, uint64_t since, uint64_t *pause) {
        uint64_t began = now_usec();

        if (!s->running || began < since + PING_USEC)
                return;
        s->running = false;
        *pause = 200 * USEC_PER_MSEC;
        log_info("slurmd runs, but the controller does not hear of it: restarting slurmd");
        if (unit_job(bus, "RestartUnit", "slurmd.service", UNIT_USEC, NULL) < 0)
                log_warning("slurmd.service could not be restarted");
        s->deadline += now_usec() - began;
}

/* The text that stays once our drain is lifted: what was noted before, or one that is not ours. */
static char *reason_after(const char *reason) {
        char *before = NULL;

        if (drain_is_ours(reason, &before) && !isempty(before))
                return before;
        free(before);
        return strdup(DRAIN_LIFTED);
}

/* Lifts a drain of ours. Resumed, the node is idle but "not responding" until the controller has
 * heard of it again, and gets no job before. */
static void lift(Slurm *s, const NodeInfo *info, LiftMove move, char **ret_words) {
        _cleanup_free_ char *after = reason_after(info->reason);

        if (!after)
                return;
        if (update_node(s->node, move == LIFT_RESUME ? "RESUME" : "UNDRAIN", after, ret_words) >= 0)
                s->lifted = true;
}

/* In service: with nothing of ours left in the reason. */
static int in_service(Slurm *s, const NodeInfo *info) {
        if (s->lifted)
                return step_done(s->context, "node %s is back in service", s->node);
        if (drain_is_ours(info->reason, NULL)) {
                _cleanup_free_ char *after = reason_after(info->reason),
                                    *node = strf("NodeName=%s", s->node),
                                    *why = after ? strf("Reason=%s", after) : NULL, *output = NULL;

                if (!node || !why)
                        return -ENOMEM;
                (void) scontrol(ARGV("update", node, why), &output);
        }
        return step_done(s->context, "node %s is registered and %s", s->node, info->state);
}

/* DOWN, and not because of us. */
static int left_down(Slurm *s, const NodeInfo *info) {
        /* Slurm keeps a reason that is there. */
        if (strstr(info->reason, "Node unexpectedly rebooted") || streq(info->reason, DRAIN_LIFTED))
                return step_degrade(s->context, "slurm.rebooted",
                                "node %s is %s: %s; Slurm's ReturnToService leaves it so", s->node,
                                info->state, info->reason);
        return step_degrade(s->context, "slurm.down", "node %s is %s (%s) and left so", s->node,
                        info->state, isempty(info->reason) ? "no reason" : info->reason);
}

static int not_in_service(Slurm *s, int shown, const NodeInfo *info, const char *words) {
        StepContext *c = s->context;

        if (shown == -ENOENT)
                return step_fail_later(c, "slurm.not-registered", "the controller knows no node %s",
                                s->node);
        if (words)
                return step_fail_later(c, "slurm.not-registered",
                                "the drain of %s could not be lifted: %s", s->node, words);
        return step_fail_later(c, "slurm.not-registered", "node %s %s %s%s%s", s->node,
                        s->lifted ? "was resumed, but is" : "is",
                        info->state[0] ? info->state : "unknown", info->reason[0] ? ": " : "",
                        info->reason);
}

int slurm_ensure_in_service(Slurm *s, sd_bus *bus) {
        _cleanup_free_ char *drain = strf("the drain of %s", s->node);
        uint64_t pause = 200 * USEC_PER_MSEC, since = now_usec();
        bool healthy = false;
        int r;

        if (!drain)
                return -ENOMEM;
        for (;;) {
                _cleanup_free_ char *words = NULL;
                NodeInfo info = {};
                LiftMove move = LIFT_WAIT;

                r = show_node(s->node, &info);
                if (r >= 0)
                        move = lift_choose(&info);
                if (move == LIFT_NOTHING)
                        return in_service(s, &info);
                if (move == LIFT_FOREIGN)
                        return step_degrade(s->context, "slurm.drained",
                                        "node %s was drained by someone else (%s) and left so",
                                        s->node, info.reason);
                if (move == LIFT_DOWN && now_usec() >= since + SETTLE_USEC)
                        return left_down(s, &info);
                if ((move == LIFT_UNDRAIN || move == LIFT_RESUME) && !healthy) {
                        /* It takes its time, so the node is read again before anything is
                         * written. */
                        r = health_before_lift(s->context, SLURM_HEALTH, drain);
                        if (r < 0)
                                return r;
                        healthy = true;
                        continue;
                }
                if (move == LIFT_UNDRAIN || move == LIFT_RESUME)
                        lift(s, &info, move, &words);
                if (move == LIFT_WAIT)
                        register_anew(s, bus, since, &pause);
                if (!slurm_again(s, &pause))
                        return move == LIFT_DOWN ? left_down(s, &info)
                                                 : not_in_service(s, r, &info, words);
        }
}
