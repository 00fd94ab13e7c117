/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Known vulnerabilities of what an image has, by a file that somebody else keeps: that of Debian's
 * security tracker (https://security-tracker.debian.org/tracker/data/json), or records of OSV
 * (https://ossf.github.io/osv-schema/): one, several, a list, {"vulns": […]},
 * or a zip archive of them. */

#include "inspect/rpm-database.h"

/* Adds to an inspection
 *
 *   "vulnerabilities": [{id, package, version, fixed, urgency, summary, binaries: […]}]
 *
 * sorted by package and id: package and version are the source's where the distribution's records
 * name those, fixed is the version to have, absent where there is none yet. `rpm`: the database of
 * an image of RPMs, whose packages take the place of the inspection's; NULL: those are whole.
 * Returns how many have a fix; -EINVAL (logged) for a file of neither kind, one that knows nothing
 * of this release, an image of a distribution without records, or one of which no package is known;
 * other errors are logged too. */
int inspect_vulnerabilities(json_object *inspection, const char *path, const RpmDatabase *rpm);
