/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The finished tree must prove itself before any disk is written. */

#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "common/context.h"

typedef struct Finding {
        const char *rule; /* stable: "kernel.modules", "identity.machine-id", … documented in
                             docs/checks.md */
        char *found;      /* what is wrong, with path and versions */
        char *remedy;     /* what to do */
} Finding;

typedef struct Findings {
        Finding *findings;
        size_t n;
        json_object *versions; /* facts met on the way, for the manifest: kernel, driver, cuda, nccl
                                  … */
} Findings;

/* Runs every rule over the tree of `layers`. Returns 0 with any number of findings (they are not
 * logged), -errno where a rule could not run: that is a failure too, never a pass. */
int check_tree(Context *ctx, const Plan *plan, char *const *layers, Findings *ret);
void findings_done(Findings *f);
