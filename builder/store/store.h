/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The content-addressed store, /var/cache/imgbuild or --cache:
 *
 *   layers/DIGEST[:32]/tree        a stage's result: one overlayfs layer (whiteouts and opaque
 *                                  folders as overlayfs writes them)
 *   layers/DIGEST[:32]/meta.json   what it is: full digest, stage, parent, bytes, seconds,
 *                                  and the digest of its tree
 *   layers/DIGEST[:32]/verified    the start of the host in which it was last held against that
 *   blobs/sha256/ab/ab…            downloads: .debs and artifacts, verified
 *   damaged/                       what was found damaged (verify.h)
 *   work/XXXXXX/                   scratch of one running program, locked by it; stale ones are
 *                                  swept by the next
 *   locks/DIGEST[:32]              flock()ed while a layer is made: two builds share the work
 *   log/                           whole output of stages' commands
 *   plans/                         what each recipe's stages were last made of (plan/record.c)
 *
 * A layer appears by rename() of a finished, synced folder: what is there is whole. Downloads are
 * store/fetch.h, sizes and removal store/contents.h. Paths that are returned are the caller's to
 * free, and NULL on out of memory. */

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
const char *store_default_path(void); /* for root /var/cache, for users $XDG_CACHE_HOME */
bool store_userxattr(const Store *s); /* overlayfs must be mounted with userxattr */

bool store_has_layer(Store *s, const char *digest);
char *store_layer_tree(Store *s, const char *digest); /* held: no prune takes it from now on */
int store_read_layer_meta(Store *s, const char *digest, json_object **ret);
int store_touch_layer(Store *s, const char *digest); /* marks it used, for pruning by age */

/* Of a layer's tree, the same on every host: without what only one host's overlayfs needs.
 * -ECANCELED after a Ctrl-C. */
int layer_portable_digest(const char *tree, Digest ret);

/* Starts a layer. Waits while another build makes the same one (a line says so). Returns 0; 1
 * where the layer is there (now): nothing to do, *ret_draft untouched; -errno. */
typedef struct LayerDraft LayerDraft;
int store_begin_layer(Store *s, const char *digest, LayerDraft **ret_draft);
const char *layer_draft_upper(const LayerDraft *d); /* empty folder for the layer's content */
const char *layer_draft_work(const LayerDraft *d);  /* overlayfs' own, on the same file system */

/* Clamps every time stamp newer than epoch to it, so that layers are the same bytes on every host,
 * writes meta, syncs, and makes the layer appear. -EFBIG: its files have more than STORE_LAYER_MAX
 * bytes, holes included. The draft stays the caller's to free. */
#define STORE_LAYER_MAX (UINT64_C(1) << 40)
int store_commit_layer(LayerDraft *d, int64_t epoch, json_object *meta);
LayerDraft *layer_draft_free(LayerDraft *d); /* removes what was not committed */
DEFINE_CLEANUP(LayerDraft *, layer_draft_free);
#define _cleanup_layer_draft_free_ _cleanup_(layer_draft_freep)

char *store_blob_path(Store *s, const char *sha256); /* whether it exists or not */
bool store_has_blob(Store *s, const char *sha256);   /* counts as using it */

/* Moves a finished file of the store's file system in as a blob; expected NULL or its digest,
 * -EBADMSG otherwise (the file is removed then). */
int store_add_blob(Store *s, const char *path, const char *expected, Digest ret);

/* A new empty folder, removed by store_free() or, after a crash, by the next store_open(). */
int store_scratch(Store *s, const char *name, char **ret_path);
int store_log_path(Store *s, const char *stage, char **ret_path); /* "log/DATE-PID-STAGE.log" */
