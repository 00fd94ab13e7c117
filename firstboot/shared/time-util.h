/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one monotonic clock. */

#include "shared/macro.h"
#include <time.h>

/* CLOCK_MONOTONIC in microseconds: for durations and deadlines, not for dates. */
static inline uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / NSEC_PER_USEC;
}
