/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Build-time program: prints the table of codes as a journal catalog or as the reference in
 * docs/steps.md. */

#include "contract/codes.h"
#include "contract/config-schema.h"

static void print_catalog(void) {
        for (size_t i = 0; i < codes_count; i++) {
                const Code *c = &codes[i];

                printf("-- %s\nSubject: %s\nDefined-By: firstbootd\nSupport: man:firstbootd(8)\n"
                       "Documentation: man:firstbootctl(1)\n\n",
                                c->id, c->title);
                if (code_is_reason(c))
                        printf("Step @STEP@ gives reason %s: @TEXT@\n\n", c->code);
                printf("%s\n\n%s\n\n", c->meaning, c->remedy);
        }
}

static void print_reference(void) {
        for (size_t i = 0; i < codes_count; i++) {
                const Code *c = &codes[i];

                printf("### `%s`\n\n%s. %s\n\nWhat to do: %s\n\nMESSAGE_ID `%s`\n\n", c->code,
                                c->title, c->meaning, c->remedy, c->id);
        }
}

static void print_keys(void) {
        static const char *const types[] = {
                [CONFIG_OBJECT] = "object",
                [CONFIG_LIST] = "list of objects",
                [CONFIG_STRING] = "string",
                [CONFIG_STRINGS] = "list of strings",
                [CONFIG_BOOL] = "true, false",
                [CONFIG_INT] = "number",
                [CONFIG_SIZE] = "size",
                [CONFIG_DURATION] = "time",
                [CONFIG_MAP] = "object, free names",
        };

        printf("| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *fallback = k->type == CONFIG_OBJECT ? NULL : k->fallback;

                printf("| `%s` | ", k->path);
                if (k->choices)
                        for (const char *p = k->choices; *p; p++)
                                printf("%s%c", *p == '|' ? "\\" : "", *p);
                else
                        printf("%s", types[k->type]);
                printf(" | %s%s%s | %s%s |\n", fallback ? "`" : "",
                                fallback      ? fallback
                                : k->required ? "required"
                                              : "",
                                fallback ? "`" : "", k->meaning, k->secret ? " Secret." : "");
        }
}

int main(int argc, char *argv[]) {
        if (argc == 2 && streq(argv[1], "catalog"))
                print_catalog();
        else if (argc == 2 && streq(argv[1], "reference"))
                print_reference();
        else if (argc == 2 && streq(argv[1], "keys"))
                print_keys();
        else {
                fprintf(stderr, "Usage: firstboot-codes catalog | reference | keys\n");
                return 2;
        }
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
