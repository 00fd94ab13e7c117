/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists of strings, from JSON and to it. */

#include "shared/json-strv.h"
#include "shared/strv.h"

json_object *json_from_strv(char *const *l) {
        _cleanup_json_ json_object *list = json_object_new_array();

        STRV_FOREACH (s, l) {
                json_object *item = json_object_new_string(*s);

                if (!list || !item || json_object_array_add(list, item) < 0) {
                        json_object_put(item);
                        return NULL;
                }
        }
        return TAKE_PTR(list);
}

int json_to_strv(json_object *list, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        for (size_t i = 0; i < json_array_length(list); i++) {
                const char *text = json_object_get_string(json_object_array_get_idx(list, i));

                r = strv_extend(&l, text ? text : "null");
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(l);
        return 0;
}

int json_get_strings(json_object *o, const char *key, char ***l) {
        _cleanup_strv_free_ char **more = NULL;
        int r;

        r = json_to_strv(json_get(o, key), &more);
        return r < 0 ? r : strv_extend_strv(l, more);
}
