/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why the node is to get no work, for the steps that put it into a cluster: a required step that
 * failed, what the watch has found since, or the configuration itself, as firstbootd's status has
 * it. */

#include "shared/json-util.h"
#include "steps/common/step.h"

typedef struct Fault {
        char *code; /* NULL: the node is well */
        char *text;
        bool watch;   /* the watch has found it, and no step */
        bool unknown; /* the status does not tell, which is the fault */
} Fault;

void fault_done(Fault *f);
#define _cleanup_fault_ _cleanup_(fault_done)

/* own: the step that asks. While it is tried slowly it stands there as failed, and that is no
 * reason to hold the node back. Negative errno where the status does not tell, with *error why: a
 * node of which nothing is known gets no work. */
int fault_find(const char *own, JsonError *error, Fault *ret);

/* The same for a step that runs. Where the status does not tell, a node that has not been let in
 * in this boot (the permit is not there) stays out: the step fails with code. One that is in is to
 * be held back, with *ret for the reason, and then fault_unknown() is the step's end. */
int fault_find_for(StepContext *c, const char *code, const char *permit, Fault *ret);
int fault_unknown(StepContext *c, const Fault *f);
