/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One entry of "mounts", brought up by a process of its own. */

#include "shared/macro.h"

typedef struct MountEntry {
        const char *what, *where, *type, *verify;
        char *options;
        bool required;
        uint64_t timeout_usec; /* of one try */
        uint64_t give_up_usec; /* of all tries together */
        uint64_t seed;         /* of the pauses between them */
} MountEntry;

/* Mounts it and proves the mount, again and again until that is done or the time is up. NULL:
 * mounted and good; else "CODE\nTEXT", which the caller frees. */
char *mount_entry(const MountEntry *e);
