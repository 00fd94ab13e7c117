/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The table of node configuration as JSON Schema (draft 2020-12): for editors, and for programs
 * that write node configuration. */

#include "shared/json-util.h"

/* What config-schema.c allows. `sections`: names of a site's own steps, whose sections hold what
 * they like (NULL: none). It says no more than the table: what spans several keys only firstbootd
 * itself finds. 0 or -ENOMEM; the caller puts *ret. */
int config_json_schema(char *const *sections, json_object **ret);

/* A rule of strings in the words of JSON Schema. Patterns are written so that ECMA 262 and POSIX
 * (extended) read them alike, which lets unit tests hold them against the rules. Both may be NULL:
 * anything goes, nothing is refused. max_length 0: none. */
typedef struct StringPattern {
        const char *pattern, *no_pattern;
        unsigned max_length;
} StringPattern;

/* Adds type, pattern and length of a string to the schema o. p NULL: any string. 0 or -ENOMEM. */
int string_pattern_to_json(const StringPattern *p, json_object *o);

/* Of a rule of config-rules.h; NULL where it has no pattern. */
const StringPattern *config_pattern_find(const char *(*check)(const char *value));
