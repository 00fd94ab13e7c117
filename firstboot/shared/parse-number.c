/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One reader of numbers for all that the agent finds in text. */

#include "shared/parse-number.h"

#include <ctype.h>

int parse_digits(const char **text, unsigned base, uint64_t *ret) {
        const char *digits = *text;
        char *end;

        if (base == 16 && digits[0] == '0' && tolower((unsigned char) digits[1]) == 'x')
                digits += 2;
        if (base == 16 ? !isxdigit((unsigned char) *digits) : !isdigit((unsigned char) *digits))
                return -EINVAL;

        /* A second "0x" would be strtoull()'s to skip. */
        if (base == 16 && digits != *text && digits[0] == '0' &&
                        tolower((unsigned char) digits[1]) == 'x')
                return -EINVAL;

        errno = 0;
        unsigned long long n = strtoull(digits, &end, (int) base);
        if (end == digits)
                return -EINVAL;
        if (errno != 0)
                return -ERANGE;

        *text = end;
        *ret = n;
        return 0;
}

int parse_digits_until(const char **text, unsigned base, char end, uint64_t *ret) {
        const char *p = *text;
        uint64_t n;
        int r;

        r = parse_digits(&p, base, &n);
        if (r < 0)
                return r;
        if (*p != end)
                return -EINVAL;
        *text = p + 1;
        *ret = n;
        return 0;
}

int parse_number(const char *text, unsigned base, uint64_t *ret) {
        uint64_t n;
        int r;

        r = parse_digits(&text, base, &n);
        if (r < 0)
                return r;
        if (*text)
                return -EINVAL;

        *ret = n;
        return 0;
}

int parse_leading_real(const char *text, double *ret) {
        if (!text || !isdigit((unsigned char) *text))
                return -EINVAL;

        *ret = strtod(text, NULL);
        return 0;
}
