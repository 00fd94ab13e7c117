/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "common/context.h"

/* imgbuild cache export and import. An exit code, or -errno (logged). */
int cache_export(Context *ctx, const char *recipe, const char *file);
int cache_import(Context *ctx, const char *file);
