/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A qcow2 image's clusters in the guest's order. qemu-img compresses in several threads and then
 * leaves the clusters as the threads finish: the same disk, other bytes in each run. Each cluster
 * is compressed by itself, so packed in order they are the same bytes again. */

#include "shared/macro.h"

/* Writes the image `from` anew to `to`, which is empty: header, then what the guest's clusters hold
 * without gaps, each table behind what it maps. Takes what qemu-img writes by itself with
 * compression_type=zstd (clusters of 64 KiB, no snapshot, no backing file); -EBADMSG for all else.
 * Nothing is logged. */
int qcow2_pack(int from, int to);
