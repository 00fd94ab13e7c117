/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-codes, a program of the build: prints what is made from the tables of this folder.
 *
 *   catalog    the journal catalog
 *   markdown   docs/reason-codes.md
 *   keys       the table of keys in docs/node-config.md */

#include "contract/codes.h"
#include "contract/config-schema.h"

static void print_catalog(void) {
        for (size_t i = 0; i < codes_count; i++) {
                const Code *c = &codes[i];

                printf("-- %s\nSubject: %s\nDefined-By: firstbootd\nSupport: man:firstbootd(8)\n"
                       "Documentation: man:firstbootctl(1)\n\n",
                                c->id, c->title);
                if (streq(c->code, "step.own-reason")) {
                        printf("Step @STEP@ gives reason @CODE@: @TEXT@\n\n@MEANING@\n\n@REMEDY@\n\n");
                        continue;
                }
                if (code_is_reason(c))
                        printf("Step @STEP@ gives reason %s: @TEXT@\n\n", c->code);
                printf("%s\n\n%s\n\n", c->meaning, c->remedy);
        }
}

/* Length of "scratch" in "scratch.lvm". */
static int family_length(const Code *c) {
        return (int) strcspn(c->code, ".");
}

static bool same_family(const Code *a, const Code *b) {
        return family_length(a) == family_length(b) &&
               strncmp(a->code, b->code, (size_t) family_length(a)) == 0;
}

/* Whether no row above has the code's family. */
static bool begins_family(const Code *c) {
        for (const Code *before = codes; before < c; before++)
                if (same_family(before, c))
                        return false;
        return true;
}

static void print_contents(void) {
        printf("| Family | Codes |\n|---|---|\n");
        for (size_t i = 0; i < codes_count; i++) {
                const char *separator = "";

                if (!begins_family(&codes[i]))
                        continue;

                printf("| [%.*s](#%.*s) | ", family_length(&codes[i]), codes[i].code,
                                family_length(&codes[i]), codes[i].code);
                for (size_t k = i; k < codes_count; k++)
                        if (same_family(&codes[i], &codes[k])) {
                                printf("%s`%s`", separator,
                                                codes[k].code + family_length(&codes[k]) + 1);
                                separator = ", ";
                        }
                printf(" |\n");
        }
}

static void print_family(const Code *first) {
        printf("\n## %.*s\n", family_length(first), first->code);
        for (const Code *c = first; c < codes + codes_count; c++)
                if (same_family(first, c))
                        printf("\n### `%s`\n\n%s. %s\n\nWhat to do: %s\n\nMESSAGE_ID `%s`\n",
                                        c->code, c->title, c->meaning, c->remedy, c->id);
}

static void print_markdown(void) {
        printf("# Reason codes and messages\n\n"
               "<!-- Printed by `firstboot-codes markdown` from firstboot/contract/codes.c: "
               "`make docs/reason-codes.md`. -->\n\n"
               "Each goes to the journal with its MESSAGE_ID, `CODE=`, `STEP=`, `ATTEMPT=` and "
               "`DURATION_USEC=`, so that\n"
               "`journalctl -x -u firstbootd` shows the text below it. `firstbootctl explain CODE` "
               "prints it too. Codes that begin\n"
               "with `event.` tell what goes on; all others are reasons. What the steps do is in "
               "[steps.md](steps.md).\n\n");
        print_contents();
        for (size_t i = 0; i < codes_count; i++)
                if (begins_family(&codes[i]))
                        print_family(&codes[i]);
}

/* A row's choices or type; '|' would end the cell. */
static void print_type(const ConfigKey *k) {
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

        if (!k->choices)
                printf("%s", types[k->type]);
        for (const char *p = strempty(k->choices); *p; p++)
                printf("%s%c", *p == '|' ? "\\" : "", *p);
}

static void print_keys(void) {
        printf("| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *fallback = k->type == CONFIG_OBJECT ? NULL : k->fallback;

                printf("| `%s` | ", k->path);
                print_type(k);
                if (fallback)
                        printf(" | `%s`", fallback);
                else
                        printf(" | %s", k->required ? "required" : "");
                printf(" | %s%s |\n", k->meaning, k->secret ? " Secret." : "");
        }
}

int main(int argc, char *argv[]) {
        static const struct {
                const char *name;
                void (*print)(void);
        } documents[] = {
                { "catalog", print_catalog },
                { "markdown", print_markdown },
                { "keys", print_keys },
        };

        for (size_t i = 0; argc == 2 && i < ELEMENTSOF(documents); i++)
                if (streq(argv[1], documents[i].name)) {
                        documents[i].print();
                        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
                }
        fprintf(stderr, "Usage: firstboot-codes catalog | markdown | keys\n");
        return 2;
}
