/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where in the old disk each block's content is, and from where the new disk's blocks come. */

#include "disk/delta-format.h"

/* What of the new disk is where, as one list of ops; `unused` is what the old disk has besides, in
 * order, zeros left out. Both as of one piece without limits. */
typedef struct DeltaMap {
        DeltaPiece ops;
        DeltaRange *unused;
        size_t n_unused;
        uint64_t unused_blocks;
        Digest old, new; /* SHA-256 of the disks, which were read whole for it */
} DeltaMap;

void delta_map_done(DeltaMap *m);
#define _cleanup_delta_map_ _cleanup_(delta_map_done)

/* Reads both disks once. -ECANCELED after a Ctrl-C; nothing is logged. */
int delta_map(ImageReader *old, ImageReader *new, DeltaMap *ret);
