/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl config: the merged configuration, each value with where it came from, secrets
 * masked. */

#include "ctl/ctl.h"
#include "shared/log.h"

static void print_values(json_object *o, const char *path, json_object *sources) {
        if (json_object_is_type(o, json_type_object) && json_object_object_length(o) > 0) {
                json_object_object_foreach (o, key, value) {
                        _cleanup_free_ char *p = path[0] ? strf("%s.%s", path, key) : strdup(key);

                        if (p)
                                print_values(value, p, sources);
                }
                return;
        }
        const char *source = json_get_string(sources, path);
        printf("%-28s = %s  %s(%s)\n", path,
                        json_object_to_json_string_ext(
                                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        "", source ? source : "default");
}

int verb_config(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *document = NULL;
        static const char *const lists[] = { "errors", "warnings" };

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (ctl_call_json(c, "GetConfig", &document) < 0)
                return EXIT_FAILURE;
        if (c->json) {
                puts(json_object_to_json_string_ext(document,
                                JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
                return EXIT_SUCCESS;
        }
        json_object *instance = json_get(document, "instance"),
                    *config = json_get(document, "config");
        if (config)
                print_values(config, "", json_get(document, "sources"));
        if (instance && json_object_object_length(instance) > 0)
                printf("\ninstance %s\n",
                                json_object_to_json_string_ext(instance,
                                                JSON_C_TO_STRING_SPACED |
                                                                JSON_C_TO_STRING_NOSLASHESCAPE));
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                json_object *list = json_get(document, lists[i]);

                for (size_t k = 0; list && k < json_object_array_length(list); k++)
                        printf("%s%.*s: %s\n", k == 0 ? "\n" : "", (int) strlen(lists[i]) - 1,
                                        lists[i],
                                        json_object_get_string(json_object_array_get_idx(list, k)));
        }
        return EXIT_SUCCESS;
}
