/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looking into a command line that was made. */

#include "shared/strv.h"

/* Whether `option` is followed by `value` somewhere. */
static inline bool has(char *const *argv, const char *option, const char *value) {
        for (; argv[0] && argv[1]; argv++)
                if (streq(argv[0], option) && streq(argv[1], value))
                        return true;
        return false;
}

static inline bool any_contains(char *const *argv, const char *text) {
        STRV_FOREACH (s, argv)
                if (strstr(*s, text))
                        return true;
        return false;
}
