/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a record of OSV says of a package: https://ossf.github.io/osv-schema/. */

#include "shared/json-util.h"

/* How a distribution's records are to be read. */
typedef struct OsvKind {
        const char *distro;    /* as libguestfs calls it */
        const char *ecosystem; /* in front of the release: "Debian:" */
        bool rpm;
        bool by_source; /* its records name source packages, else those that are installed */
        int (*compare)(const char *a, const char *b); /* its versions' order */
} OsvKind;

/* Of an inspection's system: NULL for one that OSV has no records of. */
const OsvKind *osv_kind(json_object *os);

/* "Debian:13", "Ubuntu:24.04", "Rocky Linux:9". The caller frees it; NULL on out of memory. */
char *osv_ecosystem(const OsvKind *k, json_object *os);

/* Whether an item of "affected" is of that release; "Ubuntu:24.04:LTS" is of "Ubuntu:24.04",
 * "Red Hat:enterprise_linux:9::baseos" of "Red Hat:enterprise_linux:9". */
bool osv_is_of(json_object *affected, const char *ecosystem);

/* Whether it is of that version; *ret_fixed, borrowed, is then the next one without it, or as it
 * was. */
bool osv_affects(const OsvKind *k, json_object *affected, const char *version,
                const char **ret_fixed);

/* Whether it is of a package of that version, and of that module ("nodejs:20"; NULL: none, or not
 * known which). Builds of two streams have versions that say nothing of each other, and a record
 * names its stream in its summary alone; one that names none is taken for all. */
bool osv_is_of_module(json_object *record, json_object *affected, const char *version,
                const char *module);

/* What the record says of how bad it is; borrowed, NULL where it does not. */
const char *osv_urgency(json_object *record, json_object *affected);
