/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Line by line, and the whole list: one name must not have two digests. */

#include "lock/checksums.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <ctype.h>

/* One line's, which they point into. */
typedef struct Entry {
        const char *hex, *name;
        size_t digits, length;
} Entry;

static size_t hex_digits(const char *s) {
        size_t n = 0;

        while (isxdigit((unsigned char) s[n]))
                n++;
        return n;
}

/* "HEX  NAME": one space, and another or "*", which says that it was read as binary. */
static bool parse_coreutils(const char *line, size_t length, Entry *ret) {
        size_t digits = hex_digits(line);

        if (length < digits + 3 || line[digits] != ' ' ||
                        (line[digits + 1] != ' ' && line[digits + 1] != '*'))
                return false;
        *ret = (Entry) { line, line + digits + 2, digits, length - digits - 2 };
        return true;
}

/* "SHA256 (NAME) = HEX". The name may have a parenthesis of its own: the last one ends it. */
static bool parse_bsd(const char *line, size_t length, Entry *ret) {
        static const char *const kinds[] = { "SHA256 (", "SHA512 (" }, behind[] = ") = ";
        const size_t start = strlen(kinds[0]);
        size_t digits = 0;

        if (!startswith(line, kinds[0]) && !startswith(line, kinds[1]))
                return false;
        while (digits < length && isxdigit((unsigned char) line[length - digits - 1]))
                digits++;
        if (length < start + strlen(behind) + digits + 1 ||
                        strncmp(line + length - digits - strlen(behind), behind, strlen(behind)) !=
                                        0)
                return false;
        *ret = (Entry) { line + length - digits, line + start, digits,
                length - start - strlen(behind) - digits };
        return true;
}

static bool names(const Entry *e, const char *name) {
        size_t n = strlen(name);

        return e->length >= n && strncmp(e->name + e->length - n, name, n) == 0 &&
               (e->length == n || e->name[e->length - n - 1] == '/');
}

/* -EEXIST: another one is there. */
static int take(const Entry *e, char *to) {
        char digest[DIGEST_SHA512_HEX + 1] = "";

        for (size_t i = 0; i < e->digits; i++)
                digest[i] = (char) tolower((unsigned char) e->hex[i]);
        if (*to && !streq(to, digest))
                return -EEXIST;
        memcpy(to, digest, e->digits + 1);
        return 0;
}

int checksums_find(const char *list, const char *name, Checksums *ret) {
        *ret = (Checksums) {};
        for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t length = strcspn(line, "\r\n");
                Entry e;
                int r;

                if (!parse_coreutils(line, length, &e) && !parse_bsd(line, length, &e))
                        continue;
                if (e.digits != DIGEST_HEX && e.digits != DIGEST_SHA512_HEX)
                        continue;
                ret->n++;
                if (!names(&e, name))
                        continue;
                r = take(&e, e.digits == DIGEST_HEX ? ret->sha256 : ret->sha512);
                if (r < 0)
                        return r;
        }
        return *ret->sha256 || *ret->sha512 ? 0 : -ENOENT;
}
