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
