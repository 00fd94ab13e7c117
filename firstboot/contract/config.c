/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Layers laid over each other, with a note of where each value came from. */

#include "contract/config.h"
#include "contract/config-schema.h"
#include "contract/secrets.h"

Config *config_new(void) {
        Config *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->values = json_object_new_object();
        c->sources = json_object_new_object();
        c->instance = json_object_new_object();
        if (!c->values || !c->sources || !c->instance)
                return config_free(c);
        return c;
}

Config *config_free(Config *c) {
        if (!c)
                return NULL;
        json_putp(&c->values);
        json_putp(&c->sources);
        json_putp(&c->instance);
        strv_free(c->errors);
        strv_free(c->warnings);
        free(c);
        return NULL;
}

/* Forgets who gave `path` and everything below it. */
static void forget_sources(json_object *sources, const char *path) {
        size_t n = strlen(path);

        for (bool again = true; again;) {
                again = false;
                json_object_object_foreach (sources, key, value) {
                        (void) value;
                        if (strncmp(key, path, n) == 0 && (key[n] == '\0' || key[n] == '.')) {
                                json_object_object_del(sources, key);
                                again = true; /* the iterator is void now */
                                break;
                        }
                }
        }
}

/* Longer lists are compared with nothing: each entry is looked for in all of the other. */
#define COMPARED_MAX 1000

/* A mount is the same where its place is, any other entry where all of it is. */
static bool same_entry(json_object *a, json_object *b) {
        const char *where = json_get_string(a, "where");

        return where ? streq_ptr(where, json_get_string(b, "where")) : json_object_equal(a, b);
}

static bool has_entry(json_object *list, json_object *entry) {
        for (size_t i = 0; i < json_object_array_length(list); i++)
                if (same_entry(entry, json_object_array_get_idx(list, i)))
                        return true;
        return false;
}

/* Who wants one mount more writes a list of one, and has lost the home folders: entries of the old
 * list that the new one lacks are a warning. An empty list means it, and so do lists of plain
 * values, such as servers. */
static int warn_of_lost_entries(Config *c, json_object *old, json_object *list, const char *path,
                const char *source) {
        const char *before = json_get_string(c->sources, path), *first = NULL;
        _cleanup_free_ char *more = NULL;
        size_t n = 0, of;

        if (!json_object_is_type(old, json_type_array) ||
                        !json_object_is_type(list, json_type_array) ||
                        json_object_array_length(list) == 0)
                return 0;
        of = json_object_array_length(old);
        if (MAX(of, json_object_array_length(list)) > COMPARED_MAX)
                return 0;
        for (size_t i = 0; i < of; i++) {
                json_object *entry = json_object_array_get_idx(old, i);

                if (!json_object_is_type(entry, json_type_object) || has_entry(list, entry))
                        continue;
                if (n++ == 0)
                        first = json_get_string(entry, "where");
        }
        if (n == 0)
                return 0;
        if (!first)
                more = strf("%zu of its %zu entries", n, of);
        else
                more = n > 1 ? strf(" and %zu more", n - 1) : strdup("");
        if (!more)
                return -ENOMEM;
        return strv_extendf(&c->warnings,
                        "%s: %s: takes the place of the list of %s, without %s%s: lists are not put together; what is to stay is named in both",
                        source, path, strempty(before), strempty(first), more);
}

static int merge_object(Config *c, json_object *target, json_object *layer, const char *path,
                const char *source);

/* Anything but a section replaces what was there. */
static int replace_value(Config *c, json_object *target, const char *key, json_object *value,
                const char *path, const char *source) {
        int r;

        r = warn_of_lost_entries(c, json_get(target, key), value, path, source);
        if (r < 0)
                return r;
        forget_sources(c->sources, path);
        r = json_set(target, key, json_object_get(value));
        if (r < 0)
                return r;
        return json_set_string(c->sources, path, source);
}

static int merge_section(Config *c, json_object *target, const char *key, json_object *value,
                const char *path, const char *source) {
        json_object *old = json_get(target, key);
        int r;

        if (!json_object_is_type(old, json_type_object)) {
                forget_sources(c->sources, path);
                old = json_object_new_object();
                r = json_set(target, key, old);
                if (r < 0)
                        return r;
        }
        /* An empty section is there too, and somebody gave it. */
        if (json_object_object_length(value) == 0 && json_object_object_length(old) == 0) {
                r = json_set_string(c->sources, path, source);
                if (r < 0)
                        return r;
        }
        return merge_object(c, old, value, path, source);
}

static int merge_object(Config *c, json_object *target, json_object *layer, const char *path,
                const char *source) {
        int r;

        json_object_object_foreach (layer, key, value) {
                _cleanup_free_ char *p = config_child_path(path, key);

                if (!p)
                        return -ENOMEM;
                if (!value) { /* null: back to the default */
                        json_object_object_del(target, key);
                        forget_sources(c->sources, p);
                        continue;
                }

                r = json_object_is_type(value, json_type_object)
                                    ? merge_section(c, target, key, value, p, source)
                                    : replace_value(c, target, key, value, p, source);
                if (r < 0)
                        return r;
        }
        return 0;
}

int config_merge(Config *c, json_object *layer, const char *source) {
        if (!json_object_is_type(layer, json_type_object))
                return strv_extendf(&c->errors, "%s: must be an object { … }, not %s", source,
                                layer ? json_type_to_name(json_object_get_type(layer)) : "null");
        return merge_object(c, c->values, layer, "", source);
}

/* {KEY: value}; takes the value. NULL on out of memory. */
static json_object *wrap(const char *key, json_object *value) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (json_set_fields(o, JSON_TAKE(key, value)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

int config_set(Config *c, const char *path, json_object *value, const char *source) {
        _cleanup_json_ json_object *layer = value;
        _cleanup_free_ char *copy = strdup(path);

        if (!copy || !layer)
                return -ENOMEM;

        /* From the last part outwards, the value is wrapped into one section after the other. */
        for (char *dot; layer && (dot = strrchr(copy, '.')); *dot = '\0')
                layer = wrap(dot + 1, TAKE_PTR(layer));
        if (layer)
                layer = wrap(copy, TAKE_PTR(layer));
        return layer ? config_merge(c, layer, source) : -ENOMEM;
}

/* Faults are shown to everybody, and may quote what is wrong. NULL on out of memory. */
static json_object *faults(char *const *l, char *const *secrets) {
        _cleanup_json_ json_object *list = json_object_new_array();

        if (!list)
                return NULL;
        STRV_FOREACH (s, l)
                if (json_append(list, json_object_new_string(*s)) < 0)
                        return NULL;
        return redact_json(list, secrets) < 0 ? NULL : TAKE_PTR(list);
}

json_object *config_to_json(const Config *c) {
        _cleanup_json_ json_object *o = json_object_new_object(), *errors = NULL, *warnings = NULL;
        _cleanup_strv_free_ char **secrets = NULL;
        int r;

        r = config_secrets(c->values, c->sources, &secrets);
        if (r < 0)
                return NULL;
        errors = faults(c->errors, secrets);
        warnings = faults(c->warnings, secrets);
        if (!errors || !warnings)
                return NULL;
        r = json_set_fields(o, JSON_TAKE("errors", TAKE_PTR(errors)),
                        JSON_TAKE("warnings", TAKE_PTR(warnings)), JSON_BOOL("retry", c->retry),
                        JSON_TAKE("config", json_object_get(c->values)),
                        JSON_TAKE("sources", json_object_get(c->sources)),
                        JSON_TAKE("instance", json_object_get(c->instance)));
        return r < 0 ? NULL : TAKE_PTR(o);
}
