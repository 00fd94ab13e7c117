/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as an .rpm: all three values, none of them empty, or -EBADMSG and none. What follows
 * the header is no matter. */

#include "lock/rpm-header.h"
#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-rpm-header: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_rpm_header_ RpmHeader once = {}, longer = {};
        _cleanup_free_ uint8_t *more = malloc(size + 100);
        int r = rpm_header_parse(data, size, &once);

        if (r < 0) {
                expect(r == -EBADMSG && !once.name && !once.version && !once.arch,
                                "a failure of another kind");
                return 0;
        }
        expect(*once.name && strchr(once.version, '-') && *once.arch, "an empty value");
        if (!more)
                return 0;
        memcpy(more, data, size);
        memset(more + size, 0x8e, 100);
        expect(rpm_header_parse(more, size + 100, &longer) == 0, "with a payload it is none");
        expect(streq(once.name, longer.name) && streq(once.version, longer.version) &&
                                        streq(once.arch, longer.arch),
                        "with a payload it is another");
        return 0;
}
