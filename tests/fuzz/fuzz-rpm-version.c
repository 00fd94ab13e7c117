/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any three texts as versions: an order, of which everything has its mirror image and no circle. */

#include "common/rpm-version.h"

#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-rpm-version: %s\n", what);
        abort();
}

static int sign(int n) {
        return (n > 0) - (n < 0);
}

/* The text up to the next NUL, behind which *data then stands. */
static char *take(const uint8_t **data, size_t *size) {
        size_t n = strnlen((const char *) *data, *size);
        char *text = strndup((const char *) *data, n);

        n += n < *size;
        *data += n;
        *size -= n;
        return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *a = take(&data, &size), *b = take(&data, &size),
                            *c = take(&data, &size), *name = NULL, *version = NULL;
        int ab, bc;

        if (!a || !b || !c)
                return 0;
        ab = sign(rpm_version_compare(a, b));
        bc = sign(rpm_version_compare(b, c));
        expect(rpm_version_compare(a, a) == 0, "a version is not itself");
        expect(sign(rpm_version_compare(b, a)) == -ab, "no mirror image");
        expect(ab != bc || sign(rpm_version_compare(a, c)) == ab, "a circle");
        expect(rpm_source_split(a, &name, &version) == 0, "no memory");
        expect(!name == !version && (!name || *name), "half a source");
        return 0;
}
