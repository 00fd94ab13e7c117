/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Versions of RPMs, "EPOCH:VERSION-RELEASE". */

/* As rpm orders them, rpm-version(7); as strcmp(): "1:0-1" > "9-1", "1.0~rc1" < "1.0" < "1.0^git1"
 * < "1.0.1", "1.010" == "1.10". No epoch is 0, no release before all. Any text has a place in the
 * order. */
int rpm_version_compare(const char *a, const char *b);

/* "openssl-3.0.7-27.el9.src.rpm" of a package of version "1:3.0.7-27.el9" as "openssl" and
 * "1:3.0.7-27.el9": the epoch is the package's, as all but a few of a source have. Both NULL where
 * `file` is no source RPM's name. -ENOMEM. */
int rpm_source_split(const char *file, const char *version, char **ret_name, char **ret_version);
