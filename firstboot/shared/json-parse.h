/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* JSON with line and block comments for files that people write; json-c does the parsing. */

#include "shared/macro.h"
#include <json-c/json.h>

/* What is wrong and where; line and column count from 1, column in bytes. */
typedef struct JsonError {
        unsigned line, column;
        char message[200];
} JsonError;

/* Parses one JSON value, comments allowed, nothing else json-c's lenient mode would let through.
 * Returns 0; -EINVAL with *ret_error filled for bad text (a key given twice, nesting deeper than
 * 64, bytes that are not UTF-8, \u0000 and numbers beyond 64 bits are bad text); -ENOMEM. The
 * caller puts *ret. */
int json_parse(const char *text, size_t size, JsonError *ret_error, json_object **ret);

/* Reads and parses a file of at most `max` bytes. As json_parse(); for a file that cannot be read
 * or is too large (-EFBIG) ret_error->line is 0 and the message says so. */
int json_load(const char *path, size_t max, JsonError *ret_error, json_object **ret);

/* Overwrites comments with spaces, so that positions stay what they are. 0, or -EINVAL with
 * *ret_error where a comment or string does not end. */
int json_blank_comments(char *text, size_t size, JsonError *ret_error);

/* Replaces each byte that is not UTF-8, which json_parse() refuses and json-c prints as it is, by
 * '?'. */
void json_clean_utf8(char *text);
