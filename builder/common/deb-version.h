/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Versions of Debian's packages, as deb-version(7) orders them. */

/* As strcmp(): "1:0" > "9", "1.0~rc1" < "1.0", "1.0" == "1.0-0". Any text has a place in the
 * order. */
int deb_version_compare(const char *a, const char *b);
