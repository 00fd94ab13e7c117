/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages for options that getopt_long() refused: its own do not say what was probably meant. */

#include "shared/option-error.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/suggest.h"

static const struct option *find_value(const struct option *options, int value) {
        for (const struct option *o = options; o->name; o++)
                if (o->val == value)
                        return o;
        return NULL;
}

/* The name as typed, without dashes and value. */
static void log_unknown(const char *name, const struct option *options) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *exact = NULL;
        const char *nearest;

        for (const struct option *o = options; o->name; o++) {
                if (streq(o->name, name)) {
                        log_error("--%s takes no value", name);
                        return;
                }
                if (strv_extend(&names, o->name) < 0)
                        return;
        }
        nearest = suggest_nearest(name, names);
        exact = nearest ? strf("; did you mean --%s?", nearest) : NULL;
        log_error("There is no option --%s%s", name, exact ? exact : "; --help lists them");
}

/* "-offline", by somebody who is used to one dash. */
static bool is_long(const char *word, const struct option *options) {
        if (word[0] != '-' || !word[1] || !word[2])
                return false;
        for (const struct option *o = options; o->name; o++) {
                const char *rest = startswith(word + 1, o->name);

                if (rest && (!*rest || *rest == '='))
                        return true;
        }
        return false;
}

void log_bad_option(char *const argv[], const struct option *options) {
        const struct option *wanting = optopt ? find_value(options, optopt) : NULL;
        const char *word = argv[optind - 1], *name = startswith(word, "--");
        _cleanup_free_ char *bare = name ? strndup(name, strcspn(name, "=")) : NULL;
        /* getopt_long() has not gone past letters of which some are left. */
        const char *cluster = argv[optind] && argv[optind][0] == '-' && argv[optind][1] != '-'
                                              ? argv[optind]
                                              : word;

        if (wanting && wanting->has_arg == required_argument && (!name || !strchr(name, '=')))
                log_error("--%s wants a value", wanting->name);
        else if (bare)
                log_unknown(bare, options);
        else if (is_long(cluster, options))
                log_error("There is no option -%c; did you mean -%s?", optopt ? optopt : cluster[1],
                                cluster);
        else
                log_error("There is no option -%c; --help lists them", optopt ? optopt : '?');
}
