/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Build-time program: prints the table of codes as a journal catalog or as the reference in
 * docs/steps.md. */

#include "codes.h"

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

int main(int argc, char *argv[]) {
        if (argc == 2 && streq(argv[1], "catalog"))
                print_catalog();
        else if (argc == 2 && streq(argv[1], "reference"))
                print_reference();
        else {
                fprintf(stderr, "Usage: firstboot-codes catalog | reference\n");
                return 2;
        }
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
