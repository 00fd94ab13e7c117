/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which mount has to be there before which: one that came later would hide what lies below it. */

#include "shared/json-util.h"

/* Whether path lies below folder, both without a slash at the end. */
bool path_is_below(const char *path, const char *folder);

/* Of n mount points the one that the i-th is mounted in: the longest that it lies below, or an
 * earlier one of the same name. -1: none. */
ssize_t mount_parent(const char *const *where, size_t n, size_t i);

/* Whether the step scratch has its mount point above this one, and has not come so far. document:
 * the merged configuration; status: firstbootd's, NULL where there is none. */
bool waits_for_scratch(const char *where, json_object *config, json_object *status);
