/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reading a folder's names:
 *
 *   _cleanup_closedir_ DIR *d = NULL;
 *   r = folder_open(path, &d);
 *   …
 *   FOLDER_FOREACH (name, d)
 *           … dirfd(d), name … */

#include "shared/macro.h"
#include <dirent.h>

static inline void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}
#define _cleanup_closedir_ _cleanup_(closedirp)

static inline int folder_open(const char *path, DIR **ret) {
        DIR *d = opendir(path);

        if (!d)
                return -errno;
        *ret = d;
        return 0;
}

/* Takes the fd, on failure too. */
static inline int folder_from_fd(int fd, DIR **ret) {
        DIR *d = fdopendir(fd);

        if (!d) {
                int r = -errno;

                safe_close(fd);
                return r;
        }
        *ret = d;
        return 0;
}

/* The next entry but "." and ".."; NULL at the end. Good until the next call. */
static inline const struct dirent *folder_next(DIR *d) {
        const struct dirent *e;

        do
                e = readdir(d);
        while (e && (streq(e->d_name, ".") || streq(e->d_name, "..")));
        return e;
}

static inline const char *folder_next_name(DIR *d) {
        const struct dirent *e = folder_next(d);

        return e ? e->d_name : NULL;
}

#define FOLDER_FOREACH(name, d) for (const char *name; (name = folder_next_name(d));)

/* All names but "." and "..", sorted, for what must not depend on the file system's order; NULL
 * where there are none. 0 or negative errno; the caller frees them. */
int folder_names(DIR *d, char ***ret);
int folder_list(const char *path, char ***ret);

/* path is "PREFIX/NAME", or the name alone where the prefix is NULL. */
typedef int (*folder_each_t)(int folder, const char *name, const char *path, void *userdata);

/* Calls fn for each entry but "." and "..", in the names' order; what it returns below 0 ends it.
 * Takes the folder's fd, on failure too. 0 or negative errno. */
int folder_each(int fd, const char *prefix, folder_each_t fn, void *userdata);
