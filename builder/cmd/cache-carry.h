/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A build's downloads in one file, for a machine without a network: imgbuild cache export and
 * import. */

#include "common/context.h"

/* An exit code, or -errno (logged). */
int cache_export(Context *ctx, const char *recipe, const char *file);
int cache_import(Context *ctx, const char *file);
