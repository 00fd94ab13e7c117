/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Name, version and architecture of an .rpm, from its own header. */

#include "shared/macro.h"

typedef struct RpmHeader {
        char *name;
        char *version; /* "VERSION-RELEASE", "EPOCH:VERSION-RELEASE" where there is an epoch */
        char *arch;
} RpmHeader;

/* -EBADMSG for what is no .rpm, or none of a kind that rpm itself would take; other errnos are the
 * disk's. */
int rpm_header_read(const char *path, RpmHeader *ret);

/* The same of a file's beginning in memory. */
int rpm_header_parse(const void *data, size_t size, RpmHeader *ret);
void rpm_header_done(RpmHeader *h);
#define _cleanup_rpm_header_ _cleanup_(rpm_header_done)

/* How many bytes of a file at most are looked at: the headers of the largest kernels have 3 MB. */
#define RPM_HEADER_MAX ((size_t) 64 * 1024 * 1024)
