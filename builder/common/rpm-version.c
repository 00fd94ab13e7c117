/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A part is runs of letters and runs of digits; what is between them only parts them, but for "~"
 * and "^". Letters are ASCII's, whatever the locale. */

#include "common/rpm-version.h"

#include "shared/macro.h"

#include <string.h>

typedef struct Text {
        const char *p, *end;
} Text;

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_separators(Text *t) {
        while (t->p < t->end && !is_digit(*t->p) && !is_letter(*t->p) && *t->p != '~' &&
                        *t->p != '^')
                t->p++;
}

static bool is_at(const Text *t, char c) {
        return t->p < t->end && *t->p == c;
}

/* "~" is before the end, "^" behind it, but before all else. */
static int compare_mark(const Text *a, const Text *b, char mark) {
        if (is_at(a, mark) == is_at(b, mark))
                return 0;
        if (mark == '^' && (a->p == a->end || b->p == b->end))
                return a->p == a->end ? -1 : 1;
        return is_at(a, mark) ? -1 : 1;
}

static Text take_run(Text *t, bool (*is_kind)(char c)) {
        Text run = { t->p, t->p };

        while (run.end < t->end && is_kind(*run.end))
                run.end++;
        t->p = run.end;
        return run;
}

static size_t length(const Text *t) {
        return (size_t) (t->end - t->p);
}

static int compare_bytes(const Text *a, const Text *b) {
        size_t n = length(a), m = length(b);
        int r = memcmp(a->p, b->p, n < m ? n : m);

        return r != 0 ? r : n < m ? -1 : n > m;
}

/* By value, of however many digits. */
static int compare_digits(Text *a, Text *b) {
        while (is_at(a, '0'))
                a->p++;
        while (is_at(b, '0'))
                b->p++;
        if (length(a) != length(b))
                return length(a) < length(b) ? -1 : 1;
        return compare_bytes(a, b);
}

/* Runs of the kind that a's next one is; digits are newer than letters. */
static int compare_run(Text *a, Text *b) {
        bool digits = is_digit(*a->p);
        bool (*is_kind)(char c) = digits ? is_digit : is_letter;
        Text x = take_run(a, is_kind), y = take_run(b, is_kind);

        if (y.p == y.end)
                return digits ? 1 : -1;
        return digits ? compare_digits(&x, &y) : compare_bytes(&x, &y);
}

static int compare_part(Text a, Text b) {
        for (;;) {
                int r;

                skip_separators(&a);
                skip_separators(&b);
                r = compare_mark(&a, &b, '~');
                if (r == 0)
                        r = compare_mark(&a, &b, '^');
                if (r != 0)
                        return r;
                if (is_at(&a, '~') || is_at(&a, '^')) {
                        a.p++;
                        b.p++;
                        continue;
                }
                if (a.p == a.end || b.p == b.end)
                        return (a.p < a.end) - (b.p < b.end);
                r = compare_run(&a, &b);
                if (r != 0)
                        return r;
        }
}

typedef struct Parts {
        Text epoch, version, release;
} Parts;

size_t rpm_version_epoch(const char *version) {
        size_t n = strspn(version, "0123456789");

        return version[n] == ':' ? n : 0;
}

const char *rpm_version_bare(const char *version) {
        size_t epoch = rpm_version_epoch(version);

        return epoch > 0 ? version + epoch + 1 : version;
}

static Parts split(const char *s) {
        const char *version = rpm_version_bare(s), *dash = strrchr(version, '-'),
                   *end = version + strlen(version);

        return (Parts) { { s, s + rpm_version_epoch(s) }, { version, dash ? dash : end },
                { dash ? dash + 1 : end, end } };
}

int rpm_version_compare(const char *a, const char *b) {
        Parts x = split(a), y = split(b);
        int r;

        r = compare_digits(&x.epoch, &y.epoch);
        if (r != 0)
                return r;
        r = compare_part(x.version, y.version);
        if (r != 0)
                return r;
        if (length(&x.release) == 0 || length(&y.release) == 0)
                return (length(&x.release) > 0) - (length(&y.release) > 0);
        return compare_part(x.release, y.release);
}
