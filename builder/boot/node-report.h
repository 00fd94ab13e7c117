/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the guest's firstbootd says in the journal: its verdict of the node, and for each step that
 * is not well the reason code and message. */

#include "boot/journal.h"
#include "shared/json-util.h"

typedef struct NodeReport {
        char *verdict;      /* "ready", "degraded" or "failed"; NULL: none came */
        char *message;      /* of the verdict: what is wrong, by step */
        json_object *steps; /* {STEP: {"code": …, "message": …}}, what is wrong now; NULL: nothing was */
} NodeReport;

/* Takes one entry of the journal; those that are not firstbootd's do not count. 1: it was a
 * verdict, 0, -ENOMEM. */
int node_report_take(NodeReport *n, const JournalEntry *e);

/* {"verdict": …, "message": …, "steps": {…}}, a new object; NULL without a verdict and steps, or on
 * out of memory. The caller puts it. */
json_object *node_report_to_json(const NodeReport *n);

void node_report_done(NodeReport *n);
