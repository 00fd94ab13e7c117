/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A delta: how the disk of one image becomes that of another.
 *
 *     imgbuild-delta 1                        a line
 *     {"old": {…}, "new": {…}}                a line: DeltaHeader
 *     piece …                                 until the new disk is whole
 *     64 hex digits                           a line: SHA-256 of all before it
 *
 * A piece is a DeltaPieceHeader, then two zstd frames. The first is its control: which blocks of
 * the old disk are the dictionary of the second, and where each block of this part of the new disk
 * comes from: nothing (zeros), the old disk, or the second frame. A dictionary is what the old disk
 * has there and the new one has not, so a file's next version is said by its difference.
 *
 * Whoever reads one has it from a stranger: what is parsed here is inside of both disks, and no
 * larger than the limits. Nothing is logged. */

#include "disk/image-read.h"

#define DELTA_MAGIC "imgbuild-delta 1\n"
#define DELTA_LINE_MAX 4096
#define DELTA_TRAILER (DIGEST_HEX + 1)
#define DELTA_BEGINNING (UINT64_C(1024) * 1024) /* has the partition table, other in each build */
#define DELTA_DISK_MAX (UINT64_C(1) << 44)      /* 16 TiB: what ext4 lets a file have */

#define DELTA_DATA_MAX 8192u        /* blocks of a piece's second frame: 32 MiB */
#define DELTA_DICTIONARY_MAX 16384u /* blocks: 64 MiB */
#define DELTA_WINDOW_LOG 27         /* holds both */
#define DELTA_CONTROL_MAX (8u * 1024 * 1024)

typedef struct DeltaDisk {
        uint64_t size;            /* bytes */
        Digest sha256, beginning; /* of the whole; of its first DELTA_BEGINNING bytes */
} DeltaDisk;

typedef struct DeltaHeader {
        DeltaDisk old, new;
        char format[8]; /* of the new image: "raw" or "qcow2" */
        Digest file;    /* SHA-256 of the new image */
} DeltaHeader;

/* The two lines; NULL on out of memory. */
char *delta_header_format(const DeltaHeader *h);

/* -EBADMSG for what is none. *ret_size: bytes of the two lines. */
int delta_header_parse(const char *text, size_t size, DeltaHeader *ret, size_t *ret_size);

/* Little-endian, as in the file. */
typedef struct DeltaPieceHeader {
        uint32_t control_packed, control_size, data_packed, data_blocks;
} __attribute__((packed)) DeltaPieceHeader;

typedef struct DeltaRange {
        uint64_t from, blocks; /* of the old disk */
} DeltaRange;

typedef struct DeltaOp {
        enum { DELTA_ZERO, DELTA_OLD, DELTA_DATA } kind;
        uint64_t from; /* of the old disk, with DELTA_OLD */
        uint64_t blocks;
} DeltaOp;

typedef struct DeltaPiece {
        DeltaRange *dictionary; /* ascending */
        size_t n_dictionary, dictionary_allocated;
        DeltaOp *ops;
        size_t n_ops, ops_allocated;
        uint64_t dictionary_blocks, data_blocks, blocks; /* sums */
} DeltaPiece;

void delta_piece_done(DeltaPiece *p);
#define _cleanup_delta_piece_ _cleanup_(delta_piece_done)

/* Both continue the last one where it follows it. 0 or -ENOMEM. */
int delta_piece_add(DeltaPiece *p, DeltaOp op);
int delta_piece_add_dictionary(DeltaPiece *p, DeltaRange range);

/* The control, malloc()ed. 0 or -ENOMEM. */
int delta_piece_format(const DeltaPiece *p, uint8_t **ret, size_t *ret_size);

/* old_blocks: of the old disk; left: how many blocks of the new one are still missing. -EBADMSG for
 * a control that goes beyond, or beyond the limits, or makes nothing. */
int delta_piece_parse(const uint8_t *control, size_t size, uint64_t old_blocks, uint64_t left,
                DeltaPiece *ret);
