/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How the parts of a lock file are read: every error is logged with its place, and reading goes
 * on. */

#include "lock/internal.h"

#define ERRORS_SHOWN 20
#define DIGEST_WANTED "a sha256 of 64 lower-case hex digits"

typedef struct Reader {
        const char *path;
        size_t errors;
} Reader;

typedef struct Field {
        const char *key;
        bool (*valid)(const char *s); /* NULL: a number from 0 */
        bool optional;
        const char *wanted;
} Field;

void lock_bad(Reader *r, const char *where, const char *format, ...) _printf_(3, 4);
void lock_unknown_key(Reader *r, const char *where, const char *key);

/* Fills `strings` (one a text field, in order; NULL where absent) and `numbers` (of all others;
 * none is optional). */
bool lock_read_fields(Reader *r, json_object *o, const char *where, const Field *fields, size_t n,
                const char *strings[], uint64_t *numbers);

/* The array at key, empty where it is not one (which is reported). */
json_object *lock_read_array(
                Reader *r, json_object *o, const char *where, const char *key, size_t *ret_n);

/* $.python, which may be missing. 0 or -ENOMEM. */
int lock_read_environments(Reader *r, json_object *root, Lock *l);
