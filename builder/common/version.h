/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Versions of programs, drivers and libraries. Packages' versions, with epochs and revisions, are
 * apt's and dpkg's to compare. */

/* As strcmp(): "1.9" < "1.10", "1.0~rc1" < "1.0", numbers by value, what is missing counts as 0
 * ("12.4" is "12.4.0"). */
int version_compare(const char *a, const char *b);
