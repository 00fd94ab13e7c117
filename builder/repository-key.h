/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"
#include "recipe.h"

/* Brings a repository's signing key (file of the overlay, or URL), checks that it is the one with
 * the pinned fingerprint, and writes that key alone as a binary keyring to `path`: for apt's
 * Signed-By. The key as it came is kept in the store, so that a later call needs no network. Errors
 * are logged; -EBADMSG for another key. */
int repository_key(Context *ctx, const Overlay *overlay, const Repository *repository,
                const char *path);
