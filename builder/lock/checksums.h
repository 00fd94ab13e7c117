/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Lists of checksums as vendors publish them: lines of coreutils' ("HEX  NAME", "HEX *NAME"), or
 * BSD's ("SHA256 (NAME) = HEX"). Whatever else is in one (comments, a signature's frame, digests of
 * other kinds) does not count. */

#include "store/digest.h"

typedef struct Checksums {
        Digest sha256; /* "": the list has none of it */
        char sha512[DIGEST_SHA512_HEX + 1];
        size_t n; /* files that the list has */
} Checksums;

/* What `list` says of the file `name`, in whichever folder the list has it. Fails with -ENOENT
 * (it has neither digest of it; ret->n is how many others it has) or -EEXIST (two that differ: of
 * two folders, say). */
int checksums_find(const char *list, const char *name, Checksums *ret);
