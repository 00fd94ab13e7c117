/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one writer of times for people, for both programs. */

#include "shared/duration.h"

char *format_duration(char text[FORMAT_DURATION_MAX], uint64_t usec) {
        static const struct {
                uint64_t seconds, smaller;
                const char *unit, *smaller_unit;
        } steps[] = {
                { 86400, 3600, "d", "h" },
                { 3600, 60, "h", "min" },
                { 60, 1, "min", "s" },
        };
        uint64_t seconds = usec / USEC_PER_SEC + (usec % USEC_PER_SEC >= USEC_PER_SEC / 2);

        /* A limit is whole; a measured time keeps its tenths. */
        if (usec < 60 * USEC_PER_SEC && usec % USEC_PER_SEC == 0) {
                snprintf(text, FORMAT_DURATION_MAX, "%llu s", (unsigned long long) seconds);
                return text;
        }
        /* 59.95 s would be written "60.0 s". */
        if (usec < 60 * USEC_PER_SEC - USEC_PER_SEC / 20) {
                snprintf(text, FORMAT_DURATION_MAX, "%.1f s", (double) usec / USEC_PER_SEC);
                return text;
        }
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                unsigned long long n = seconds / steps[i].seconds,
                                   rest = seconds % steps[i].seconds / steps[i].smaller;

                if (n == 0)
                        continue;
                if (rest > 0)
                        snprintf(text, FORMAT_DURATION_MAX, "%llu %s %llu %s", n, steps[i].unit,
                                        rest, steps[i].smaller_unit);
                else
                        snprintf(text, FORMAT_DURATION_MAX, "%llu %s", n, steps[i].unit);
                break;
        }
        return text;
}

char *format_duration_finely(char text[FORMAT_DURATION_MAX], uint64_t usec) {
        /* 59.9995 s would be written "60.000 s". */
        if (usec >= 60 * USEC_PER_SEC - USEC_PER_MSEC / 2)
                return format_duration(text, usec);
        snprintf(text, FORMAT_DURATION_MAX, "%.3f s", (double) usec / USEC_PER_SEC);
        return text;
}
