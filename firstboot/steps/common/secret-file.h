/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A key or token in a file that may lie on a file server. */

#include "shared/macro.h"

/* Reads at most max bytes of the file (its real path), in a child: where the file server is dead
 * the child hangs, and not we. The text has a NUL behind its *ret_size bytes; the caller frees it,
 * and wipes it before. -ETIMEDOUT; -EIO where it cannot be read, or is longer. */
int secret_file_read(const char *path, size_t max, char **ret, size_t *ret_size);
