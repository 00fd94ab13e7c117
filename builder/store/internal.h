/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the store share and nobody else needs. */

#include "store/contents.h"

/* Of a digest's 64 hex digits: overlayfs takes all its layers' names in one page. */
#define LAYER_NAME 32

/* A layer that this process uses: the shared lock on its folder keeps a prune away from it. */
typedef struct Hold {
        char name[LAYER_NAME + 1];
        int fd;
} Hold;

struct Store {
        char *path;    /* absolute, without symbolic links */
        char *scratch; /* work/XXXXXX, locked by us as long as we live */
        int scratch_fd;
        int users_fd; /* locks/users: every open store shares it, so a prune sees if it is alone */
        bool userxattr;
        unsigned n_scratch;
        Hold *holds;
        size_t n_holds;
};

/* Takes a lock on a file or folder, and makes sure that the path still leads to what was locked:
 * others remove such files while they hold the lock. Returns the fd; -EAGAIN where `operation` has
 * LOCK_NB and another holds it; -ENOENT where it is not (any more) there. */
int store_lock(const char *path, int open_flags, int operation);

/* layers/NAME, or below it where `sub` is not NULL; NULL on out of memory. */
char *store_layer_path(Store *s, const char *digest, const char *sub);

/* Keeps the layer from being pruned as long as this store is open: the descriptor of its folder;
 * -ENOENT. layer_release() lets go. */
int layer_hold(Store *s, const char *digest);
void layer_release(Store *s, const char *digest);

/* Of a layer's tree. -ECANCELED after a Ctrl-C. */
int layer_digest(const char *tree, Digest ret);
/* verified.c. The mark of a layer, by its folder: verified in this start of the host. */
int layer_mark_verified(const char *folder);
bool layer_is_verified(const char *folder);

/* Calls fn for every name in a folder but those that start with a dot. A missing folder is an
 * empty one. */
int store_each_name(const char *path,
                int (*fn)(const char *folder, const char *name, void *userdata), void *userdata);

/* Everything the store holds, least recently used first. */
typedef struct EntryList {
        StoreEntry *entries;
        size_t n;
} EntryList;

int entry_list_fill(EntryList *l, Store *s);
void entry_list_done(EntryList *l);
