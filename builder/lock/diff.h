/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What moved between two locks, for people and as JSON. */

#include "shared/json-util.h"
#include "lock/lock.h"

typedef struct LockChange {
        const char *stage; /* or the overlay of an artifact; all borrowed from the two locks */
        const char *name;
        const char *before; /* version; NULL: added */
        const char *after;  /* NULL: removed */
        bool content;       /* same version, other bytes */
        bool artifact;
} LockChange;

typedef struct LockDiff {
        LockChange *changes; /* by name */
        size_t n;
        size_t added, removed, moved;
} LockDiff;

/* before: NULL for none. A package that moved to another stage with the same version is no
 * change. */
int lock_diff(const Lock *before, const Lock *after, LockDiff *ret);
void lock_diff_done(LockDiff *d);
#define _cleanup_lock_diff_ _cleanup_(lock_diff_done)

void lock_diff_print(const LockDiff *d, FILE *f);
int lock_diff_to_json(const LockDiff *d, json_object **ret);
