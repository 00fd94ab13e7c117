/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What of a vendor's system is in no tree, whoever reads it. */

#include "shared/macro.h"

/* Whether a path, relative to the root, stays behind; with all that is below it. */
bool left_out(const char *path);

/* The same for tar: "--exclude='./dev/x' …", anchored, with wildcards that match slashes. NULL on
 * out of memory. The caller frees it. */
char *left_out_options(void);
