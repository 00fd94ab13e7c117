/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a vendor's list of checksums: what is found stands in the list, right beside the
 * name. */

#include "lock/checksums.h"
#include "shared/strv.h"

#include <ctype.h>

#define NAME "a.img"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-checksums: %s\n", what);
        abort();
}

/* A line of the list has both. */
static bool stands_in(const char *list, const char *digest) {
        for (const char *at = list; (at = strcasestr(at, digest)); at++) {
                const char *start = at;
                size_t length;

                while (start > list && start[-1] != '\n')
                        start--;
                length = strcspn(start, "\n");
                if (memmem(start, length, NAME, strlen(NAME)))
                        return true;
        }
        return false;
}

static void expect_digest(const char *list, const char *digest, size_t length) {
        if (!*digest)
                return;
        expect(strlen(digest) == length, "a digest of another length");
        for (const char *c = digest; *c; c++)
                expect(isxdigit((unsigned char) *c) && !isupper((unsigned char) *c),
                                "a digest that is none");
        expect(stands_in(list, digest), "a digest that is nowhere beside the name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *list = strndup((const char *) data, size);
        Checksums c;
        int r;

        if (!list)
                return 0;
        r = checksums_find(list, NAME, &c);
        if (r < 0) {
                expect(r == -ENOENT || r == -EEXIST, "a failure of another kind");
                expect(r == -EEXIST || (!*c.sha256 && !*c.sha512), "a digest, and none");
                return 0;
        }
        expect(*c.sha256 || *c.sha512, "nothing, and success");
        expect(c.n > 0, "a digest of no file");
        expect_digest(list, c.sha256, 64);
        expect_digest(list, c.sha512, 128);
        return 0;
}
