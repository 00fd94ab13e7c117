/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Records of OSV in a zip archive, a file each. */

#include "shared/macro.h"

#include <stddef.h>

bool osv_is_zip(const char *data, size_t size);

/* Calls `visit` for each; its negative errno ends the reading and is returned. -EBADMSG for an
 * archive that is damaged or cut, or a record of more than 64 MiB. Nothing is logged. */
int osv_zip_each(const char *data, size_t size,
                int (*visit)(const char *text, size_t size, void *userdata), void *userdata);
