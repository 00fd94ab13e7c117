/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Known vulnerabilities of what an image has, by a file that somebody else keeps: that of Debian's
 * security tracker (https://security-tracker.debian.org/tracker/data/json), or records of OSV
 * (https://ossf.github.io/osv-schema/): one, several, a list, or {"vulns": […]}. */

#include "shared/json-util.h"

/* Adds to an inspection
 *
 *   "vulnerabilities": [{id, package, version, fixed, urgency, summary, binaries: […]}]
 *
 * sorted by package and id: package and version are the source's, fixed is the version to have,
 * absent where there is none yet. Returns how many have one; -EINVAL (logged) for a file of neither
 * kind, one that knows nothing of this release, or an image whose packages are not dpkg's; other
 * errors are logged too. */
int inspect_vulnerabilities(json_object *inspection, const char *path);
