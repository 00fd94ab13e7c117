/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The disk in an image that is raw or a qcow2 of ours, by blocks of 4 KiB. */

#include "store/digest.h"

#define DELTA_BLOCK 4096u

typedef struct ImageReader ImageReader;

/* driver: "raw" or "qcow2". -EOPNOTSUPP for another one; -EBADMSG for a qcow2 that is damaged or
 * that imgbuild does not write. Nothing is logged. */
int image_reader_open(const char *path, const char *driver, ImageReader **ret);
ImageReader *image_reader_free(ImageReader *i);
DEFINE_CLEANUP(ImageReader *, image_reader_free);
#define _cleanup_image_reader_ _cleanup_(image_reader_freep)

uint64_t image_reader_size(const ImageReader *i);   /* bytes of the disk */
uint64_t image_reader_blocks(const ImageReader *i); /* blocks; the last may be cut */

/* So many blocks from that one on, filled up with zeros at the disk's end. */
int image_reader_read(ImageReader *i, void *data, uint64_t block, size_t blocks);

/* SHA-256 of the disk's first `max` bytes (UINT64_MAX: all). -ECANCELED after a Ctrl-C. */
int image_reader_digest(ImageReader *i, uint64_t max, Digest ret);

bool block_is_zero(const void *block);
