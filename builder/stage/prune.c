/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* dpkg's rules for paths, as a test of find's: the last rule that matches decides, and a "*"
 * matches a "/" too (dpkg(1), --path-exclude). */

#include "stage/prune.h"

#include "shared/quote.h"
#include "shared/strv.h"

#define HEAD "#!/bin/sh\nset -eu\ncd \"$1\"\n"
/* Folders that became empty; those that packages have, dpkg makes again. */
#define FIND "find . -xdev -mindepth 1 -depth \\( ! -type d -o -empty \\) %s -delete\n"

/* *test is that of the rules before, NULL for none of them. */
static int extend_test(char **test, const char *option) {
        const char *out = startswith(option, "--path-exclude="),
                   *in = startswith(option, "--path-include=");
        _cleanup_free_ char *pattern = out || in ? strf(".%s", out ? out : in) : NULL,
                            *word = pattern ? shell_quote(pattern) : NULL, *before = NULL;

        if ((!out && !in) || (in && !*test))
                return 0;
        if (!word)
                return -ENOMEM;
        before = TAKE_PTR(*test);
        if (!before)
                *test = strf("-path %s", word);
        else
                *test = out ? strf("\\( -path %s -o %s \\)", word, before)
                            : strf("\\( ! -path %s %s \\)", word, before);
        return *test ? 0 : -ENOMEM;
}

static int extend_words(char **words, const char *option) {
        _cleanup_free_ char *word = shell_quote(option + strlen("--")), *before = TAKE_PTR(*words);

        *words = word ? strf("%s %s", before, word) : NULL;
        return *words ? 0 : -ENOMEM;
}

int prune_script(char *const *options, char **ret) {
        _cleanup_free_ char *test = NULL, *words = strdup(""), *find = NULL;
        int r;

        *ret = NULL;
        if (strv_length(options) == 0)
                return 0;
        if (!words)
                return -ENOMEM;
        STRV_FOREACH (option, options) {
                r = extend_words(&words, *option);
                if (r < 0)
                        return r;
                r = extend_test(&test, *option);
                if (r < 0)
                        return r;
        }
        find = test ? strf(FIND, test) : strdup("");
        if (find)
                *ret = strf(HEAD "printf '%%s\\n'%s >>etc/dpkg/dpkg.cfg.d/99mmdebstrap\n%s", words,
                                find);
        return *ret ? 0 : -ENOMEM;
}
