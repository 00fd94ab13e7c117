/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A core file has in it what its program knew. */

#include <sys/resource.h>

/* From now on neither this program nor what it starts leaves one: for who is about to hear a
 * secret. */
static inline void no_core_files(void) {
        const struct rlimit none = {};

        (void) setrlimit(RLIMIT_CORE, &none);
}
