/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How a step and the node can stand, and the words for it in state file, status document, metrics
 * and on the bus. */

#include "shared/macro.h"

typedef enum StepStatus {
        STEP_WAITING, /* for what it requires */
        STEP_RUNNING, /* its unit is starting; oneshot units stay in that state until done */
        STEP_BACKOFF, /* a transient failure; tried again after a pause */
        STEP_DONE,
        STEP_DEGRADED, /* done, with a defect that the configuration allows */
        STEP_SKIPPED,  /* nothing to do */
        STEP_FAILED,
        STEP_BLOCKED, /* not run, for what it requires failed */
        _STEP_STATUS_MAX,
} StepStatus;

typedef enum NodeStatus {
        NODE_STARTING,
        NODE_READY,
        NODE_DEGRADED, /* ready, with defects */
        NODE_FAILED,
        _NODE_STATUS_MAX,
} NodeStatus;

const char *step_status_to_string(StepStatus s);
StepStatus step_status_from_string(const char *s); /* STEP_WAITING for what is unknown */
const char *node_status_to_string(NodeStatus s);
NodeStatus node_status_from_string(const char *s); /* NODE_STARTING for what is unknown */

/* Whether the step has come to its end in this boot. */
bool step_status_is_final(StepStatus s);

/* Whether what requires it may run. */
bool step_status_is_good(StepStatus s);
