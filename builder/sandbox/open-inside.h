/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one opener of what is inside a tree. A tree is a stranger's: its links are followed as the
 * booted image would follow them, and lead nowhere else. */

#include "shared/macro.h"

/* Opens a path of a tree as if the tree were /: an absolute link or any number of ".." stays
 * inside, and links of /proc that the kernel makes up (magic links) are not followed at all. A
 * leading slash does not matter; "" is the tree itself. For what is there already: O_CREAT is not
 * for here. Returns an fd (close-on-exec) or negative errno. */
int inside_open(int root_fd, const char *path, int flags);

/* Opens a regular file of at most `max` bytes for reading: an fd, -EINVAL for anything else that is
 * there (a FIFO does not block), -EFBIG beyond. */
int inside_open_regular(int root_fd, const char *path, size_t max, size_t *ret_size);

/* Reads such a file. The text is NUL-terminated behind its *ret_size bytes (ret_size may be NULL).
 * The caller frees it. */
int inside_read_file(int root_fd, const char *path, size_t max, char **ret, size_t *ret_size);
