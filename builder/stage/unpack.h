/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Archives among artifacts, by libarchive. */

#include "shared/macro.h"

/* Unpacks a tar archive of any compression into a folder that is there, as tar --no-same-owner
 * --preserve-permissions --strip-components=STRIP does: all files are the caller's, modes are the
 * archive's. An archive that leads out of the folder, by "..", through a link of its own, or that
 * holds device nodes or pipes, is refused: -EBADMSG, as is a damaged one, and a bomb, of which more
 * than 256 MiB and more than 200 times its own size come out. Holes stay holes. *ret_why (the
 * caller frees it) says what is wrong; NULL on out of memory.
 *
 * Changes the working folder and the locale: call it in a child. */
int unpack_archive(const char *archive, const char *folder, unsigned strip, char **ret_why);
