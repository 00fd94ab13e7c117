/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All that a build will need of the network: what the locks of a recipe and of its tools name. */

#include "common/context.h"
#include "plan/plan.h"

typedef struct FetchedLocks {
        Loaded own, tools;
        Loaded tools_el;      /* of a recipe of family el */
        const char **digests; /* of all downloads, each once, in order; ends with NULL; borrowed */
        uint64_t downloads, bytes;   /* that came */
        uint64_t known, known_bytes; /* that were there already */
} FetchedLocks;

/* Completes the locks where they lack something, and brings what they name into the store. Errors
 * are logged. */
int fetch_locked(Context *ctx, const char *recipe, FetchedLocks *ret);
void fetched_locks_done(FetchedLocks *f);
#define _cleanup_fetched_locks_ _cleanup_(fetched_locks_done)
