/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any text, masked by its form and by a value. Masked once more it stays as it is, and the value is
 * nowhere in it. */

#include "contract/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-mask: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size), *masked = NULL,
                            *again = NULL, *redacted = NULL, *value = NULL;

        masked = mask_text(text);
        again = mask_text(masked);
        expect(streq(masked, again), "masked twice it is another text");

        value = strndup(text, MIN(strlen(text), 5u));
        redacted = redact_text(text, ARGV(value));
        expect(strlen(value) < 5 || strchr(value, '*') || !strstr(redacted, value),
                        "the value is still there");
        return 0;
}
