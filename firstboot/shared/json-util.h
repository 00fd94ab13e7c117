/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* JSON: what json-c has parsed is asked, what it is to write is set. */

#include "shared/json-parse.h"

static inline void json_putp(json_object **o) {
        if (*o)
                json_object_put(*o);
}
#define _cleanup_json_ _cleanup_(json_putp)

/* Lookups that answer the default where the key is absent or of another type. Borrowed results. */
json_object *json_get(json_object *o, const char *key);
const char *json_get_string(json_object *o, const char *key); /* NULL where absent */
int64_t json_get_int(json_object *o, const char *key, int64_t fallback);
bool json_get_bool(json_object *o, const char *key, bool fallback);

/* How many items an array has; 0 for NULL and for what is no array. */
size_t json_array_length(json_object *o);

/* Adds to object o; 0 or -ENOMEM. set() takes ownership of value. A NULL string is left out. */
int json_set(json_object *o, const char *key, json_object *value);
int json_set_string(json_object *o, const char *key, const char *value);
int json_set_int(json_object *o, const char *key, int64_t value);

/* New, empty members of o; *ret is borrowed. 0 or -ENOMEM. */
int json_add_array(json_object *o, const char *key, json_object **ret);
int json_add_object(json_object *o, const char *key, json_object **ret);

/* A new array as member of o, with one new, empty object in it; *ret_item, that one, is borrowed. 0
 * or -ENOMEM. */
int json_add_array_of_one(json_object *o, const char *key, json_object **ret_item);

/* Appends to an array; 0 or -ENOMEM. The value is taken in every case; a NULL one means out of
 * memory. json_append_object() appends a new, empty object; *ret is borrowed. */
int json_append(json_object *array, json_object *value);
int json_append_object(json_object *array, json_object **ret);

/* Several members at once:
 *
 *   r = json_set_fields(o, JSON_STRING("name", p->name), JSON_INT("size", p->size),
 *                   JSON_TAKE("files", files));
 *
 * Returns 0 or -ENOMEM. A NULL string or object is left out; objects given with JSON_TAKE are taken
 * in every case, also where something before them failed. */
typedef struct JsonField {
        const char *key;
        enum {
                JSON_FIELD_STRING,
                JSON_FIELD_INT,
                JSON_FIELD_BOOL,
                JSON_FIELD_DOUBLE,
                JSON_FIELD_TAKE
        } kind;
        union {
                const char *string;
                int64_t integer;
                bool boolean;
                double real;
                json_object *object;
        };
} JsonField;
#define JSON_STRING(k, v) ((JsonField) { .key = (k), .kind = JSON_FIELD_STRING, .string = (v) })
#define JSON_INT(k, v) \
        ((JsonField) { .key = (k), .kind = JSON_FIELD_INT, .integer = (int64_t) (v) })
#define JSON_BOOL(k, v) ((JsonField) { .key = (k), .kind = JSON_FIELD_BOOL, .boolean = (v) })
#define JSON_DOUBLE(k, v) ((JsonField) { .key = (k), .kind = JSON_FIELD_DOUBLE, .real = (v) })
#define JSON_TAKE(k, v) ((JsonField) { .key = (k), .kind = JSON_FIELD_TAKE, .object = (v) })
int json_set_field_list(json_object *o, const JsonField *fields, size_t n);
#define json_set_fields(o, ...)                                         \
        ({                                                              \
                const JsonField _fields[] = { __VA_ARGS__ };            \
                json_set_field_list((o), _fields, ELEMENTSOF(_fields)); \
        })

/* Each text in it, at any depth, as text_disarm() has it; names of keys stay. 0 or -ENOMEM. */
int json_disarm(json_object *o, bool lines);

/* All of it on one line; and as text, where a string is what it says. Borrowed; NULL on out of
 * memory. */
const char *json_line(json_object *o);
const char *json_as_text(json_object *o);

/* On standard output, one member a line; `more` is 0 or JSON_C_TO_STRING_SPACED, a blank behind
 * each colon. */
void json_print(json_object *o, int more);

/* Writes pretty JSON with a final newline, durably. */
int json_save(const char *path, json_object *o, mode_t mode);
