/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the store holds, how large it is, and taking the oldest away: imgbuild cache. */

#include "store/store.h"

typedef struct StoreUsage {
        uint64_t layers, layer_bytes, blobs, blob_bytes, scratch_bytes;
} StoreUsage;
int store_usage(Store *s, StoreUsage *ret);

/* What the store holds, least recently used first. */
typedef struct StoreEntry {
        char *digest;
        bool blob;
        char *what;     /* a layer's "RECIPE STAGE", as its meta.json says; "" for a blob */
        uint64_t bytes; /* on disk */
        int64_t used;   /* when last, seconds since 1970 */
} StoreEntry;
int store_list(Store *s, StoreEntry **ret, size_t *ret_n);
void store_entries_free(StoreEntry *entries, size_t n);

/* Removes blobs; digests end with NULL, those that are not there are no error. -EBUSY: nothing, for
 * another imgbuild has the store open and may need them. */
int store_drop_blobs(Store *s, const char *const *digests);

/* Removes layers and blobs not used for max_age seconds (UINT64_MAX: none are too old), then
 * oldest first until at most max_bytes remain (UINT64_MAX: no limit). Layers in use by a running
 * build stay, and so do all blobs while another imgbuild has the store open. Logs and lock files
 * go by the same age. dry_run only reports. */
int store_prune(Store *s, uint64_t max_age, uint64_t max_bytes, bool dry_run, uint64_t *ret_freed);
