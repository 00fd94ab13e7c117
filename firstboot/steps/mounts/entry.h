/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One entry of "mounts", brought up by a process of its own. */

#include "shared/json-util.h"

typedef struct MountEntry {
        char *what, *where; /* without a slash at the end, as the kernel shows them */
        const char *type, *verify;
        char *options;
        json_object *config; /* all of it; borrowed */
        bool required;
        uint64_t timeout_usec; /* of one try */
        uint64_t give_up_usec; /* of all tries together */
        uint64_t seed;         /* of the pauses between them */
} MountEntry;

/* Mounts it and proves the mount, again and again until that is done or the time is up. NULL:
 * mounted and good; else "CODE\nTEXT", which the caller frees. */
char *mount_entry(const MountEntry *e);

/* A server's path or a mount point as the kernel shows it: without a slash at the end. NULL on out
 * of memory; the caller frees it. */
char *mount_path(const char *path);
