/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Epoch, upstream version and revision, each as runs of other characters and runs of digits. */

#include "common/deb-version.h"

#include "shared/macro.h"

#include <ctype.h>

/* A tilde before the end, the end before letters, letters before all else. */
static int order(const char *p, const char *end) {
        if (p == end || isdigit((unsigned char) *p))
                return 0;
        if (*p == '~')
                return -1;
        return isalpha((unsigned char) *p) ? (unsigned char) *p : (unsigned char) *p + 256;
}

static bool is_digit(const char *p, const char *end) {
        return p < end && isdigit((unsigned char) *p);
}

/* By value, of however many digits. */
static int compare_digits(const char **a, const char *a_end, const char **b, const char *b_end) {
        int difference = 0;

        while (*a < a_end && **a == '0')
                ++*a;
        while (*b < b_end && **b == '0')
                ++*b;
        while (is_digit(*a, a_end) && is_digit(*b, b_end)) {
                if (difference == 0)
                        difference = **a - **b;
                ++*a;
                ++*b;
        }
        return is_digit(*a, a_end) ? 1 : is_digit(*b, b_end) ? -1 : difference;
}

static int compare_part(const char *a, const char *a_end, const char *b, const char *b_end) {
        while (a < a_end || b < b_end) {
                int difference;

                while ((a < a_end && !is_digit(a, a_end)) || (b < b_end && !is_digit(b, b_end))) {
                        difference = order(a, a_end) - order(b, b_end);
                        if (difference != 0)
                                return difference;
                        a += a < a_end;
                        b += b < b_end;
                }
                difference = compare_digits(&a, a_end, &b, b_end);
                if (difference != 0)
                        return difference;
        }
        return 0;
}

typedef struct Parts {
        const char *epoch, *epoch_end, *upstream, *upstream_end, *revision, *revision_end;
} Parts;

static Parts split(const char *version) {
        const char *colon = strchr(version, ':'), *upstream = colon ? colon + 1 : version,
                   *dash = strrchr(upstream, '-'), *end = upstream + strlen(upstream);

        return (Parts) { version, colon ? colon : version, upstream, dash ? dash : end,
                dash ? dash + 1 : end, end };
}

int deb_version_compare(const char *a, const char *b) {
        const Parts x = split(a), y = split(b);
        int r;

        r = compare_part(x.epoch, x.epoch_end, y.epoch, y.epoch_end);
        if (r != 0)
                return r;
        r = compare_part(x.upstream, x.upstream_end, y.upstream, y.upstream_end);
        if (r != 0)
                return r;
        return compare_part(x.revision, x.revision_end, y.revision, y.revision_end);
}
