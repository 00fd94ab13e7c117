/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A small file out of an archive. */

#include "shared/macro.h"

#include <archive.h>

DEFINE_CLEANUP(struct archive *, archive_read_free);
#define _cleanup_archive_read_ _cleanup_(archive_read_freep)

/* The data of the entry whose header was read last, whatever length that says, with a NUL behind
 * it. -EBADMSG for more than `max` bytes, or a damaged archive; -ENOMEM. The caller frees it. */
int archive_data_read(struct archive *a, size_t max, char **ret, size_t *ret_size);
