/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a list of sums: what is one is spelled in one way only, and names nothing outside of
 * its folder. */

#include "release/sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-sums: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *again = NULL;
        _cleanup_sums_ Sums s = {};
        int r = sums_parse((const char *) data, size, &s);

        if (r < 0) {
                expect(r == -EBADMSG && s.n == 0, "a failure of another kind");
                return 0;
        }
        expect(s.n > 0, "an empty list");
        for (size_t i = 0; i < s.n; i++) {
                expect(sums_name_valid(s.sums[i].name), "a name that is none");
                expect(!strchr(s.sums[i].name, '/'), "a name that leads elsewhere");
                expect(digest_valid(s.sums[i].digest), "a sum that is none");
        }
        again = sums_format(&s);
        expect(again && strlen(again) == size && memcmp(again, data, size) == 0,
                        "two spellings of one list");
        return 0;
}
