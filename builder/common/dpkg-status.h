/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* dpkg's status file, read stanza by stanza: the one reader for trees, images and builds. */

#include "shared/macro.h"

#define DPKG_STATUS_MAX (64 * 1024 * 1024) /* bytes that a status file is read up to */

typedef struct DpkgPackage {
        const char *name, *version, *arch; /* arch NULL where the stanza has none */
        const char *source; /* "linux (6.12-1)", "glibc"; NULL: of the package's name and version */
        int64_t size;       /* installed, bytes; -1 where the stanza does not say */
        bool installed, held;
} DpkgPackage;

/* Calls `visit` for each stanza that has a name and a version, in the file's order; strings are
 * good until it returns. Its negative errno ends the reading and is returned. -EFBIG for a line
 * beyond 1 MiB. */
int dpkg_status_read(FILE *f, int (*visit)(const DpkgPackage *p, void *userdata), void *userdata);

/* "linux (6.12-1)" as "linux" and "6.12-1", which is NULL where it is the package's. -ENOMEM. */
int dpkg_source_split(const char *source, char **ret_name, char **ret_version);
