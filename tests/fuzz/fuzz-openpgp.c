/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a locked key: fingerprints of a right length, or -EBADMSG and none. A ring twice has
 * each key twice. */

#include "lock/openpgp.h"
#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-openpgp: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_strv_free_ char **once = NULL, **twice = NULL;
        _cleanup_free_ uint8_t *both = malloc(2 * size + 1);
        int r = openpgp_fingerprints(data, size, &once);

        if (r < 0) {
                expect(r == -EBADMSG && !once, "a failure of another kind");
                return 0;
        }
        expect(strv_length(once) > 0, "success without a key");
        STRV_FOREACH (fingerprint, once)
                expect(strlen(*fingerprint) == 40 || strlen(*fingerprint) == 64,
                                "a fingerprint of another length");
        if (!both)
                return 0;
        memcpy(both, data, size);
        memcpy(both + size, data, size);
        expect(openpgp_fingerprints(both, 2 * size, &twice) == 0, "twice what is a ring is none");
        expect(strv_length(twice) == 2 * strv_length(once), "keys went missing");
        return 0;
}
