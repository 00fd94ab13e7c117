/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One JSON object over another: recipes over what they extend, layers of node configuration. */

#include "recipe/merge.h"
#include "recipe/schema.h"
#include "shared/strv.h"
#include "shared/suggest.h"

static int set_copy(json_object *into, const char *key, json_object *value) {
        json_object *copy = NULL;

        if (value && json_object_deep_copy(value, &copy, NULL) < 0)
                return -ENOMEM;
        if (json_object_object_add(into, key, copy) < 0) { /* NULL is JSON's null */
                json_object_put(copy);
                return -ENOMEM;
        }
        return 0;
}

/* The object or list at `key`, made where there is none of that type. Borrowed; NULL on out of
 * memory. */
static json_object *get_or_make(json_object *into, const char *key, enum json_type type) {
        json_object *value = json_get(into, key);

        if (json_object_is_type(value, type))
                return value;
        value = type == json_type_array ? json_object_new_array() : json_object_new_object();
        return json_set(into, key, value) < 0 ? NULL : value;
}

static ssize_t find_string(json_object *list, const char *text) {
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);

                if (json_object_is_type(item, json_type_string) &&
                                streq(json_object_get_string(item), text))
                        return (ssize_t) i;
        }
        return -1;
}

static void nothing_to_remove(Problems *p, const char *file, const char *path, json_object *o,
                const char *key, const char *name) {
        _cleanup_strv_free_ char **there = NULL;
        _cleanup_free_ char *suggestion = NULL;

        if (schema_get_strv(o, key, &there) >= 0)
                suggestion = suggest_text(name, there);
        if (suggestion)
                problems_add(p, file, path, "there is no \"%.60s\" to take away%s", name,
                                suggestion);
        else
                p->oom = true;
}

/* The lists of a recipe hold strings only. */
static int merge_list(Problems *p, const char *file, const char *path, json_object *into,
                const char *key, json_object *from) {
        json_object *list = get_or_make(into, key, json_type_array);

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(from); i++) {
                json_object *item = json_object_array_get_idx(from, i);
                const char *text = item ? json_object_get_string(item) : NULL;

                if (!text)
                        continue; /* was wrong, and has been reported */
                if (*text == '-') {
                        ssize_t at = find_string(list, text + 1);
                        _cleanup_free_ char *here = strf("%s[%zu]", path, i);

                        if (!here)
                                return -ENOMEM;
                        if (at >= 0)
                                json_object_array_del_idx(list, (size_t) at, 1);
                        else
                                nothing_to_remove(p, file, here, into, key, text + 1);
                } else if (find_string(list, text) < 0) {
                        json_object *copy = json_object_new_string(text);
                        if (!copy || json_object_array_add(list, copy) < 0) {
                                json_object_put(copy);
                                return -ENOMEM;
                        }
                }
        }
        return 0;
}

static int merge_free_list(json_object *into, const char *key, json_object *from) {
        json_object *list = get_or_make(into, key, json_type_array);

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(from); i++) {
                json_object *item = json_object_array_get_idx(from, i), *copy = NULL;
                const char *text = json_object_is_type(item, json_type_string)
                                                   ? json_object_get_string(item)
                                                   : NULL;
                ssize_t at = text && *text == '-' ? find_string(list, text + 1) : -1;

                if (at >= 0) {
                        json_object_array_del_idx(list, (size_t) at, 1);
                        continue;
                }
                if (item && json_object_deep_copy(item, &copy, NULL) < 0)
                        return -ENOMEM;
                if (json_object_array_add(list, copy) < 0) {
                        json_object_put(copy);
                        return -ENOMEM;
                }
        }
        return 0;
}

/* p NULL: inside "node". */
static int merge_level(Problems *p, const char *file, const char *path, json_object *into,
                json_object *from) {
        json_object_object_foreach (from, key, value) {
                _cleanup_free_ char *here = schema_path(path, key);
                json_object *object;
                int r;

                if (!here)
                        return -ENOMEM;
                if (streq(here, "$.extends"))
                        continue;
                switch (json_object_get_type(value)) {
                case json_type_object:
                        object = get_or_make(into, key, json_type_object);
                        if (!object)
                                return -ENOMEM;
                        r = merge_level(streq(here, "$.node") ? NULL : p, file, here, object,
                                        value);
                        break;
                case json_type_array:
                        r = p ? merge_list(p, file, here, into, key, value)
                              : merge_free_list(into, key, value);
                        break;
                default:
                        r = set_copy(into, key, value);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int merge_recipe(Problems *p, const char *file, json_object *into, json_object *from) {
        return merge_level(p, file, "$", into, from);
}

int merge_layer(json_object *into, json_object *from) {
        json_object_object_foreach (from, key, value) {
                int r = 0;

                if (json_object_is_type(value, json_type_null))
                        json_object_object_del(into, key);
                else if (json_object_is_type(value, json_type_object)) {
                        json_object *object = get_or_make(into, key, json_type_object);
                        r = object ? merge_layer(object, value) : -ENOMEM;
                } else
                        r = set_copy(into, key, value);
                if (r < 0)
                        return r;
        }
        return 0;
}
