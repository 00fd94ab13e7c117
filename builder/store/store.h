/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The content-addressed store, /var/cache/imgbuild or --cache:
 *
 *   layers/DIGEST[:32]/tree   a stage's result: one overlayfs layer (whiteouts and opaque folders
 * as overlayfs layers/DIGEST[:32]/meta.json   writes them), and what it is: full digest, stage,
 * parent, bytes, seconds blobs/sha256/ab/ab…       downloads: .debs and artifacts, verified
 *   work/XXXXXX/              scratch of one running program, locked by it; stale ones are swept by
 * the next locks/DIGEST[:32]         flock()ed while a layer is being built, so that two builds
 * share the work log/                      whole output of stages' commands
 *
 * A layer appears by rename() of a finished, synced folder: what is there is whole. */

#include "store/digest.h"
#include "shared/json-util.h"

typedef struct Store Store;

/* Opens, and creates where missing, the store. Root's store uses trusted.overlay.* attributes, a
 * user's user.overlay.*: mixing them is refused with a message. Sweeps stale scratch. Errors are
 * logged. */
int store_open(const char *path, Store **ret);
Store *store_free(Store *s);
DEFINE_CLEANUP(Store *, store_free);
#define _cleanup_store_free_ _cleanup_(store_freep)

const char *store_path(const Store *s);
const char *store_default_path(
                void); /* root: /var/cache/imgbuild; users: $XDG_CACHE_HOME/imgbuild */
bool store_userxattr(const Store *s); /* overlayfs must be mounted with userxattr */

bool store_has_layer(Store *s, const char *digest);
char *store_layer_tree(Store *s, const char *digest); /* path of the tree; NULL on out of memory */
int store_read_layer_meta(Store *s, const char *digest, json_object **ret);
int store_touch_layer(Store *s, const char *digest); /* marks it used, for pruning by age */

typedef struct LayerDraft LayerDraft;

/* Starts a layer. Waits while another build makes the same one (a line says so). Returns 0; 1
 * where the layer is there (now): nothing to do, *ret_draft untouched; -errno. */
int store_begin_layer(Store *s, const char *digest, LayerDraft **ret_draft);
const char *layer_draft_upper(const LayerDraft *d); /* empty folder for the layer's content */
const char *layer_draft_work(
                const LayerDraft *d); /* overlayfs work folder on the same file system */

/* Clamps every time stamp newer than epoch to it, so that layers are the same bytes on every host,
 * writes meta, syncs, and makes the layer appear. The draft stays the caller's to free. */
int store_commit_layer(LayerDraft *d, int64_t epoch, json_object *meta);
LayerDraft *layer_draft_free(LayerDraft *d); /* removes what was not committed */
DEFINE_CLEANUP(LayerDraft *, layer_draft_free);
#define _cleanup_layer_draft_free_ _cleanup_(layer_draft_freep)

char *store_blob_path(
                Store *s, const char *sha256); /* whether it exists or not; NULL on out of memory */
bool store_has_blob(Store *s, const char *sha256);
/* Moves a finished file of the store's file system in as a blob; expected NULL or its digest,
 * -EBADMSG otherwise (the file is removed then). */
int store_add_blob(Store *s, const char *path, const char *expected, Digest ret);

/* A new empty folder that is removed by store_free() or, after a crash, by the next
 * store_open(). */
int store_scratch(Store *s, const char *name, char **ret_path);
int store_log_path(Store *s, const char *stage, char **ret_path); /* "log/DATE-PID-STAGE.log" */

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

/* Removes layers and blobs not used for max_age seconds (UINT64_MAX: none are too old), then
 * oldest first until at most max_bytes remain (UINT64_MAX: no limit). Layers in use by a running
 * build stay, and so do all blobs while another imgbuild has the store open. Logs and lock files
 * go by the same age. dry_run only reports. */
int store_prune(Store *s, uint64_t max_age, uint64_t max_bytes, bool dry_run, uint64_t *ret_freed);
