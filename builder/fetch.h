/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Downloads into the store's blobs, several at once, through libcurl: resumed, retried with backoff, verified. */

#include "context.h"
#include "lock.h"

typedef struct FetchItem {
        const char *url;
        const char *sha256; /* expected; NULL: whatever comes is stored under its own digest */
        uint64_t size;      /* expected bytes, 0: unknown */
        const char *what;   /* for messages: "libc6 2.41-12" */
        Digest result;      /* filled where sha256 is NULL */
} FetchItem;

/* Brings all items into ctx->store. Blobs that are there already cost nothing. Retries transient failures
 * (5xx, time-outs, short bodies, refused connections) with exponential backoff and jitter, resuming by range
 * where the server allows; 404 and a digest that does not match are final. Every failed item is logged with
 * what to do. `stage` names the progress line to feed (may be NULL). Returns 0, -ENOENT (404), -EBADMSG
 * (digest), -ENETUNREACH (offline or no connection), -ECANCELED, -ENOSPC, other -errno. */
int fetch_all(Context *ctx, const char *stage, FetchItem *items, size_t n_items);

/* The .debs of locked stages: URLs from the lock's origins and the mirror in force on this host. */
int fetch_packages(Context *ctx, const Recipe *recipe, const Lock *lock, const LockedStage *stage, const char *progress);
