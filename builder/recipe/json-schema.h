/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the checks of strings are in JSON Schema; the schemas themselves are in recipe.h. */

#include "recipe/schema.h"

/* A check of strings in the words of JSON Schema. Patterns are written so that ECMA 262 and POSIX (extended) read them alike,
 * which lets a unit test hold them against the checks. */
typedef struct SchemaPattern {
        schema_check_t check;
        const char *pattern;
        const char *no_pattern; /* must not match; NULL: nothing */
        unsigned max_length;    /* 0: none of its own */
} SchemaPattern;

/* NULL where `check` has no pattern. */
const SchemaPattern *schema_pattern_find(schema_check_t check);
