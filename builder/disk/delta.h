/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What changed from one image to the next, as one file, and the new image again from that and the
 * old one. Disks are compared by blocks, so it does not matter which of the two formats, raw or
 * qcow2, the old image is in on either side. Errors are logged. */

#include "disk/delta-format.h"
#include "disk/image-draft.h"

typedef struct DeltaFigures {
        uint64_t size;    /* bytes of the delta */
        uint64_t changed; /* bytes of the new disk that the old one has nowhere */
} DeltaFigures;

/* Writes to `target`, which appears whole or not at all. -EINVAL for an image in another format. */
int delta_make(const char *old, const char *new, const char *target, DeltaFigures *ret);

typedef struct Delta Delta;

/* Reads a delta and sees that it is whole, and all that it says possible. -EINVAL where it is
 * not. */
int delta_open(const char *path, Delta **ret);
Delta *delta_free(Delta *d);
DEFINE_CLEANUP(Delta *, delta_free);
#define _cleanup_delta_ _cleanup_(delta_freep)

const DeltaHeader *delta_header(const Delta *d);

/* Writes the new disk, raw and sparse, to a draft in `folder`. -EINVAL where `old` is not the disk
 * that the delta was made from, before anything is written; -EIO where what comes out is not the
 * new one; -ENOSPC. */
int delta_apply(Delta *d, const char *old, const char *folder, ImageDraft *ret);
