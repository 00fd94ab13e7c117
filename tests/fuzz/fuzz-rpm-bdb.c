/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a file of Berkeley DB: what is none stays as it is, what is one becomes the same
 * whatever its identity was, and no byte is written beyond it. */

#include "stage/rpm-bdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-rpm-bdb: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ uint8_t *once = malloc(size + 1), *twice = malloc(size + 1);

        if (!once || !twice || size == 0)
                return 0;
        memcpy(once, data, size);
        once[size] = 0xa5;
        if (!rpm_bdb_settle(once, size, "Packages")) {
                expect(memcmp(once, data, size) == 0, "what is none was changed");
                return 0;
        }
        memcpy(twice, data, size);
        memset(twice + 52, 0x5a, 20);
        expect(rpm_bdb_settle(twice, size, "Packages"), "with another identity it is none");
        expect(memcmp(once, twice, size) == 0, "with another identity it is another");
        expect(once[size] == 0xa5, "a byte beyond was written");
        return 0;
}
