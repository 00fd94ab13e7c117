/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sizes, whole numbers and real numbers of the command line. */

#include "ncclbench/values.h"
#include "shared/parse-number.h"

#include <math.h>

static bool starts_with_digit(const char *text) {
        return text[0] >= '0' && text[0] <= '9';
}

/* What follows the number: "", or a unit with or without "B" and "iB" behind it. */
static int parse_unit(const char *text, int *ret_shift) {
        static const char units[] = "KMGT";
        const char *unit;

        if (!*text) {
                *ret_shift = 0;
                return 0;
        }
        unit = strchr(units, *text & ~0x20);
        if (!unit || !*unit)
                return -EINVAL;

        text++;
        if (*text == 'i')
                text++;
        if (*text == 'B')
                text++;
        if (*text)
                return -EINVAL;
        *ret_shift = 10 * (int) (unit - units + 1);
        return 0;
}

int parse_fractional_size(const char *text, size_t *ret) {
        int shift, r;
        char *end;
        double v;

        if (!starts_with_digit(text) || strpbrk(text, "xX")) /* strtod() reads 0x10 too */
                return -EINVAL;
        v = strtod(text, &end);
        r = parse_unit(end, &shift);
        if (r < 0)
                return r;

        v = ldexp(v, shift);
        if (!(v < 0x1p62))
                return -ERANGE;
        if (v != floor(v))
                return -EINVAL;
        *ret = (size_t) v;
        return 0;
}

int parse_in_range(const char *text, unsigned long min, unsigned long max, unsigned long *ret) {
        uint64_t n;

        if (parse_number(text, 10, &n) < 0 || n < min || n > max)
                return -EINVAL;
        *ret = n;
        return 0;
}

int parse_real(const char *text, double min, double max, double *ret) {
        char *end;
        double v;

        if (!starts_with_digit(text))
                return -EINVAL;
        v = strtod(text, &end);
        if (*end || !(v >= min && v <= max))
                return -EINVAL;
        *ret = v;
        return 0;
}
