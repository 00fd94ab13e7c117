/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What making a delta and applying it share: images and zstd. */

#include "disk/delta-format.h"

typedef struct DeltaZstd DeltaZstd;
int delta_zstd_new(DeltaZstd **ret);
DeltaZstd *delta_zstd_free(DeltaZstd *z);
DEFINE_CLEANUP(DeltaZstd *, delta_zstd_free);

/* One frame, malloc()ed, said by its difference to the dictionary, which may be empty. */
int delta_pack(DeltaZstd *z, const void *dictionary, size_t dictionary_size, const void *data,
                size_t size, uint8_t **ret, size_t *ret_size);

/* Fills `data`, all of it; -EBADMSG where the frame holds anything else than so many bytes. */
int delta_unpack(DeltaZstd *z, const void *dictionary, size_t dictionary_size, const void *frame,
                size_t frame_size, void *data, size_t size);

/* Reads the blocks of a piece's dictionary, at most DELTA_DICTIONARY_MAX. */
int delta_read_dictionary(ImageReader *old, const DeltaPiece *p, void *data);

/* Opens a raw image or a qcow2 of ours; *ret_driver, which may be NULL, is a constant. Errors are
 * logged: -EINVAL for what is none, -EACCES. */
int delta_open_image(const char *path, ImageReader **ret, const char **ret_driver);
