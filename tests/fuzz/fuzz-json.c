/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes to json_parse(): a value that comes back the same when it is printed and parsed again,
 * or an error with a place inside the text. */

#include "shared/json-util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-json: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *o = NULL, *again = NULL;
        JsonError e = {};
        int r = json_parse((const char *) data, size, &e, &o);

        if (r < 0) {
                expect(r == -EINVAL && !o, "a failure of another kind");
                expect(e.line >= 1 && e.column >= 1 && e.line + e.column <= size + 2,
                                "a place outside of the text");
                expect(*e.message != '\0', "no message");
                return 0;
        }
        const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        expect(json_parse(text, strlen(text), &e, &again) == 0,
                        "what was parsed does not parse once printed");
        expect(json_object_equal(o, again), "what was parsed is another value once printed");
        return 0;
}
