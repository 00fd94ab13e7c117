/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Downloads from one store to another, by a file that anybody may have carried: a tar archive of
 * blobs/sha256/ab/ab…, as the store has them. What comes in is trusted by its digest alone. */

#include "store/store.h"

typedef struct Carried {
        uint64_t blobs, bytes, known; /* `known`: were there already */
} Carried;

/* Writes the blobs to `fd`; digests end with NULL, each is there once and is compared as it is
 * read. 0, -ENOENT, -EBADMSG (all logged) or another negative errno (logged). */
int store_export_blobs(Store *s, const char *const *digests, int fd, Carried *ret);

/* Takes what the archive on `fd` has. -EBADMSG where anything else is in it, or it was changed or
 * cut; what came before that stays. Errors are logged. */
int store_import_blobs(Store *s, int fd, Carried *ret);
