/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one reader and the one writer of sizes, for both programs. */

#include "shared/size.h"

#include <ctype.h>

int parse_bytes(const char *text, uint64_t *ret_bytes) {
        static const char units[] = "KMGT";
        unsigned long long n;
        unsigned shift = 0;
        char *end;

        if (!isdigit((unsigned char) text[0]))
                return -EINVAL;
        errno = 0;
        n = strtoull(text, &end, 10);
        if (errno != 0)
                return -ERANGE;

        if (*end && !streq(end, "B")) {
                const char *unit = strchr(units, toupper((unsigned char) *end));

                if (!unit || !(streq(end + 1, "") || streq(end + 1, "B") || streq(end + 1, "iB")))
                        return -EINVAL;
                shift = 10 * (unsigned) (unit - units + 1);
        }
        if (n > UINT64_MAX >> shift)
                return -ERANGE;
        *ret_bytes = (uint64_t) n << shift;
        return 0;
}

char *format_bytes(char text[FORMAT_BYTES_MAX], uint64_t bytes) {
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
        double n = (double) bytes;
        size_t unit = 0;

        /* From 1000 on in the next unit: no more than three digits stand before the point. */
        for (; n >= 1000 && unit + 1 < ELEMENTSOF(units); unit++)
                n /= 1024;
        snprintf(text, FORMAT_BYTES_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", n, units[unit]);
        return text;
}
