/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is mounted where, as the kernel shows it to us. */

#include "shared/macro.h"

typedef struct Mount {
        unsigned major, minor;
        char *where;
        char *type, *device; /* empty where the kernel's line has none */
        unsigned id, parent; /* the kernel's numbers of this mount, and of that which it lies in */
} Mount;

typedef struct MountTable {
        Mount *items; /* in the order they were mounted: of two at one place the later counts */
        size_t n;
} MountTable;

void mount_table_done(MountTable *t);
#define _cleanup_mount_table_ _cleanup_(mount_table_done)

/* Reads /proc/self/mountinfo. 0 or negative errno. */
int mount_table_read(MountTable *ret);

/* Whether something is mounted at a path, and what ("/dev/…", "server:/export"); *ret_source may
 * be NULL. */
bool mounted_at(const char *where, char **ret_source);

/* Whether something is mounted at a path and cannot be seen there, for something else was mounted
 * above it later. False where the table cannot be read. */
bool mount_is_hidden(const char *where);
