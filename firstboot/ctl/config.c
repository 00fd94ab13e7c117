/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl config: the merged configuration, each value with where it came from, secrets
 * masked; or one value of it. config-edit.c changes them. */

#include "ctl/ctl.h"
#include "shared/log.h"

static void print_values(json_object *o, const char *path, json_object *sources) {
        const char *source = json_get_string(sources, path);

        if (json_object_is_type(o, json_type_object) && json_object_object_length(o) > 0) {
                json_object_object_foreach (o, key, value) {
                        _cleanup_free_ char *p = path[0] ? strf("%s.%s", path, key) : strdup(key);

                        if (p)
                                print_values(value, p, sources);
                }
                return;
        }
        printf("%-28s = %s  (%s)\n", path,
                        json_object_to_json_string_ext(
                                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        source ? source : "default");
}

static void print_instance(json_object *instance) {
        if (!instance || json_object_object_length(instance) == 0)
                return;
        printf("\ninstance %s\n",
                        json_object_to_json_string_ext(instance,
                                        JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* "error: …" or "warning: …", a line each. */
static void print_notes(json_object *list, const char *kind) {
        for (size_t i = 0; list && i < json_object_array_length(list); i++)
                printf("%s%s: %s\n", i == 0 ? "\n" : "", kind,
                                json_object_get_string(json_object_array_get_idx(list, i)));
}

static int show_all(const Ctl *c, json_object *document) {
        json_object *config = json_get(document, "config");

        if (c->json) {
                json_print(document, 0);
                return EXIT_SUCCESS;
        }
        if (config)
                print_values(config, "", json_get(document, "sources"));
        print_instance(json_get(document, "instance"));
        print_notes(json_get(document, "errors"), "error");
        print_notes(json_get(document, "warnings"), "warning");
        return EXIT_SUCCESS;
}

static int show_value(const Ctl *c, json_object *document, const char *key) {
        _cleanup_strv_free_ char **parts = strv_split(key, ".");
        json_object *o = json_get(document, "config");

        STRV_FOREACH (part, parts)
                o = json_get(o, *part);
        if (!parts || !o) {
                log_error("The configuration has no key %s; 'firstbootctl config' shows all", key);
                return EXIT_FAILURE;
        }
        puts(c->json ? json_line(o) : json_as_text(o));
        return EXIT_SUCCESS;
}

int verb_config(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *document = NULL;

        if (argc == 3 && streq(argv[0], "set"))
                return config_set_value(c, argv[1], argv[2]);
        if (argc == 2 && streq(argv[0], "unset"))
                return config_unset_value(c, argv[1]);
        if (argc > 0 && (argc != 2 || !streq(argv[0], "get")))
                return EXIT_USAGE;

        if (ctl_call_json(c, "GetConfig", &document) < 0)
                return EXIT_FAILURE;
        return argc == 0 ? show_all(c, document) : show_value(c, document, argv[1]);
}
