/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether there is room in /run for what the agent keeps there: others fill it, with blocks or with
 * inodes. A step that could not leave its verdict, and a node that could not tell of its own, are
 * never taken for good ones. */

#include "shared/macro.h"

#define ROOM_CODE "run.not-writable"

/* Writes a file below /run/firstboot and removes it. 0 or -errno; -ENOMEM says nothing. */
int room_prove(void);

/* "/run/firstboot: No space left on device", for the code above. NULL on out of memory; the caller
 * frees it. */
char *room_words(const char *path, int error);
