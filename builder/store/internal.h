/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the store share and nobody else needs. */

#include "store/store.h"

#define LAYER_NAME \
        32 /* of a digest's 64 hex digits: overlayfs takes all its layers' names in one page */

/* A layer that this process uses: the shared lock on its folder keeps a prune away from it. */
typedef struct Hold {
        char name[LAYER_NAME + 1];
        int fd;
} Hold;

struct Store {
        char *path;    /* absolute, without symbolic links */
        char *scratch; /* work/XXXXXX, locked by us as long as we live */
        int scratch_fd;
        int users_fd; /* locks/users: shared by every open store, so that a prune knows whether it
                         is alone */
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
