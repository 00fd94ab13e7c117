/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one comparison of versions, for doctor's programs and for drivers and libraries of images. */

#include "common/version.h"
#include "shared/macro.h"

#include <ctype.h>

/* What stands where the other version has ended: ".0" and nothing are the same. */
static int rest_compare(const char *s) {
        while (*s == '.' || *s == '0')
                s++;
        return *s == '\0' ? 0 : *s == '~' ? -1 : 1;
}

int version_compare(const char *a, const char *b) {
        while (*a && *b) {
                if (isdigit((unsigned char) *a) && isdigit((unsigned char) *b)) {
                        char *end_a, *end_b;
                        unsigned long n = strtoul(a, &end_a, 10), m = strtoul(b, &end_b, 10);

                        if (n != m)
                                return n < m ? -1 : 1;
                        a = end_a;
                        b = end_b;
                        continue;
                }
                if (*a != *b) {
                        if (*a == '~' || *b == '~')
                                return *a == '~' ? -1 : 1;
                        return (unsigned char) *a < (unsigned char) *b ? -1 : 1;
                }
                a++;
                b++;
        }
        return *a ? rest_compare(a) : -rest_compare(b);
}
