/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Signing keys of the repositories that overlays bring: pinned by fingerprint in the overlay, and
 * locked byte by byte, so that an image which keeps the repository has the same file whenever it
 * is built. */

#include "common/context.h"
#include "lock/lock.h"

/* Brings a repository's key (file of the overlay, or URL), checks that it is the one with the
 * pinned fingerprint, and writes that key alone as a binary keyring to `path`: for apt's
 * Signed-By. Errors are logged; -EBADMSG for another key. */
int repository_key(Context *ctx, const Overlay *overlay, const Repository *repository,
                const char *path);

/* From such a keyring to the text that a lock has, and back. */
int key_to_text(const char *path, char **ret);
int locked_key_write(const LockedOrigin *origin, const char *path);
