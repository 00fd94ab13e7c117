/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Deadlines: times on the monotonic clock of shared/time-util.h, in microseconds. */

#include "shared/time-util.h"

static inline uint64_t deadline_in(double seconds) {
        return now_usec() + (uint64_t) (seconds * (double) USEC_PER_SEC);
}

/* What is left of it, in seconds. */
static inline double deadline_left(uint64_t deadline) {
        uint64_t now = now_usec();

        return now >= deadline ? 0 : (double) (deadline - now) / (double) USEC_PER_SEC;
}

/* Milliseconds for poll(), rounded up, at most `cap`. */
static inline int deadline_poll_ms(uint64_t deadline, int cap) {
        uint64_t now = now_usec();

        if (now >= deadline)
                return 0;
        return (int) MIN((deadline - now) / USEC_PER_MSEC + 1, (uint64_t) cap);
}
