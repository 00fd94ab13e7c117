/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Defaults of a merged configuration, from the table in config-schema.c. */

#include "contract/config-defaults.h"
#include "contract/config-schema.h"

static int fill_object(Config *c, json_object *o, const char *pattern, const char *path);

/* Sets the row's default where the section does not have the key at all. */
static int fill_value(
                Config *c, const ConfigKey *k, json_object *o, const char *key, const char *path) {
        int r;

        if (!k->fallback || json_object_object_get_ex(o, key, NULL))
                return 0;

        r = json_set(o, key, json_tokener_parse(k->fallback));
        if (r < 0)
                return r;
        if (k->type == CONFIG_OBJECT || strchr(path, '['))
                return 0;
        return json_set_string(c->sources, path, "default");
}

static int fill_list(Config *c, const ConfigKey *k, json_object *list, const char *path) {
        _cleanup_free_ char *pattern = strf("%s[]", k->path);
        int r;

        if (!pattern)
                return -ENOMEM;

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *p = strf("%s[%zu]", path, i);

                if (!p)
                        return -ENOMEM;
                if (!json_object_is_type(item, json_type_object))
                        continue;
                r = fill_object(c, item, pattern, p);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The section o, whose rows start with pattern. */
static int fill_object(Config *c, json_object *o, const char *pattern, const char *path) {
        int r;

        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *key = config_key_in(k, pattern);

                if (!key)
                        continue;
                _cleanup_free_ char *p = config_child_path(path, key);
                if (!p)
                        return -ENOMEM;

                r = fill_value(c, k, o, key, p);
                if (r < 0)
                        return r;

                json_object *v = json_get(o, key);
                if (k->type == CONFIG_OBJECT && json_object_is_type(v, json_type_object))
                        r = fill_object(c, v, k->path, p);
                else if (k->type == CONFIG_LIST && json_object_is_type(v, json_type_array))
                        r = fill_list(c, k, v, p);
                if (r < 0)
                        return r;
        }
        return 0;
}

int config_fill(Config *c) {
        return fill_object(c, c->values, "", "");
}
