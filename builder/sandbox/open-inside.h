/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/macro.h"

/* Opens a path of a tree as if the tree were /: an absolute link or ".." leads nowhere else. A
 * leading slash does not matter; "" is the tree itself. Returns an fd (close-on-exec) or negative
 * errno. */
int inside_open(int root_fd, const char *path, int flags);
