/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What of the format qcow2, version 3, is needed to pack an image: QEMU's docs/interop/qcow2.txt.
 * All numbers in a file are big-endian. */

#include "shared/macro.h"

#define QCOW2_MAGIC 0x514649fbu
#define QCOW2_CLUSTER_BITS 16
#define QCOW2_CLUSTER (1u << QCOW2_CLUSTER_BITS)
#define QCOW2_ENTRIES (QCOW2_CLUSTER / 8) /* of a table of one cluster */
#define QCOW2_SECTOR 512u

#define QCOW2_INCOMPATIBLE_COMPRESSION UINT64_C(8) /* compression_type says which */
#define QCOW2_COMPRESSION_ZSTD 1
#define QCOW2_REFCOUNT_ORDER 4 /* 16 bits each */
#define QCOW2_REFCOUNTS (QCOW2_CLUSTER / 2)

/* Entries of L1 and L2 tables. */
#define QCOW2_COPIED (UINT64_C(1) << 63) /* of a whole cluster that one entry refers to */
#define QCOW2_COMPRESSED (UINT64_C(1) << 62)
#define QCOW2_ZERO UINT64_C(1)
#define QCOW2_OFFSET UINT64_C(0x00fffffffffffe00)

/* A compressed cluster's entry: where its first byte is, and how many sectors it reaches into
 * behind that byte's own. */
#define QCOW2_SECTORS_SHIFT (62 - (QCOW2_CLUSTER_BITS - 8))
#define QCOW2_SECTORS_MASK UINT64_C(0xff)
#define QCOW2_BYTE_OFFSET ((UINT64_C(1) << QCOW2_SECTORS_SHIFT) - 1)

typedef struct Qcow2Header {
        uint32_t magic, version;
        uint64_t backing_file_offset;
        uint32_t backing_file_size, cluster_bits;
        uint64_t size; /* bytes, of the disk that the guest sees */
        uint32_t crypt_method, l1_size;
        uint64_t l1_table_offset, refcount_table_offset;
        uint32_t refcount_table_clusters, nb_snapshots;
        uint64_t snapshots_offset, incompatible_features, compatible_features, autoclear_features;
        uint32_t refcount_order, header_length;
        uint8_t compression_type, padding[7];
} __attribute__((packed)) Qcow2Header;
