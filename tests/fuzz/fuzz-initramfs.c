/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as an initramfs: an errno of the few that are promised, or paths none of which is empty
 * or begins with a slash; zeros behind it change nothing. */

#include "common/initramfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-initramfs: %s\n", what);
        abort();
}

static int take(const char *path, void *userdata) {
        size_t *n = userdata;

        expect(*path && *path != '/', "a path that is none");
        *n += 1;
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        size_t once = 0, longer = 0;
        uint8_t *more = calloc(1, size + 8);
        int r = initramfs_visit(data, size, take, &once);

        expect(r == 0 || r == -EBADMSG || r == -EOPNOTSUPP || r == -ENOMEM, "another error");
        if (more && r == 0 && size > 0) {
                memcpy(more, data, size);
                r = initramfs_visit(more, size + 8, take, &longer);
                expect(r == 0 && longer >= once, "zeros behind it are something");
        }
        free(more);
        return 0;
}
