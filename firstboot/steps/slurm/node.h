/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node as the controller shows it, and whose a drain is. The rules are apart from what asks and
 * writes (membership.h), so that they can be tested.
 *
 * A drain is ours if its reason is one that we wrote, to the letter (own-reason.h). Slurm itself
 * adds " : Not responding" and the like, and keeps a reason when the drain is over, so there can be
 * a reason on a node in service. */

#include "steps/common/own-reason.h"

/* A reason longer than this is cut, which makes one of ours somebody else's. */
#define REASON_SIZE 1024

typedef struct NodeInfo {
        char state[256];      /* "IDLE+DRAIN" */
        char next_state[128]; /* what Slurm will make of it after a reboot; else empty */
        char reason[REASON_SIZE];
} NodeInfo;

/* From `scontrol show node`: 0, or -ENOENT where the controller knows no such node. */
int node_parse(const char *output, NodeInfo *ret);

/* Whether the state has the flag, such as "DRAIN", as a word of its own. */
bool node_state_has(const char *state, const char *flag);

/* Whether slurmd of this node has registered and answers. A node that is DOWN can be. */
bool node_state_answers(const char *state);

/* A reason by own_reason() with what somebody else had noted on the node before. Caller frees. */
char *drain_reason_over(const char *reason, const char *before);

/* Whether we wrote the reason, whatever Slurm added since. *ret_before (may be NULL) is what
 * somebody else had noted before, or ""; the caller frees it. */
bool drain_is_ours(const char *reason, char **ret_before);

/* The reason of a node that registers for the first time, and drained (slurmd -Z --conf). Without
 * blanks, for it goes through systemd's words. */
#define DRAIN_JOINING OWN_MARK "_joins_drained"

/* What stays where we lifted a drain: Slurm without accounting keeps a reason for ever, and would
 * show a later drain of its own with ours. */
#define DRAIN_LIFTED "in service again: firstboot lifted its drain"

typedef enum DrainMove {
        DRAIN_HOLDS,         /* the node is drained with just this reason */
        DRAIN_HOLDS_FOREIGN, /* somebody else drained it: nothing is to be written */
        DRAIN_WRITE,         /* State=DRAIN with *ret_reason */
        DRAIN_WRITE_FAIL, /* State=FAIL with *ret_reason, only while slurmd is not up: Slurm lifts
                              * any drain, but no FAIL, as slurmd registers after the reboot that it
                              * ordered. State=RESUME would end that too, and leave the node free */
        DRAIN_HOLDS_FAIL, /* that is done; State=DRAIN once slurmd has registered */
        DRAIN_REFUSED,    /* somebody else set it DOWN with a reason that a drain would replace */
} DrainMove;

/* What is to be done so that a node with a fault gets no job. With DRAIN_WRITE and
 * DRAIN_WRITE_FAIL, *ret_reason is what is to be written, and the caller's to free. Negative
 * errno. */
int drain_choose(const NodeInfo *node, const char *reason, char **ret_reason);

typedef enum LiftMove {
        LIFT_NOTHING, /* in service */
        LIFT_WAIT,    /* not heard of yet, or a reboot is under way */
        LIFT_UNDRAIN, /* State=UNDRAIN */
        LIFT_RESUME,  /* State=RESUME, for it is DOWN as well, or FAIL */
        LIFT_FOREIGN, /* somebody else's drain, or Slurm's */
        LIFT_DOWN,    /* DOWN, but not for a reason of ours */
} LiftMove;

/* What is to be done so that a good node gets jobs. */
LiftMove lift_choose(const NodeInfo *node);
