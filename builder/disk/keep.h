/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* "layout": "keep": the vendor's disk, its partitions, file systems and boot loader as they are, in
 * which the files that the recipe's stages made, changed or removed are written over. keep.c calls
 * the others in this order. */

#include "appliance/appliance.h"
#include "disk/internal.h"

/* Files of the work folder; the last two are whole sectors, as drives of the appliance. */
#define KEEP_PATHS LABELS_PATHS /* that the tree has and the image not so */
#define KEEP_REMOVED "removed"  /* what goes first: "./a/b", a NUL behind each, zeros at the end */
#define KEEP_ARCHIVE "changes.tar"

/* What there is to do. */
typedef struct KeepChanges {
        uint64_t removed_size; /* bytes of KEEP_REMOVED without its zeros */
        uint64_t bytes;        /* of content, as it is long */
        uint64_t files, removed;
} KeepChanges;

/* keep-changes.c. Lists what differs from the image, the first of the layers, and archives it, each
 * file with its SELinux label where the tree's policy has one. Errors are logged. */
int keep_list(Disk *d, KeepChanges *changes);
int keep_archive(Disk *d, KeepChanges *changes);

/* keep-write.c. Grows what is in the partition of that number (0: none) to its end, where the
 * system is on it, then removes and unpacks, in an appliance. Errors are logged. */
int keep_write(const Disk *d, const KeepChanges *changes, unsigned grown);

/* keep.c. The raw disk from the vendor's. Errors are logged. */
int disk_keep(Disk *d);
