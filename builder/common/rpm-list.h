/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What rpm says of installed packages: the one reader for trees and images, as dpkg-status.h is for
 * dpkg. rpm is asked with this format and a newline behind it, "\\n", or first the module's label,
 * for which not every rpm has a word. */

#include "shared/macro.h"

#define RPM_LIST_FORMAT                                                    \
        "%{NAME}\\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\t" \
        "%|SOURCERPM?{%{SOURCERPM}}|"
#define RPM_LIST_MODULE "\\t%|MODULARITYLABEL?{%{MODULARITYLABEL}}|"

typedef struct RpmPackage {
        const char *name, *version; /* "EPOCH:VERSION-RELEASE" where there is an epoch */
        const char *arch;           /* NULL where the line ends before */
        /* NULL: of the package's own name and version, or not known. A source's epoch is written
         * nowhere, and need not be that of the packages that were made from it. */
        const char *source, *source_version;
        const char *module; /* label; "": none; NULL where the line ends before */
} RpmPackage;

/* Calls `visit` for each package; strings are good until it returns. Its negative errno ends the
 * reading and is returned. Keys, which rpm lists as packages, and what has no tab, warnings, are
 * passed over. -ENOMEM. */
int rpm_list_read(const char *text, int (*visit)(const RpmPackage *p, void *userdata),
                void *userdata);
