/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The finished tree must prove itself before any disk is written: driver = kernel = user space, no
 * identity of a single node, no secrets, no leftovers.
 *
 *   r = check_tree(ctx, plan, layers, &findings);
 *   r < 0: it could not be checked, which is a failure too
 *   findings_errors(&findings) > 0: the tree is not fit for a disk
 *
 * A rule is one function (kernel.c, nvidia.c, identity.c …), one line of the table in rules.c and
 * one heading of docs/checks.md. How a rule is written stands in internal.h. */

#include "plan/plan.h"
#include "common/context.h"

typedef struct Finding {
        const char *rule; /* stable: "kernel.present", "identity.machine-id", … */
        char *found;      /* what is wrong, with path and versions */
        char *remedy;     /* what to do */
        bool warning;     /* worth a word, and no reason to make no disk */
} Finding;

typedef struct Findings {
        Finding *findings;
        size_t n;
        json_object *privileged; /* set-uid programs and the like, for the manifest; NULL: none */
        json_object *installed; /* of a tree on a vendor's image all packages: name, version, arch */
        json_object *versions;  /* met on the way, for the manifest: kernel, driver, cuda, nccl … */
} Findings;
void findings_done(Findings *f);

size_t findings_errors(const Findings *f); /* those that are no warnings */

/* {"findings": [{rule, level, found, remedy}], "versions": {…}, "privileged": […],
 * "installed": […]} */
int findings_to_json(const Findings *f, json_object **ret);

/* Runs every rule over the tree of `layers`. Returns 0 with any number of findings (they are not
 * logged), -errno where a rule could not run: never a pass. */
int check_tree(Context *ctx, const Plan *plan, char *const *layers, Findings *ret);

/* The rules' names in the order they run; NULL behind the last. */
const char *check_rule_name(size_t i);
