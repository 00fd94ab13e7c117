/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What one disk is to us, by what was found on it. */

#include "steps/scratch/plan.h"

typedef enum DiskClass {
        DISK_BLANK,
        DISK_OURS,     /* physical volume of our group */
        DISK_ORPHAN,   /* physical volume that we were about to use when power went */
        DISK_LABELLED, /* a file system with our label stands on it, directly or not */
        DISK_FOREIGN,
        DISK_DATA, /* no signature, but data */
        DISK_TWICE,
        DISK_IN_USE,
        DISK_UNREADABLE,
} DiskClass;

DiskClass disk_classify(const DiskFacts *f, const ScratchRecord *record, const ScratchWish *wish);

/* Whether a disk of this class must not be written to. */
bool disk_class_is_bad(DiskClass k);

/* "/dev/nvme1n1 (serial S2, 1920.4 GB): ext4 filesystem \"data\""; NULL on out of memory, the
 * caller frees it. */
char *disk_describe(const DiskFacts *f, DiskClass k);
