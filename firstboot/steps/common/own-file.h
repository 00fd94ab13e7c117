/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files that a step writes whole, each time the same. */

#include "shared/macro.h"
#include <sys/types.h>

/* Has the file below the test root hold the text: what differs is replaced in one step, durably
 * where `durable` says so, its folders made as needed. Returns 1 where it was written, 0 where it
 * held the text already (its mode is then not looked at), negative errno. */
int own_file_put(const char *name, const char *text, mode_t mode, bool durable);

/* Whether a folder can be written to: a file is written through to the disks, read back and
 * removed. The folder's path is the real one; the file's name is `name`. 0 or negative errno. */
int folder_prove_writable(const char *folder, const char *name);
