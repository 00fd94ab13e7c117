/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which values of a configuration are secret: by where they came from, by the table of keys, and in
 * what the table does not know by the name of the key. */

#include "contract/secrets.h"
#include "contract/config-schema.h"

#define SECRET_MIN 4
#define URL_REST_MIN 16 /* a shorter path is a path */

/* What is done with a value, by how secret it is. */
typedef enum Secrecy {
        OPEN,
        FROM_CREDENTIAL, /* a key of the table that is no secret in itself */
        SECRET,
} Secrecy;

static bool is_from_credential(json_object *sources, const char *path) {
        const char *source = json_get_string(sources, path);

        return source && startswith(source, "credential ");
}

static Secrecy secrecy_of(json_object *sources, const char *path, const char *key) {
        const ConfigKey *k = config_key_find(path);

        if (k && k->secret)
                return SECRET;
        if (is_from_credential(sources, path))
                return k ? FROM_CREDENTIAL : SECRET;
        return !k && name_sounds_secret(key) ? SECRET : OPEN;
}

static int mask_list(json_object *list, const char *path);

/* What becomes of a string that is not secret as a whole; *ret is NULL where it stays. */
static int mask_string(json_object *o, json_object **ret) {
        const char *text = json_object_get_string(o);
        _cleanup_free_ char *masked = mask_text(text);

        if (!masked)
                return -ENOMEM;
        if (streq(masked, text))
                return 0;
        *ret = json_object_new_string(masked);
        return *ret ? 0 : -ENOMEM;
}

static int mask_object(json_object *o, const char *path, json_object *sources);

static int mask_value(json_object *o, const char *path, json_object *sources) {
        if (json_object_is_type(o, json_type_object))
                return mask_object(o, path, sources);
        return json_object_is_type(o, json_type_array) ? mask_list(o, path) : 0;
}

/* One member of a section; 0 or -ENOMEM. */
static int mask_member(json_object *o, const char *key, json_object *value, const char *path,
                json_object *sources) {
        json_object *masked = NULL;
        int r = 0;

        if (value && secrecy_of(sources, path, key) != OPEN)
                masked = json_object_new_string("***");
        else if (json_object_is_type(value, json_type_string))
                r = mask_string(value, &masked);
        else
                return mask_value(value, path, sources);
        return r < 0 || !masked ? r : json_set(o, key, masked);
}

static int mask_object(json_object *o, const char *path, json_object *sources) {
        int r;

        json_object_object_foreach (o, key, value) {
                _cleanup_free_ char *p = config_child_path(path, key);

                if (!p)
                        return -ENOMEM;
                r = mask_member(o, key, value, p, sources);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* "--token", whose value is the next item. */
static bool announces_secret(json_object *item) {
        const char *text = json_object_is_type(item, json_type_string)
                                           ? json_object_get_string(item)
                                           : "";

        return text[0] == '-' && !strchr(text, '=') && name_sounds_secret(text);
}

/* A list as a whole has one source; its items are looked at by themselves. */
static int mask_list(json_object *list, const char *path) {
        _cleanup_free_ char *inside = strf("%s[]", path);
        bool announced = false;
        int r = inside ? 0 : -ENOMEM;

        for (size_t i = 0; i < json_object_array_length(list) && r >= 0; i++) {
                json_object *item = json_object_array_get_idx(list, i), *masked = NULL;
                bool next = announces_secret(item);

                if (announced)
                        masked = json_object_new_string("***");
                else if (json_object_is_type(item, json_type_string))
                        r = mask_string(item, &masked);
                else
                        r = mask_value(item, inside, NULL);
                if (masked && json_object_array_put_idx(list, i, masked) < 0)
                        return -ENOMEM;
                announced = next;
        }
        return r;
}

json_object *config_masked(json_object *values, json_object *sources) {
        _cleanup_json_ json_object *copy = NULL;

        if (!values)
                return json_object_new_object();
        if (json_object_deep_copy(values, &copy, NULL) < 0)
                return NULL;
        return mask_object(copy, "", sources) < 0 ? NULL : TAKE_PTR(copy);
}

static int collect(json_object *o, const char *path, json_object *sources, bool secret, char ***l);

/* What of a string is secret: all of it, or behind a URL's host and before it. */
static int collect_string(const char *text, bool secret, char ***l) {
        const char *url = strstr(text, "://"), *rest;
        size_t n;

        if (secret)
                return strlen(text) >= SECRET_MIN ? strv_extend(l, text) : 0;
        if (!url)
                return 0;

        url += 3;
        n = strcspn(url, "/?#");
        rest = url + n;
        for (const char *at = rest; at > url; at--)
                if (*at == '@' && at - url >= SECRET_MIN)
                        return strv_extendf(l, "%.*s", (int) (at - url), url);
        return strlen(rest) >= URL_REST_MIN ? strv_extend(l, rest) : 0;
}

static int collect_member(json_object *value, const char *path, json_object *sources,
                const char *key, bool secret, char ***l) {
        _cleanup_free_ char *p = config_child_path(path, key);

        if (!p)
                return -ENOMEM;
        return collect(value, p, sources, secret || secrecy_of(sources, p, key) == SECRET, l);
}

static int collect(json_object *o, const char *path, json_object *sources, bool secret, char ***l) {
        int r;

        if (json_object_is_type(o, json_type_string))
                return collect_string(json_object_get_string(o), secret, l);
        if (json_object_is_type(o, json_type_array)) {
                for (size_t i = 0; i < json_object_array_length(o); i++) {
                        r = collect(json_object_array_get_idx(o, i), path, NULL, secret, l);
                        if (r < 0)
                                return r;
                }
                return 0;
        }
        if (!json_object_is_type(o, json_type_object))
                return 0;
        json_object_object_foreach (o, key, value) {
                r = collect_member(value, path, sources, key, secret, l);
                if (r < 0)
                        return r;
        }
        return 0;
}

int config_secrets(json_object *values, json_object *sources, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        r = collect(values, "", sources, false, &l);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(l);
        return 0;
}
