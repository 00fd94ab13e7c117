/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The table of node configuration as JSON Schema (draft 2020-12): for editors, and for programs that write node
 * configuration. */

#include "shared/json-util.h"

/* What config-schema.c allows. `sections`: names of a site's own steps, whose sections hold what they like (NULL: none). It says
 * no more than the table: what spans several keys only firstbootd itself finds. 0 or -ENOMEM; the caller puts *ret. */
int config_json_schema(char *const *sections, json_object **ret);

/* A rule of strings (config-rules.h) in the words of JSON Schema. Patterns are written so that
 * ECMA 262 and POSIX (extended) read them alike, which lets a unit test hold them against the rules.
 * Both may be NULL: anything goes, nothing is refused. max_length 0: none. */
typedef struct ConfigPattern {
        const char *(*check)(const char *value);
        const char *pattern, *no_pattern;
        unsigned max_length;
} ConfigPattern;

/* NULL where `check` has no pattern. */
const ConfigPattern *config_pattern_find(const char *(*check)(const char *value));
