/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/macro.h"

#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)

/* The monotonic clock; every deadline of the program is a time on it. */
static inline uint64_t now_nsec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * NSEC_PER_SEC + (uint64_t) t.tv_nsec;
}

static inline uint64_t deadline_in(double seconds) {
        return now_nsec() + (uint64_t) (seconds * 1e9);
}

/* Milliseconds for poll(), rounded up, at most `cap`. */
static inline int deadline_poll_ms(uint64_t deadline, int cap) {
        uint64_t now = now_nsec();

        return now >= deadline ? 0 : (int) MIN((deadline - now) / 1000000 + 1, (uint64_t) cap);
}
