/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of the states that steps and nodes have. */

#include "contract/status.h"

static const char *const step_names[_STEP_STATUS_MAX] = {
        [STEP_WAITING] = "waiting",
        [STEP_RUNNING] = "running",
        [STEP_BACKOFF] = "retrying",
        [STEP_DONE] = "done",
        [STEP_DEGRADED] = "degraded",
        [STEP_SKIPPED] = "skipped",
        [STEP_FAILED] = "failed",
        [STEP_BLOCKED] = "blocked",
};

static const char *const node_names[_NODE_STATUS_MAX] = {
        [NODE_STARTING] = "starting",
        [NODE_READY] = "ready",
        [NODE_DEGRADED] = "degraded",
        [NODE_FAILED] = "failed",
};

const char *step_status_to_string(StepStatus s) {
        return step_names[s];
}

StepStatus step_status_from_string(const char *s) {
        for (size_t i = 0; s && i < ELEMENTSOF(step_names); i++)
                if (streq(step_names[i], s))
                        return (StepStatus) i;
        return STEP_WAITING;
}

const char *node_status_to_string(NodeStatus s) {
        return node_names[s];
}

NodeStatus node_status_from_string(const char *s) {
        for (size_t i = 0; s && i < ELEMENTSOF(node_names); i++)
                if (streq(node_names[i], s))
                        return (NodeStatus) i;
        return NODE_STARTING;
}

bool step_status_is_final(StepStatus s) {
        return s != STEP_WAITING && s != STEP_RUNNING && s != STEP_BACKOFF;
}

bool step_status_is_good(StepStatus s) {
        return s == STEP_DONE || s == STEP_DEGRADED || s == STEP_SKIPPED;
}
