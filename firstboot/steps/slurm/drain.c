/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose a drain is, and what is to be done about it. What is not ours stays: its text is never
 * replaced while it stands for a drain or a DOWN, and a mere note is carried along. */

#include "shared/strv.h"
#include "steps/common/own-reason.h"
#include "steps/slurm/node.h"

#define BEFORE "; before: "

char *drain_reason_over(const char *reason, const char *before) {
        _cleanup_free_ char *text = strf("%.*s" BEFORE "%s",
                        (int) (strlen(reason) - OWN_SUM_LENGTH), reason, before);

        return text ? own_reason_with_sum(text) : NULL;
}

/* Slurm 24.11 adds " : " and one of these to a reason that is there (set_node_reason() of
 * slurmctld). Where the reason has one at its end: where it begins. Else the end. */
static size_t without_slurms(const char *reason, size_t n) {
        static const char *const words[] = { "Not responding", "reboot issued", "reboot complete",
                "reboot timed out", "reboot requested", "Reboot ASAP", "ResumeTimeout reached",
                "Node unexpectedly rebooted" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                size_t length = strlen(words[i]) + 3;

                if (n >= length && strncmp(reason + n - length, " : ", 3) == 0 &&
                                strncmp(reason + n - length + 3, words[i], length - 3) == 0)
                        return without_slurms(reason, n - length);
        }
        return n;
}

/* Slurm's own words alone, or what we left behind: nobody misses them. */
static bool is_slurms(const char *reason) {
        _cleanup_free_ char *text = strf(" : %s", reason);

        return !*reason || streq(reason, DRAIN_LIFTED) ||
               (text && without_slurms(text, strlen(text)) == 0);
}

bool drain_is_ours(const char *reason, char **ret_before) {
        size_t n = without_slurms(reason, strlen(reason));
        const char *before;

        if (n == strlen(DRAIN_JOINING) && strncmp(reason, DRAIN_JOINING, n) == 0) {
                if (ret_before)
                        *ret_before = strdup("");
                return true;
        }
        if (!own_reason_is_ours(reason, n))
                return false;
        if (!ret_before)
                return true;

        n -= OWN_SUM_LENGTH;
        before = memmem(reason, n, BEFORE, strlen(BEFORE));
        before = before ? before + strlen(BEFORE) : reason + n;
        *ret_before = strndup(before, (size_t) (reason + n - before));
        return true;
}

/* Whether Slurm will take the drain away by itself, as slurmd registers after a reboot. */
static bool ends_with_reboot(const NodeInfo *node) {
        return node_state_has(node->state, "REBOOT_ISSUED") && node->next_state[0];
}

/* Whether somebody holds the node back, who has given a reason. */
static bool held(const NodeInfo *node) {
        return node_state_has(node->state, "DRAIN") || node_state_has(node->state, "FAIL");
}

int drain_choose(const NodeInfo *node, const char *reason, char **ret_reason) {
        _cleanup_free_ char *before = NULL, *text = NULL;
        bool ours = drain_is_ours(node->reason, &before), rebooted = ends_with_reboot(node),
             failing = node_state_has(node->state, "FAIL");
        size_t n = without_slurms(node->reason, strlen(node->reason));

        if (ours && !before)
                return -ENOMEM;
        if (!ours && (rebooted ? failing : held(node)))
                return DRAIN_HOLDS_FOREIGN;
        if (!ours && !rebooted && node_state_has(node->state, "DOWN") && !is_slurms(node->reason))
                return DRAIN_REFUSED;

        if (!ours && !is_slurms(node->reason))
                before = strndup(node->reason, n);
        text = isempty(before) ? strdup(reason) : drain_reason_over(reason, before);
        if (!text)
                return -ENOMEM;
        if (strlen(text) >= REASON_SIZE)
                return DRAIN_REFUSED;
        bool same = startswith(node->reason, text) != NULL;
        if (rebooted && failing && same)
                return DRAIN_HOLDS_FAIL;
        if (!rebooted && node_state_has(node->state, "DRAIN") && same)
                return DRAIN_HOLDS;
        *ret_reason = TAKE_PTR(text);
        return rebooted ? DRAIN_WRITE_FAIL : DRAIN_WRITE;
}

LiftMove lift_choose(const NodeInfo *node) {
        bool ours = drain_is_ours(node->reason, NULL), down = node_state_has(node->state, "DOWN");

        if (!node_state_answers(node->state))
                return LIFT_WAIT;
        if (!held(node) && !down)
                return LIFT_NOTHING;
        if (!ours)
                return held(node) ? LIFT_FOREIGN : LIFT_DOWN;
        /* An admin's reboot is still to come: he has the node. */
        if (node_state_has(node->state, "REBOOT_REQUESTED"))
                return LIFT_FOREIGN;
        return down || node_state_has(node->state, "FAIL") ? LIFT_RESUME : LIFT_UNDRAIN;
}
