/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Quoting for shells, in single quotes: between them nothing but the quote itself is special. */

#include "shared/quote.h"

char *shell_quote(const char *word) {
        char *result = malloc(4 * strlen(word) + 3), *p = result;

        if (!result)
                return NULL;

        *p++ = '\'';
        for (; *word; word++)
                if (*word == '\'')
                        p = stpcpy(p, "'\\''");
                else
                        *p++ = *word;
        *p++ = '\'';
        *p = '\0';

        return result;
}
