/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Downloads into the store's blobs, several at once, through libcurl: resumed, retried with
 * backoff, verified. */

#include "common/context.h"
#include "store/digest.h"

typedef struct FetchItem {
        const char *url;
        const char *sha256; /* expected; NULL: whatever comes is stored under its own digest */
        uint64_t size;      /* expected bytes, 0: unknown; filled with the file's size */
        uint64_t max;       /* most bytes that are taken, where `size` is not known; 0: all */

        /* For messages. The last three may be NULL: a mirror that keeps old versions, and the
         * command that lets the lock move past this item. */
        const char *what; /* "libc6 2.41-12" */
        const char *archive;
        const char *update;
        const char *file; /* that has the URL, to be corrected there: "overlays/x/overlay.json"; NULL: a mirror's */

        const struct S3Access *s3; /* signs the requests; NULL: none does */

        Digest result; /* filled where sha256 is NULL */

        /* There is another way to it: it is tried once more, not five times, and a failure is not
         * logged; `why` says what it was, for the caller to free. */
        bool optional;
        char *why;
} FetchItem;

/* Brings all items into ctx->store. Blobs that are there already cost nothing. Retries transient
 * failures (5xx, time-outs, short bodies, refused connections) with exponential backoff and jitter,
 * resuming by range where the server allows, also what an earlier run left; 404 and a digest that
 * does not match are final. Every failed item is logged with what to do. `stage` names the progress
 * line to feed (may be NULL).
 *
 * Returns 0, -EREMOTEIO (the server answers, but not with the file: 404, 500), -EBADMSG (digest),
 * -ENETUNREACH (offline, no connection, no answer in time), -ECANCELED, -ENOSPC, other -errno of
 * the store.
 *
 * IMGBUILD_FETCH_BACKOFF_MS (500) is the pause before the second try, which doubles with each;
 * after IMGBUILD_FETCH_STALL_SECONDS (30) with less than 1 KB/s a try counts as failed. */
int fetch_all(Context *ctx, const char *stage, FetchItem *items, size_t n_items);
