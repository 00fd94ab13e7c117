/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* imgbuild cache push: what this store has of a recipe and of its tools, to the remote store. */

#include "common/context.h"

typedef struct PushOptions {
        const char *key, *passphrase; /* files; NULL: the credentials', or none */
        bool downloads;               /* as well as layers */
} PushOptions;

/* An exit code, or -errno (logged). */
int cache_push(Context *ctx, const char *recipe, const PushOptions *o);
