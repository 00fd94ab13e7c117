/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a recipe to a lock: apt's own solver over the repositories' signed indexes, without any tree. */

#include "context.h"
#include "lock.h"

typedef struct ResolveOptions {
        bool update;        /* move what is locked already; else only what the lock lacks is resolved */
        char *const *names; /* with update: only these packages or artifacts move; NULL: all */
} ResolveOptions;

/* Completes `old` (may be NULL) for the recipe. Returns 1 when something changed, 0 when *ret equals old. Stages
 * whose request and predecessors are unchanged keep their packages. With ctx->offline, -ENETUNREACH and a message
 * where the lock is not complete. Artifacts without a pinned sha256 are downloaded here, into the store. */
int resolve(Context *ctx, const Recipe *recipe, const Lock *old, const ResolveOptions *options, Lock **ret);
