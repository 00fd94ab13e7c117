/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The disk that a guest sees in a qcow2 image: of those that imgbuild writes, and of whatever else
 * qemu-img writes with compression_type=zstd, clusters of 64 KiB, no snapshot and no backing file.
 * The image may be a stranger's. Nothing is logged. */

#include "shared/macro.h"

/* The table of the tables, as in the file (big-endian); the caller frees it. -EBADMSG for all
 * else. */
int qcow2_read_tables(int fd, uint64_t *ret_size, uint64_t **ret_l1, size_t *ret_l1_size);

typedef struct Qcow2Reader Qcow2Reader;

/* Borrows the descriptor. */
int qcow2_reader_new(int fd, Qcow2Reader **ret);
Qcow2Reader *qcow2_reader_free(Qcow2Reader *q);
DEFINE_CLEANUP(Qcow2Reader *, qcow2_reader_free);
#define _cleanup_qcow2_reader_ _cleanup_(qcow2_reader_freep)

uint64_t qcow2_reader_size(const Qcow2Reader *q);

/* What the guest has from `offset` on, all of which has to be in the disk. 0 or negative errno. */
int qcow2_reader_read(Qcow2Reader *q, void *data, size_t size, uint64_t offset);
