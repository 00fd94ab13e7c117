/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a device without a signature may hold all the same: copies of superblocks whose first is
 * lost, and data that nothing announces. Read-only. */

#include "steps/common/signature.h"

/* Copies and backups of what libblkid finds no beginning of: GPT, LVM, md, LUKS, ZFS, ext4, XFS,
 * btrfs and others, and what lies in a first partition whose table is lost. One of each type.
 * Returns how many (at most SIGNATURES_MAX), or negative errno where the device could not be
 * read. */
int probe_remains(int fd, Signature ret[SIGNATURES_MAX]);

/* Whether there are data: the first and last MiB and about a thousand blocks in between are read.
 * A block of zeros, or of ones (erased flash that was not written since), is none. 1 with *ret_at
 * the byte where they were found first, 0, or negative errno. */
int probe_data(int fd, uint64_t *ret_at);
