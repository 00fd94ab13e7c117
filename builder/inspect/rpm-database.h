/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What libguestfs does not say of an image's RPMs: their source packages and modules. The image's
 * database is copied out of it, and this host's rpm reads the copy in a sandbox without network,
 * files or rights. */

#include "shared/json-util.h"

#include <guestfs.h>

typedef struct RpmDatabase {
        const char *name; /* of its file; NULL: there is none */
        int fd, wal_fd;   /* in memory; SQLite's write-ahead log where there is one, else < 0 */
} RpmDatabase;

#define RPM_DATABASE_NONE { .fd = -EBADF, .wal_fd = -EBADF }

/* Copies it out of the system that is mounted. -ENOENT where there is none of a kind that rpm
 * reads, -EFBIG beyond 1 GiB, -EIO where it cannot be read. Nothing is logged. */
int rpm_database_take(guestfs_h *g, RpmDatabase *ret);
void rpm_database_done(RpmDatabase *d);
#define _cleanup_rpm_database_ _cleanup_(rpm_database_done)

/* All packages that it has, as an inspection has them, and what their records need: "source" and
 * "source_version" as for dpkg's, "module" ("nodejs:20") of one of a module stream. Errors are
 * logged. */
int rpm_database_read(const RpmDatabase *d, json_object **ret);

/* The same of what rpm said, in the format of rpm-list.h with the module's label. -ENOMEM. */
int rpm_database_parse(const char *text, json_object **ret);
