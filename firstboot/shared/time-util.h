/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one monotonic clock: for durations and deadlines, not for dates. */

#include "shared/macro.h"
#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)

/* CLOCK_MONOTONIC in nanoseconds, for what is measured in microseconds. */
static inline uint64_t now_nsec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * NSEC_PER_SEC + (uint64_t) t.tv_nsec;
}

/* The same in microseconds, as deadlines and time-outs are given. */
static inline uint64_t now_usec(void) {
        return now_nsec() / NSEC_PER_USEC;
}
