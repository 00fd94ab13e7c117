/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a record of OSV says of a package: https://ossf.github.io/osv-schema/. */

#include "shared/json-util.h"

/* "Debian:13", "Ubuntu:24.04" of an inspection's system. The caller frees it; NULL on out of
 * memory. */
char *osv_ecosystem(json_object *os);

/* Whether an item of "affected" is of that release; "Ubuntu:24.04:LTS" is of "Ubuntu:24.04". */
bool osv_is_of(json_object *affected, const char *ecosystem);

/* Whether it is of that version of Debian's or Ubuntu's; *ret_fixed, borrowed, is then the next one
 * without it, or as it was. */
bool osv_affects(json_object *affected, const char *version, const char **ret_fixed);

/* What the record says of how bad it is; borrowed, NULL where it does not. */
const char *osv_urgency(json_object *record, json_object *affected);
