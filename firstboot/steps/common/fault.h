/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Why the node is to get no work, for the steps that put it into a cluster: a required step that
 * failed, or what the watch has found since, as firstbootd's status has it. */

#include "shared/json-util.h"

typedef struct Fault {
        char *code; /* NULL: the node is well */
        char *text;
        bool watch; /* the watch has found it, and no step */
} Fault;

void fault_done(Fault *f);
#define _cleanup_fault_ _cleanup_(fault_done)

/* own: the step that asks. While it is tried slowly it stands there as failed, and that is no
 * reason to hold the node back. Negative errno where the status does not tell, with *error why: a
 * node of which nothing is known gets no work. */
int fault_find(const char *own, JsonError *error, Fault *ret);
