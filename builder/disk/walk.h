/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One walk over a merged tree, for all files of this room that look at every path. */

#include "shared/macro.h"

#include <sys/types.h>
#include <sys/stat.h>
#include <fts.h>

/* `inside` is the path from the root, with its leading slash; "" is the root. e->fts_info is FTS_D
 * for a folder before what is in it and FTS_DP behind that; any other entry is no folder. */
typedef int (*walk_visit_t)(const FTSENT *e, const char *inside, void *userdata);

/* Calls visit for `root` and everything below, names sorted; links are not followed, other file
 * systems not entered. Its negative errno ends the walk and is returned; what cannot be read is
 * logged by its path. */
int walk_tree(const char *root, walk_visit_t visit, void *userdata);

/* Whether the file of an entry is a regular one with an access list. */
bool walk_has_access_list(const FTSENT *e);
