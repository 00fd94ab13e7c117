/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Defaults and validation of a merged configuration, both driven by the table in config-schema.c.
 * Every fault is reported in one go, each with the layer that brought it. */

#include "contract/config.h"
#include "contract/config-schema.h"

#include <stdarg.h>

/* The layer to blame for what is wrong at path: the one that gave it, or gave something around or
 * in it. */
static const char *blame(const Config *c, const char *path) {
        _cleanup_free_ char *p = strdup(path);

        while (p && *p) {
                size_t n = strlen(p);
                const char *source = json_get_string(c->sources, p);

                if (source)
                        return source;
                json_object_object_foreach (c->sources, key, value)
                        if (strncmp(key, p, n) == 0 && key[n] == '.' &&
                                        !streq(json_object_get_string(value), "default"))
                                return json_object_get_string(value);
                char *dot = strrchr(p, '.'), *bracket = strrchr(p, '[');
                char *cut = dot > bracket ? dot : bracket;
                if (!cut)
                        break;
                *cut = '\0';
        }
        return "configuration";
}

static int complain(Config *c, const char *path, const char *format, ...) _printf_(3, 4);

static int complain(Config *c, const char *path, const char *format, ...) {
        char text[400];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        return strv_extendf(&c->errors, "%s: %s: %s", blame(c, path), path, text);
}

/* Edits (insert, delete, replace) from a to b; rows of the usual table, one at a time. */
static unsigned distance(const char *a, const char *b) {
        unsigned row[64];
        size_t n = strlen(b);

        if (n >= ELEMENTSOF(row))
                return UINT32_MAX;
        for (size_t j = 0; j <= n; j++)
                row[j] = (unsigned) j;
        for (size_t i = 1; a[i - 1]; i++) {
                unsigned diagonal = row[0];

                row[0] = (unsigned) i;
                for (size_t j = 1; j <= n; j++) {
                        unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);

                        diagonal = row[j];
                        row[j] = MIN(replaced, MIN(row[j], row[j - 1]) + 1);
                }
        }
        return row[n];
}

/* The known key of the section `pattern` that is nearest to a mistyped one, or NULL. */
static const char *suggest(const char *pattern, const char *key) {
        const char *best = NULL;
        unsigned best_distance = 4;
        size_t n = strlen(pattern);

        for (size_t i = 0; i < config_keys_count; i++) {
                const char *p = config_keys[i].path, *last;

                if (n > 0 && (strncmp(p, pattern, n) != 0 || p[n] != '.'))
                        continue;
                last = n > 0 ? p + n + 1 : p;
                if (strpbrk(last, ".[*"))
                        continue;
                unsigned d = distance(key, last);
                if (d < best_distance) {
                        best = last;
                        best_distance = d;
                }
        }
        return best;
}

static const char *const type_names[] = {
        [CONFIG_OBJECT] = "an object { … }",
        [CONFIG_LIST] = "a list [ … ] of objects",
        [CONFIG_STRING] = "a string",
        [CONFIG_STRINGS] = "a list of strings",
        [CONFIG_BOOL] = "true or false",
        [CONFIG_INT] = "a whole number",
        [CONFIG_SIZE] = "a size such as 65536 or \"64K\"",
        [CONFIG_DURATION] = "a time such as 30 (seconds) or \"5min\"",
        [CONFIG_MAP] = "an object of names and plain values",
};

static bool type_fits(const ConfigKey *k, json_object *v) {
        static const json_type types[] = {
                [CONFIG_OBJECT] = json_type_object,
                [CONFIG_LIST] = json_type_array,
                [CONFIG_STRING] = json_type_string,
                [CONFIG_STRINGS] = json_type_array,
                [CONFIG_BOOL] = json_type_boolean,
                [CONFIG_INT] = json_type_int,
                [CONFIG_MAP] = json_type_object,
        };
        if (k->type == CONFIG_SIZE || k->type == CONFIG_DURATION)
                return json_object_is_type(v, json_type_int) ||
                       json_object_is_type(v, json_type_string);
        return json_object_is_type(v, types[k->type]);
}

static bool choice_fits(const char *choices, const char *value) {
        _cleanup_strv_free_ char **l = strv_split(choices, "|");
        return strv_contains(l, value);
}

static int check_object(Config *c, json_object *o, const char *pattern, const char *path,
                char *const *free_sections);

static int check_numbers(Config *c, const ConfigKey *k, json_object *v, const char *path) {
        uint64_t n = 0;
        int64_t value;
        int r = 0;

        if (k->type == CONFIG_SIZE)
                r = parse_size(v, &n);
        else if (k->type == CONFIG_DURATION) {
                r = parse_duration(v, &n);
                n /= USEC_PER_MSEC;
        }
        if (r < 0)
                return complain(c, path, "must be %s", type_names[k->type]);
        value = k->type == CONFIG_INT ? json_object_get_int64(v) : (int64_t) n;
        if ((k->min || k->max) && (value < k->min || value > k->max)) {
                const char *unit = k->type == CONFIG_DURATION ? " ms"
                                   : k->type == CONFIG_SIZE   ? " bytes"
                                                              : "";
                return complain(c, path, "must be from %lld to %lld%s", (long long) k->min,
                                (long long) k->max, unit);
        }
        return 0;
}

static int check_value(Config *c, const ConfigKey *k, json_object *v, const char *path,
                char *const *free_sections) {
        const char *wrong;
        int r;

        if (!type_fits(k, v))
                return complain(c, path, "must be %s, not %s", type_names[k->type],
                                v ? json_type_to_name(json_object_get_type(v)) : "null");
        switch (k->type) {
        case CONFIG_OBJECT:
                return check_object(c, v, k->path, path, free_sections);
        case CONFIG_STRING:
                if (k->choices && !choice_fits(k->choices, json_object_get_string(v)))
                        return complain(c, path, "must be one of %s", k->choices);
                wrong = k->check ? k->check(json_object_get_string(v)) : NULL;
                if (strlen(json_object_get_string(v)) != (size_t) json_object_get_string_len(v))
                        wrong = "must not hold NUL characters";
                return wrong ? complain(c, path, "%s", wrong) : 0;
        case CONFIG_INT:
        case CONFIG_SIZE:
        case CONFIG_DURATION:
                return check_numbers(c, k, v, path);
        case CONFIG_MAP:
                json_object_object_foreach (v, key, value)
                        if (!value || json_object_is_type(value, json_type_object) ||
                                        json_object_is_type(value, json_type_array) ||
                                        strpbrk(key, "\n=") ||
                                        strchr(json_object_get_string(value), '\n')) {
                                r = complain(c, path, "\"%s\" must have a plain value of one line",
                                                key);
                                if (r < 0)
                                        return r;
                        }
                return 0;
        case CONFIG_LIST:
        case CONFIG_STRINGS:
                for (size_t i = 0; i < json_object_array_length(v); i++) {
                        json_object *item = json_object_array_get_idx(v, i);
                        _cleanup_free_ char *p = strf("%s[%zu]", path, i),
                                            *inner = strf("%s[]", k->path);

                        if (!p || !inner)
                                return -ENOMEM;
                        if (k->type == CONFIG_LIST)
                                r = json_object_is_type(item, json_type_object)
                                                    ? check_object(c, item, inner, p, free_sections)
                                                    : complain(c, p, "must be an object { … }");
                        else if (!json_object_is_type(item, json_type_string))
                                r = complain(c, p, "must be a string");
                        else
                                r = k->check && (wrong = k->check(json_object_get_string(item)))
                                                    ? complain(c, p, "%s", wrong)
                                                    : 0;
                        if (r < 0)
                                return r;
                }
                return 0;
        case CONFIG_BOOL:
                return 0;
        }
        return 0;
}

static const ConfigKey *row_of(const char *pattern, const char *key) {
        _cleanup_free_ char *exact = config_child_path(pattern, key),
                            *any = config_child_path(pattern, "*");
        const ConfigKey *k = exact && !strpbrk(key, ".[*") ? config_key_find(exact) : NULL;

        return k || !any ? k : config_key_find(any);
}

static int check_object(Config *c, json_object *o, const char *pattern, const char *path,
                char *const *free_sections) {
        int r;

        json_object_object_foreach (o, key, value) {
                const ConfigKey *k = row_of(pattern, key);
                _cleanup_free_ char *p = config_child_path(path, key);

                if (!p)
                        return -ENOMEM;
                if (!k && isempty(pattern) && strv_contains(free_sections, key))
                        continue;
                if (!k) {
                        const char *near = suggest(pattern, key);
                        r = complain(c, p, "unknown key%s%s%s", near ? "; did you mean \"" : "",
                                        strempty(near), near ? "\"?" : "");
                } else
                        r = check_value(c, k, value, p, free_sections);
                if (r < 0)
                        return r;
        }

        size_t n = strlen(pattern);
        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];

                if (!k->required || strncmp(k->path, pattern, n) != 0 || k->path[n] != '.' ||
                                strpbrk(k->path + n + 1, ".["))
                        continue;
                if (json_object_object_get_ex(o, k->path + n + 1, NULL))
                        continue;
                r = complain(c, path, "\"%s\" is missing: %s", k->path + n + 1, k->meaning);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Gives the section o, whose rows start with pattern, the defaults it lacks. */
static int fill_object(Config *c, json_object *o, const char *pattern, const char *path) {
        size_t n = strlen(pattern);
        int r;

        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *name = n > 0 ? k->path + n + 1 : k->path;
                json_object *v;

                if (n > 0 && (strncmp(k->path, pattern, n) != 0 || k->path[n] != '.'))
                        continue;
                if (strpbrk(name, ".[*"))
                        continue;

                _cleanup_free_ char *p = config_child_path(path, name);
                if (!p)
                        return -ENOMEM;
                v = json_get(o, name);
                if (!v && k->fallback && !json_object_object_get_ex(o, name, NULL)) {
                        v = json_tokener_parse(k->fallback);
                        r = json_set(o, name, v);
                        if (r < 0)
                                return r;
                        if (k->type != CONFIG_OBJECT && !strchr(p, '[')) {
                                r = json_set_string(c->sources, p, "default");
                                if (r < 0)
                                        return r;
                        }
                }
                if (k->type == CONFIG_OBJECT && json_object_is_type(v, json_type_object)) {
                        r = fill_object(c, v, k->path, p);
                        if (r < 0)
                                return r;
                }
                if (k->type == CONFIG_LIST && json_object_is_type(v, json_type_array))
                        for (size_t j = 0; j < json_object_array_length(v); j++) {
                                json_object *item = json_object_array_get_idx(v, j);
                                _cleanup_free_ char *inner = strf("%s[]", k->path),
                                                    *q = strf("%s[%zu]", p, j);

                                if (!inner || !q)
                                        return -ENOMEM;
                                if (!json_object_is_type(item, json_type_object))
                                        continue;
                                r = fill_object(c, item, inner, q);
                                if (r < 0)
                                        return r;
                        }
        }
        return 0;
}

/* What no single row can say. */
static int check_together(Config *c) {
        json_object *identity = json_get(c->values, "identity"), *uris = json_get(identity, "uri");
        json_object *stripe = json_get(json_get(c->values, "scratch"), "stripe_size");
        uint64_t bytes;
        int r;

        if (json_object_is_type(uris, json_type_array) &&
                        !json_get_bool(identity, "starttls", true) &&
                        !json_get_bool(identity, "allow_plain", false))
                for (size_t i = 0; i < json_object_array_length(uris); i++) {
                        const char *uri =
                                        json_object_get_string(json_object_array_get_idx(uris, i));

                        if (uri && startswith(uri, "ldap://")) {
                                r = complain(c, "identity.uri",
                                                "%s would send passwords in the clear: use ldaps://, set \"starttls\": true, or say \"allow_plain\": true",
                                                uri);
                                if (r < 0)
                                        return r;
                        }
                }
        json_object *limits = json_get(json_get(c->values, "rdma"), "counter_limits");
        if (json_object_is_type(limits, json_type_object)) {
                json_object_object_foreach (limits, key, value) {
                        if (json_object_is_type(value, json_type_int))
                                continue;
                        r = complain(c, "rdma.counter_limits", "\"%s\" must be a whole number",
                                        key);
                        if (r < 0)
                                return r;
                }
        }
        if (stripe && parse_size(stripe, &bytes) >= 0 && (bytes & (bytes - 1)) != 0) {
                r = complain(c, "scratch.stripe_size", "must be a power of two");
                if (r < 0)
                        return r;
        }
        return 0;
}

int config_finish(Config *c, char *const *free_sections) {
        int r;

        r = fill_object(c, c->values, "", "");
        if (r < 0)
                return r;
        r = check_object(c, c->values, "", "", free_sections);
        if (r < 0)
                return r;
        return check_together(c);
}
