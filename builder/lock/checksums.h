/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lists of checksums as vendors publish them: lines of coreutils' ("HEX  NAME", "HEX *NAME"), or
 * BSD's ("SHA256 (NAME) = HEX"). Whatever else is in one (comments, a signature's frame, digests of
 * other kinds) does not count. */

#include "shared/macro.h"

typedef struct Checksums {
        char sha256[64 + 1], sha512[128 + 1]; /* lower-case hex; "": the list has none */
        size_t n;                             /* files that the list has */
} Checksums;

/* What `list` says of the file `name`, in whichever folder the list has it. Fails with -ENOENT
 * (it has neither digest of it; ret->n is how many others it has) or -EEXIST (two that differ: of
 * two folders, say). */
int checksums_find(const char *list, const char *name, Checksums *ret);
