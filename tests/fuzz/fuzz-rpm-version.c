/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any three texts as versions: an order, of which everything has its mirror image and no circle;
 * and the first as what rpm lists. */

#include "common/rpm-list.h"
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

static int look(const RpmPackage *p, void *userdata _unused_) {
        expect(*p->name && p->version, "a package that is none");
        expect(!p->source == !p->source_version && (!p->source || *p->source), "half a source");
        expect(p->arch || (!p->source && !p->module), "a field behind the end");
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *a = take(&data, &size), *b = take(&data, &size),
                            *c = take(&data, &size);
        int ab, bc;

        if (!a || !b || !c)
                return 0;
        ab = sign(rpm_version_compare(a, b));
        bc = sign(rpm_version_compare(b, c));
        expect(rpm_version_compare(a, a) == 0, "a version is not itself");
        expect(sign(rpm_version_compare(b, a)) == -ab, "no mirror image");
        expect(ab != bc || sign(rpm_version_compare(a, c)) == ab, "a circle");
        expect(rpm_list_read(a, look, NULL) == 0, "no memory");
        return 0;
}
