/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From rows with paths ("mounts[].what", "steps.*.timeout") to nested objects. */

#include "contract/json-schema.h"
#include "contract/config-rules.h"
#include "contract/config-schema.h"
#include "shared/strv.h"

#define CONTROL "[\x01-\x1f]"
#define NOT_PLAIN_PATH "/[.][.](/|$)|//|[\n\r]"
#define SYSTEM_FOLDER "^/(bin|boot|dev|etc|lib|lib32|lib64|proc|run|sbin|sys|usr|var)/?$"
#define PORT \
        "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

static const struct {
        const char *(*check)(const char *value);
        StringPattern pattern;
} patterns[] = {
        { check_absolute, { "^/", NOT_PLAIN_PATH, 0 } },
        { check_mount_point, { "^/.", NOT_PLAIN_PATH, 0 } },
        { check_mount_over, { "^/.", NOT_PLAIN_PATH "|" SYSTEM_FOLDER, 0 } },
        { check_line, { NULL, CONTROL, 0 } },
        { check_hostname, { "^[A-Za-z0-9][A-Za-z0-9.-]*$", NULL, 253 } },
        { check_slurm_node, { "^[A-Za-z0-9][A-Za-z0-9.-]*$", "^[Aa][Ll][Ll]$", 253 } },
        { check_timezone, { "^[^/]", "[.][.]|" CONTROL, 0 } },
        { check_vg_uuid, { "^[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}$", NULL, 0 } },
        { check_lvm_name, { "^[A-Za-z0-9+_.-]+$", "^-|^[.][.]?$", 64 } },
        { check_label, { "^[A-Za-z0-9_.-]+$", NULL, 12 } },
        { check_options, { NULL, " |" CONTROL, 0 } },
        { check_what, { ":", "[ \t\n]", 0 } },
        { check_ldap_uri, { "^ldaps?://", "[ \t\n,]", 0 } },
        { check_url, { "^https?://", " |" CONTROL, 0 } },
        { check_user, { ".", "^-|:| |" CONTROL, 255 } },
        { check_controller, { "^[A-Za-z0-9][A-Za-z0-9.-]*(:" PORT ")?$", NULL, 0 } },
        { check_word, { ".", "[ \"'\\\\]|" CONTROL, 0 } },
        { check_xid, { "^[0-9]{1,4}$", NULL, 0 } },
        { check_ca_hash, { "^sha256:[0-9A-Fa-f]{64}$", NULL, 0 } },
        { check_join_token, { "^[a-z0-9]{6}[.][a-z0-9]{16}$", NULL, 0 } },
        { check_node_name, { "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", NULL, 253 } },
        { check_gpu_fact, { "^[a-z_]+$", NULL, 0 } },
};

const StringPattern *config_pattern_find(const char *(*check)(const char *value)) {
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                if (patterns[i].check == check)
                        return &patterns[i].pattern;
        return NULL;
}

static int section_json(const char *pattern, json_object *o);

/* The key that a row stands for in the section `pattern`, or NULL where it belongs elsewhere. */
static const char *key_in(const ConfigKey *k, const char *pattern) {
        size_t n = strlen(pattern);
        const char *key = k->path;

        if (n > 0) {
                if (strncmp(k->path, pattern, n) != 0 || k->path[n] != '.')
                        return NULL;
                key = k->path + n + 1;
        }
        return strpbrk(key, ".[") ? NULL : key;
}

static int choices_json(const char *choices, json_object *o) {
        _cleanup_strv_free_ char **words = strv_split(choices, "|");
        json_object *list;
        int r;

        r = words ? json_add_array(o, "enum", &list) : -ENOMEM;
        if (r < 0)
                return r;
        STRV_FOREACH (w, words) {
                r = json_append(list, json_object_new_string(*w));
                if (r < 0)
                        return r;
        }
        return 0;
}

int string_pattern_to_json(const StringPattern *p, json_object *o) {
        json_object * not;
        int r;

        r = json_set_fields(o, JSON_STRING("type", "string"),
                        JSON_STRING("pattern", p ? p->pattern : NULL));
        if (r < 0)
                return r;
        if (p && p->max_length > 0) {
                r = json_set_int(o, "maxLength", p->max_length);
                if (r < 0)
                        return r;
        }
        if (!p || !p->no_pattern)
                return 0;
        r = json_add_object(o, "not", &not);
        return r < 0 ? r : json_set_string(not, "pattern", p->no_pattern);
}

static int string_json(const ConfigKey *k, json_object *o) {
        int r;

        r = string_pattern_to_json(k->check ? config_pattern_find(k->check) : NULL, o);
        if (r < 0)
                return r;
        return k->choices ? choices_json(k->choices, o) : 0;
}

static int integer_json(const ConfigKey *k, int64_t unit, json_object *o) {
        int r = json_set_string(o, "type", "integer");

        if (r < 0)
                return r;
        if (k->min == 0 && k->max == 0)
                return unit == 0 ? 0 : json_set_int(o, "minimum", 0);
        unit = MAX(unit, 1);
        return json_set_fields(o, JSON_INT("minimum", (k->min + unit - 1) / unit),
                        JSON_INT("maximum", k->max / unit));
}

/* A number, or one with a unit; limits are those of the number. */
static int suffixed_json(const ConfigKey *k, int64_t unit, const char *pattern, json_object *o) {
        json_object *any, *number, *text;
        int r;

        r = json_add_array(o, "anyOf", &any);
        if (r < 0)
                return r;
        r = json_append_object(any, &number);
        if (r < 0)
                return r;
        r = integer_json(k, unit, number);
        if (r < 0)
                return r;
        r = json_append_object(any, &text);
        if (r < 0)
                return r;
        return json_set_fields(
                        text, JSON_STRING("type", "string"), JSON_STRING("pattern", pattern));
}

/* Names to plain values of one line. */
static int map_json(json_object *o) {
        json_object *names, *value, *types, *not;
        int r;

        r = json_set_string(o, "type", "object");
        if (r < 0)
                return r;
        r = json_add_object(o, "propertyNames", &names);
        if (r < 0)
                return r;
        r = json_set_string(names, "pattern", "^[^\n=]*$");
        if (r < 0)
                return r;
        r = json_add_object(o, "additionalProperties", &value);
        if (r < 0)
                return r;
        r = json_add_array(value, "type", &types);
        if (r < 0)
                return r;
        STRV_FOREACH (t, ARGV("string", "number", "boolean")) {
                r = json_append(types, json_object_new_string(*t));
                if (r < 0)
                        return r;
        }
        r = json_add_object(value, "not", &not);
        if (r < 0)
                return r;
        return json_set_fields(not, JSON_STRING("type", "string"), JSON_STRING("pattern", "\n"));
}

static int list_json(const ConfigKey *k, json_object *o) {
        _cleanup_free_ char *inner = strf("%s[]", k->path);
        json_object *items;
        int r;

        r = inner ? json_set_string(o, "type", "array") : -ENOMEM;
        if (r < 0)
                return r;
        r = json_add_object(o, "items", &items);
        if (r < 0)
                return r;
        return k->type == CONFIG_STRINGS ? string_json(k, items) : section_json(inner, items);
}

static int value_json(const ConfigKey *k, json_object *o) {
        switch (k->type) {
        case CONFIG_OBJECT:
                return section_json(k->path, o);
        case CONFIG_LIST:
        case CONFIG_STRINGS:
                return list_json(k, o);
        case CONFIG_STRING:
                return string_json(k, o);
        case CONFIG_BOOL:
                return json_set_string(o, "type", "boolean");
        case CONFIG_INT:
                return integer_json(k, 0, o);
        case CONFIG_SIZE:
                return suffixed_json(k, 1, "^[0-9]+[KMGT]?$", o);
        case CONFIG_DURATION: /* limits are in milliseconds, a plain number counts seconds */
                return suffixed_json(k, 1000, "^[0-9]+(ms|s|min|h)?$", o);
        case CONFIG_MAP:
                return map_json(o);
        }
        return 0;
}

static int row_json(const ConfigKey *k, json_object *o) {
        int r = json_set_string(o, "description", k->meaning);

        if (r < 0)
                return r;
        if (k->fallback && k->type != CONFIG_OBJECT) {
                r = json_set(o, "default", json_tokener_parse(k->fallback));
                if (r < 0)
                        return r;
        }
        return value_json(k, o);
}

static int section_json(const char *pattern, json_object *o) {
        _cleanup_json_ json_object *required = json_object_new_array();
        json_object *properties, *value;
        int r;

        r = required ? json_set_string(o, "type", "object") : -ENOMEM;
        if (r < 0)
                return r;
        r = json_add_object(o, "properties", &properties);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_BOOL("additionalProperties", false));
        if (r < 0)
                return r;

        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *key = key_in(k, pattern);

                if (!key)
                        continue;
                r = streq(key, "*") ? json_add_object(o, "additionalProperties", &value)
                                    : json_add_object(properties, key, &value);
                if (r < 0)
                        return r;
                r = row_json(k, value);
                if (r < 0)
                        return r;
                if (k->required) {
                        r = json_append(required, json_object_new_string(key));
                        if (r < 0)
                                return r;
                }
        }
        return json_object_array_length(required) == 0
                               ? 0
                               : json_set(o, "required", TAKE_PTR(required));
}

int config_json_schema(char *const *sections, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *properties, *section;
        int r;

        r = json_set_fields(o,
                        JSON_STRING("$schema", "https://json-schema.org/draft/2020-12/schema"),
                        JSON_STRING("title", "Node configuration of firstbootd"));
        if (r < 0)
                return r;
        r = section_json("", o);
        if (r < 0)
                return r;
        properties = json_get(o, "properties");
        STRV_FOREACH (s, sections) {
                r = json_add_object(properties, *s, &section);
                if (r < 0)
                        return r;
                r = json_set_string(section, "description", "What the site's own step reads.");
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(o);
        return 0;
}
