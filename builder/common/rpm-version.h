/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Versions of RPMs, "EPOCH:VERSION-RELEASE". */

#include "shared/macro.h"

/* As rpm orders them, rpm-version(7); as strcmp(): "1:0-1" > "9-1", "1.0~rc1" < "1.0" < "1.0^git1"
 * < "1.0.1", "1.010" == "1.10". No epoch is 0, no release before all. Any text has a place in the
 * order. */
int rpm_version_compare(const char *a, const char *b);

/* How many digits stand before the colon; 0: there is no epoch. */
size_t rpm_version_epoch(const char *version);

/* What stands behind the epoch; borrowed. */
const char *rpm_version_bare(const char *version);

/* "openssl-3.0.7-27.el9.src.rpm" as "openssl" and "3.0.7-27.el9". Its epoch is written nowhere, and
 * need not be that of the packages that were made from it. Both NULL where `file` is no source
 * RPM's name. -ENOMEM. */
int rpm_source_split(const char *file, char **ret_name, char **ret_version);

/* Whether that source is called, and its version is, as the package's own. */
bool rpm_source_is_own(const char *source, const char *source_version, const char *name,
                const char *version);
