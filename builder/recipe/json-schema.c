/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From tables to JSON Schema. The checks of strings are functions there; here each has a pattern
 * that says the same. */

#include "recipe/json-schema.h"
#include "recipe/formats.h"
#include "recipe/limits.h"
#include "recipe/patterns.h"
#include "recipe/recipe.h"

#define CONTROL "[\x01-\x1f\x7f]"
#define PLAIN_PATH "^[^/]+(/[^/]+)*$"
#define NOT_PLAIN "(^|/)[.][.]?(/|$)|" CONTROL
#define DEBIAN_PACKAGE_END "(:[a-z0-9-]+)?(=[A-Za-z0-9.+~:-]+)?$"
#define KERNEL_RELEASE "[$][{]kernel[}]"
#define EL_LETTERS "[A-Za-z0-9+._:~^-]"
/* " = VERSION": dnf's, for what packages provide. */
#define EL_PACKAGE                                                                         \
        "^[A-Za-z0-9](" EL_LETTERS "|" KERNEL_RELEASE ")+( = ([A-Za-z0-9]|" KERNEL_RELEASE \
        ")(" EL_LETTERS "|" KERNEL_RELEASE ")*)?$"
#define EITHER_PACKAGE                                                        \
        "^[a-z0-9][a-z0-9+.-]+" DEBIAN_PACKAGE_END "|^[A-Za-z0-9]" EL_LETTERS \
        "+( = [A-Za-z0-9]" EL_LETTERS "*)?$"

static const struct {
        schema_check_t check;
        StringPattern pattern;
} patterns[] = {
        { value_recipe_name, { "^[a-z0-9][a-z0-9.-]*$", "[.]lock$", 200 } },
        { value_host_name, { "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", NULL, 50 } },
        { value_secret_name, { "^[a-z0-9][a-z0-9._-]*$", NULL, 200 } },
        { value_overlay_name, { "^[a-z0-9][a-z0-9.-]*$", NULL, 200 } },
        { value_extends, { "^[^/]", "^imgbuild:($|[^a-z0-9]|.*[^a-z0-9.-]|.*[.]lock$)|" CONTROL,
                                         0 } },
        { value_text, { ".", CONTROL, 0 } },
        { value_image, { "^[^:]+$|^(https?|file)://.",
                                       "^[a-z]+://([^/]*@|.*[ \"'<>\\\\`|^])|" CONTROL, 0 } },
        { value_device, { "^(btrfsvol:)?/dev/[A-Za-z0-9][A-Za-z0-9._+/@-]*$", NULL, 0 } },
        { value_release, { "^[a-z0-9][a-z0-9.-]*$", NULL, 200 } },
        { value_component, { "^[A-Za-z0-9][A-Za-z0-9+./_-]*$", "[.][.]", 200 } },
        { value_suite, { "^[A-Za-z0-9.][A-Za-z0-9+./_~-]*$", "[.][.]", 200 } },
        { value_url, { "^(https?|file)://.", "^[a-z]+://[^/]*@|[ \"'<>\\\\`|^]|" CONTROL, 0 } },
        { value_image_path, { "^/[^/]+(/[^/]+)*$", NOT_PLAIN, 4001 } },
        { value_image_folder, { "^/([^/]+(/[^/]+)*)?$", NOT_PLAIN, 4001 } },
        { value_inside, { PLAIN_PATH, NOT_PLAIN, 4000 } },
        { value_key_reference,
                        { PLAIN_PATH "|^(https?|file)://.",
                                        "^([^:]*/)?[.][.]?(/|$)|^[a-z]+://([^/]*@|.*[ \"'<>\\\\`|^])|" CONTROL,
                                        0 } },
        { value_source, { PLAIN_PATH, "^imgbuild:($|[^f])|" NOT_PLAIN, 4000 } },
        { value_debian_package, { "^[a-z0-9]([a-z0-9+.-]|" KERNEL_RELEASE ")+" DEBIAN_PACKAGE_END,
                                                NULL, 200 } },
        { value_package, { "^[a-z0-9]([a-z0-9+.-]|" KERNEL_RELEASE ")+" DEBIAN_PACKAGE_END
                           "|" EL_PACKAGE,
                                         NULL, 200 } },
        { value_kernel_package, { EITHER_PACKAGE, NULL, 200 } },
        { value_base_package, { EITHER_PACKAGE, NULL, 200 } },
        { value_el_package, { EL_PACKAGE, NULL, 200 } },
        { value_version, { "^[A-Za-z0-9][A-Za-z0-9.+~_:-]*$", NULL, 200 } },
        { value_environment, { "^/opt(/[A-Za-z0-9._-]+)+$", NOT_PLAIN, 80 } },
        { value_interpreter, { "^python3([.][0-9]{1,3})?$", NULL, 0 } },
        { value_requirement, { "^[A-Za-z0-9][A-Za-z0-9._,<>=!~*+ ;()'\"[\\]-]*$",
                                             "[.](whl|zip|gz|bz2|tgz|xz)$", 200 } },
        { value_file_name, { "^[A-Za-z0-9][A-Za-z0-9+._-]*$", NULL, 200 } },
        { value_sha256, { "^[0-9a-f]{64}$", NULL, 0 } },
        { value_fingerprint, { "^ *([0-9A-Fa-f] *){40}$|^ *([0-9A-Fa-f] *){64}$", NULL, 0 } },
        { value_module, { "^[A-Za-z0-9][A-Za-z0-9+._-]*:[A-Za-z0-9][A-Za-z0-9+._-]*(/[A-Za-z0-9][A-Za-z0-9+._-]*)?$",
                                        NULL, 200 } },
        { value_mode, { "^([0-7]{3}|[0-7]{4}|0[0-7]{4})$", NULL, 0 } },
        { value_size, { "^[0-9]{1,9}[MGT]$", NULL, 0 } },
        { value_time_limit, { "^[0-9]+(ms|s|min|h)?$", NULL, 0 } }, /* how long is not said */
        { value_memory_limit, { "^[0-9]+(B|[KMGTkmgt](i?B)?)?$", NULL, 0 } },
        { value_cmdline, { NULL, "['\"\\\\$`;&|<>{}#]|" CONTROL, 1500 } },
        { value_kernel_option, { "^[A-Z0-9][A-Za-z0-9_]*$", "^CONFIG_", 200 } },
        { value_unit, { "^[A-Za-z0-9_-][A-Za-z0-9:_.\\\\@-]*[.](service|socket|target|timer|path|mount|automount|swap|slice)$",
                                      NULL, 200 } },
};

const StringPattern *schema_pattern_find(schema_check_t check) {
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                if (patterns[i].check == check)
                        return &patterns[i].pattern;
        return NULL;
}

static int value_json(const Schema *s, json_object **ret);

static int string_json(const char *const *choices, schema_check_t check, json_object *o) {
        json_object *list;
        int r;

        r = string_pattern_to_json(check ? schema_pattern_find(check) : NULL, o);
        if (r < 0 || !choices)
                return r;

        r = json_add_array(o, "enum", &list);
        if (r < 0)
                return r;
        for (; *choices; choices++) {
                r = json_append(list, json_object_new_string(*choices));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* "-x" takes the extended recipe's x away. */
static int removable_item_json(const Schema *item, json_object *o) {
        json_object *either, *given, *minus;
        int r;

        r = json_add_array(o, "anyOf", &either);
        if (r < 0)
                return r;
        r = value_json(item, &given);
        if (r < 0)
                return r;
        r = json_append(either, given);
        if (r < 0)
                return r;
        r = json_append_object(either, &minus);
        if (r < 0)
                return r;
        return json_set_fields(minus, JSON_STRING("type", "string"), JSON_STRING("pattern", "^-."),
                        JSON_STRING("description",
                                        "\"-x\" takes away the x of the extended recipe."));
}

static int list_json(const Schema *s, json_object *o) {
        json_object *item;
        int r;

        r = json_set_fields(o, JSON_STRING("type", "array"), JSON_INT("maxItems", SCHEMA_LIST_MAX));
        if (r < 0)
                return r;
        if (s->item->flags & SCHEMA_STRING) { /* what is given twice is refused */
                r = json_set_fields(o, JSON_BOOL("uniqueItems", true));
                if (r < 0)
                        return r;
        }
        if (s->flags & SCHEMA_REMOVABLE) {
                r = json_add_object(o, "items", &item);
                return r < 0 ? r : removable_item_json(s->item, item);
        }
        r = value_json(s->item, &item);
        return r < 0 ? r : json_set(o, "items", item);
}

/* An object of any keys. */
static int map_json(const Schema *s, json_object *o) {
        json_object *item, *names;
        int r;

        r = value_json(s->item, &item);
        if (r < 0)
                return r;
        r = json_set(o, "additionalProperties", item);
        if (r < 0 || !s->check_key)
                return r;
        r = json_add_object(o, "propertyNames", &names);
        return r < 0 ? r : string_json(NULL, s->check_key, names);
}

static int keys_json(const Schema *table, json_object *o) {
        _cleanup_json_ json_object *required = json_object_new_array();
        json_object *properties, *value;
        int r;

        r = required ? json_add_object(o, "properties", &properties) : -ENOMEM;
        if (r < 0)
                return r;
        for (const Schema *k = table; k->key; k++) {
                r = value_json(k, &value);
                if (r < 0)
                        return r;
                r = json_set(properties, k->key, value);
                if (r < 0)
                        return r;
                if (k->flags & SCHEMA_REQUIRED) {
                        r = json_append(required, json_object_new_string(k->key));
                        if (r < 0)
                                return r;
                }
        }
        if (json_object_array_length(required) > 0) {
                r = json_set(o, "required", TAKE_PTR(required));
                if (r < 0)
                        return r;
        }
        return json_set_fields(o, JSON_BOOL("additionalProperties", false));
}

static int object_json(const Schema *s, json_object *o) {
        int r = json_set_string(o, "type", "object");

        if (r < 0 || s->flags & SCHEMA_FREE)
                return r;
        return s->flags & SCHEMA_MAP ? map_json(s, o) : keys_json(s->keys, o);
}

static int typed_json(const Schema *s, unsigned type, json_object *o) {
        switch (type) {
        case SCHEMA_STRING:
                return string_json(s->choices, s->check, o);
        case SCHEMA_BOOL:
                return json_set_string(o, "type", "boolean");
        case SCHEMA_INT:
                return json_set_fields(o, JSON_STRING("type", "integer"), JSON_INT("minimum", 0),
                                JSON_INT("maximum", s->max));
        case SCHEMA_LIST:
                return list_json(s, o);
        default:
                return object_json(s, o);
        }
}

static int any_type_json(const Schema *s, unsigned types, json_object *o) {
        json_object *any, *one;
        int r;

        r = json_add_array(o, "anyOf", &any);
        if (r < 0)
                return r;
        for (unsigned type = 1; type <= types; type <<= 1) {
                if (!(types & type))
                        continue;
                r = json_append_object(any, &one);
                if (r < 0)
                        return r;
                r = typed_json(s, type, one);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int value_json(const Schema *s, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        unsigned types = s->flags & SCHEMA_TYPES;
        bool one_type = (types & (types - 1)) == 0;
        int r;

        r = json_set_fields(o, JSON_STRING("description", s->meaning));
        if (r < 0)
                return r;
        r = one_type ? typed_json(s, types, o) : any_type_json(s, types, o);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

static int schema_to_json(const Schema *table, const char *title, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = json_set_fields(o,
                        JSON_STRING("$schema", "https://json-schema.org/draft/2020-12/schema"),
                        JSON_STRING("title", title), JSON_STRING("type", "object"));
        if (r < 0)
                return r;
        r = keys_json(table, o);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

int recipe_json_schema(json_object **ret) {
        return schema_to_json(recipe_keys, "Recipe of imgbuild", ret);
}

int overlay_json_schema(json_object **ret) {
        return schema_to_json(overlay_keys, "Overlay of imgbuild (overlay.json)", ret);
}

int cluster_json_schema(json_object **ret) {
        return schema_to_json(cluster_keys, "Cluster of imgbuild's machines", ret);
}
