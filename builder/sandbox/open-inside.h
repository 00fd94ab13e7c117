/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one opener of what is inside a tree. A tree is a stranger's: its links are followed as the
 * booted image would follow them, and lead nowhere else. */

#include "shared/macro.h"
#include <dirent.h>
#include <sys/types.h>

/* Opens a path of a tree as if the tree were /: an absolute link or any number of ".." stays
 * inside, and links of /proc that the kernel makes up (magic links) are not followed at all. A
 * leading slash does not matter; "" is the tree itself. For what is there already: O_CREAT is not
 * for here. Returns an fd (close-on-exec) or negative errno. */
int inside_open(int root_fd, const char *path, int flags);

/* A folder, to go through what is in it. */
int inside_open_folder(int root_fd, const char *path, DIR **ret);

/* Opens a regular file of at most `max` bytes for reading: an fd, -EINVAL for anything else that is
 * there (a FIFO does not block), -EFBIG beyond. ret_size may be NULL. */
int inside_open_regular(int root_fd, const char *path, size_t max, size_t *ret_size);

/* Reads such a file. The text is NUL-terminated behind its *ret_size bytes (ret_size may be NULL).
 * The caller frees it. */
int inside_read_file(int root_fd, const char *path, size_t max, char **ret, size_t *ret_size);

/* Whether a path of the tree at the host's path `root` leads to something. */
bool inside_exists(const char *root, const char *path);

/* 0 where no part of the path is a link or leads upwards; it may end early, where nothing is. Else
 * -ELOOP, -EXDEV, -ENOTDIR. */
int inside_has_no_link(int root_fd, const char *path);

/* Opens (O_PATH) the folder `path` of the tree, made with its parents where missing; these have
 * mode 0755. -ENOTDIR where something else is in the way. */
int inside_make_folder(int root_fd, const char *path, mode_t mode);

/* Removes what `path` names, a folder with all that is in it, a link and not what it leads to. What
 * is not there is no error. */
int inside_remove(int root_fd, const char *path);

/* A folder of the host's that is, or was, bound into a sandbox to be written to: what lies in it
 * under a name may be anything. These follow no link.
 *
 * Open, or read, a regular file of at most `max` bytes: -ELOOP for a link, else as above. */
int inside_open_output(const char *folder, const char *name, size_t max);
int inside_read_output(
                const char *folder, const char *name, size_t max, char **ret, size_t *ret_size);

/* A new file in place of whatever was there, for reading and writing: an fd; or a stream, NULL with
 * errno set. */
int inside_create_output(const char *folder, const char *name, mode_t mode);
FILE *inside_print_output(const char *folder, const char *name);
