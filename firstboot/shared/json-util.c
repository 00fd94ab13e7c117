/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What json-c's objects are asked, set and written with. */

#include "shared/json-util.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

json_object *json_get(json_object *o, const char *key) {
        json_object *value = NULL;

        if (!o || !json_object_is_type(o, json_type_object))
                return NULL;
        json_object_object_get_ex(o, key, &value);
        return value;
}

const char *json_get_string(json_object *o, const char *key) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_string) ? json_object_get_string(value)
                                                                     : NULL;
}

int64_t json_get_int(json_object *o, const char *key, int64_t fallback) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
                                                                  : fallback;
}

bool json_get_bool(json_object *o, const char *key, bool fallback) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_boolean)
                               ? json_object_get_boolean(value)
                               : fallback;
}

size_t json_array_length(json_object *o) {
        return json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
}

int json_set(json_object *o, const char *key, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_object_add(o, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int json_set_string(json_object *o, const char *key, const char *value) {
        return value ? json_set(o, key, json_object_new_string(value)) : 0;
}

int json_set_int(json_object *o, const char *key, int64_t value) {
        return json_set(o, key, json_object_new_int64(value));
}

static int add_child(json_object *o, const char *key, json_object *child, json_object **ret) {
        int r = json_set(o, key, child);

        if (r < 0)
                return r;
        *ret = child;
        return 0;
}

int json_add_array(json_object *o, const char *key, json_object **ret) {
        return add_child(o, key, json_object_new_array(), ret);
}

int json_add_object(json_object *o, const char *key, json_object **ret) {
        return add_child(o, key, json_object_new_object(), ret);
}

int json_append(json_object *array, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_array_add(array, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int json_append_object(json_object *array, json_object **ret) {
        json_object *o = json_object_new_object();
        int r = json_append(array, o);

        if (r < 0)
                return r;
        *ret = o;
        return 0;
}

int json_add_array_of_one(json_object *o, const char *key, json_object **ret_item) {
        json_object *array = NULL;
        int r = json_add_array(o, key, &array);

        return r < 0 ? r : json_append_object(array, ret_item);
}

static int set_field(json_object *o, const JsonField *f) {
        switch (f->kind) {
        case JSON_FIELD_STRING:
                return json_set_string(o, f->key, f->string);
        case JSON_FIELD_INT:
                return json_set_int(o, f->key, f->integer);
        case JSON_FIELD_BOOL:
                return json_set(o, f->key, json_object_new_boolean(f->boolean));
        case JSON_FIELD_DOUBLE:
                return json_set(o, f->key, json_object_new_double(f->real));
        case JSON_FIELD_TAKE:
                return f->object ? json_set(o, f->key, f->object) : 0;
        }
        return -EINVAL;
}

static void drop_fields(const JsonField *fields, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (fields[i].kind == JSON_FIELD_TAKE)
                        json_object_put(fields[i].object);
}

int json_set_field_list(json_object *o, const JsonField *fields, size_t n) {
        if (!o) {
                drop_fields(fields, n);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
                int r = set_field(o, fields + i);

                if (r < 0) { /* a failed one is dropped by json_set() */
                        drop_fields(fields + i + 1, n - i - 1);
                        return r;
                }
        }
        return 0;
}

static int disarm_string(json_object *o, bool lines) {
        _cleanup_free_ char *text = strdup(json_object_get_string(o));

        if (!text)
                return -ENOMEM;
        text_disarm(text, lines);
        return json_object_set_string(o, text) ? 0 : -ENOMEM;
}

int json_disarm(json_object *o, bool lines) {
        if (json_object_is_type(o, json_type_string))
                return disarm_string(o, lines);
        for (size_t i = 0; i < json_array_length(o); i++) {
                int r = json_disarm(json_object_array_get_idx(o, i), lines);

                if (r < 0)
                        return r;
        }
        if (!json_object_is_type(o, json_type_object))
                return 0;
        json_object_object_foreach (o, key, value) {
                int r = json_disarm(value, lines);

                (void) key;
                if (r < 0)
                        return r;
        }
        return 0;
}

const char *json_line(json_object *o) {
        return json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

const char *json_as_text(json_object *o) {
        return json_object_is_type(o, json_type_string) ? json_object_get_string(o) : json_line(o);
}

void json_print(json_object *o, int more) {
        puts(json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE | more));
}

int json_save(const char *path, json_object *o, mode_t mode) {
        _cleanup_free_ char *text = NULL;
        const int format = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                           JSON_C_TO_STRING_NOSLASHESCAPE;
        const char *json = json_object_to_json_string_ext(o, format);

        if (!json || !(text = strf("%s\n", json)))
                return -ENOMEM;
        return write_file_durable(path, text, strlen(text), mode);
}
