/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From a recipe to a lock: apt's own solver over the repositories' signed indexes, without any
 * tree. */

#include "common/context.h"
#include "lock/lock.h"
#include "plan/plan.h"

typedef struct ResolveOptions {
        bool update; /* move what is locked already; else only what the lock lacks is resolved */
        char *const *names; /* with update: only these packages or artifacts move; NULL: all */
} ResolveOptions;

/* Completes `old` (may be NULL) for the recipe. Returns 1 when something changed, 0 when *ret
 * equals old. Stages whose request and predecessors are unchanged keep their packages. With
 * ctx->offline, -ENETUNREACH and a message where the lock is not complete. Artifacts are
 * downloaded here, into the store, where they are not locked yet. Errors are logged. */
int resolve(Context *ctx, const Recipe *recipe, const Lock *old, const ResolveOptions *options,
                Lock **ret);

/* Digest of all that decides which packages each request may get: its own packages and
 * repositories, the release, and the requests before it. `ret` has room for n. */
int resolve_request_digests(
                const Recipe *recipe, const PackageRequest *requests, size_t n, Digest *ret);

/* Artifacts, for resolve.c: adds them to `l`, downloading those that are not locked yet. Returns
 * how many these were; l NULL: only counts. Errors are logged. */
int resolve_artifacts(Context *ctx, const Recipe *recipe, const Lock *old,
                const ResolveOptions *options, Lock *l);
