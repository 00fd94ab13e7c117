/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A table says which keys a JSON file may have and what their values look like; one validator
 * reads it. The tables themselves, which are the reference of the two formats, are in formats.c. */

#include "recipe/problems.h"

typedef enum SchemaFlags {
        /* Types; several may be allowed. */
        SCHEMA_STRING = 1 << 0,
        SCHEMA_BOOL = 1 << 1,
        SCHEMA_INT = 1 << 2,
        SCHEMA_LIST = 1 << 3,
        SCHEMA_OBJECT = 1 << 4,
        SCHEMA_TYPES = (1 << 5) - 1,

        SCHEMA_REQUIRED = 1 << 5,
        /* A list in which "-x" takes away the x of the extended recipe. */
        SCHEMA_REMOVABLE = 1 << 6,
        /* An object of any keys: each value as `item` says, each key as `check_key` does. */
        SCHEMA_MAP = 1 << 7,
        /* An object whose content is not ours to check. */
        SCHEMA_FREE = 1 << 8,
} SchemaFlags;

/* Returns NULL where the value is right, else the end of the sentence `"VALUE" …`, as "is not a
 * file mode". */
typedef const char *(*schema_check_t)(const char *value);

typedef struct Schema Schema;
struct Schema {
        const char *key; /* NULL ends a table, and is not used in an item */
        unsigned flags;
        schema_check_t check;       /* of a string */
        schema_check_t check_key;   /* of a map's keys */
        const char *const *choices; /* of a string; NULL-terminated */
        const Schema *keys;         /* of an object */
        const Schema *item;         /* of a list, of a map */
        int64_t max;                /* of an integer; it is never negative */
        const char *meaning;        /* one sentence, for editors (json-schema.h) */
};

#define SCHEMA_LIST_MAX \
        5000 /* items; what reads a list may walk through it for each of its items */

/* Checks o against the table and adds every error to p. What is wrong is taken out of o (a list
 * keeps a null in its place, so that indexes stay what they are in the file), and so is a list
 * item or map value that lacks a required key: whoever reads o afterwards finds only what the
 * table allows. `extends`: whether "-x" has something to take away from. */
void schema_validate(
                Problems *p, const char *file, const Schema *table, json_object *o, bool extends);

/* Reads FILE (named as the person wrote it) and requires an object: 0, or -EINVAL, -ENOENT,
 * -ENOMEM with the problem added (not for -ENOENT: only the caller knows what else there is). */
int schema_load(Problems *p, const char *file, json_object **ret);

/* Whether o has any key of the table. */
bool schema_has_key(const Schema *table, json_object *o);

/* "$.a" and "b" to "$.a.b"; a key that is no plain word goes in brackets. NULL on out of memory. */
char *schema_path(const char *parent, const char *key);

/* The strings of list `key` of o, nulls left out. */
int schema_get_strv(json_object *o, const char *key, char ***ret);
