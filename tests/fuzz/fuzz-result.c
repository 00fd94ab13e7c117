/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a step's verdict: one that can be counted on has a known status, and comes back the
 * same; anything else has a code and a message. */

#include "contract/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-result: %s\n", what);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *o = NULL, *again = NULL;
        _cleanup_free_ char *message = NULL, *none = NULL, *words = NULL;
        const char *code = result_parse((const char *) data, size, &o, &message);

        if (code) {
                expect(startswith(code, "step.verdict-") && message, "no reason");
                return 0;
        }
        expect(o && !message, "neither verdict nor reason");
        expect(result_status_is_known(json_get_string(o, "status")), "an unknown status passes");
        words = result_words(o);
        expect(words != NULL, "no words");
        const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        expect(!result_parse(text, strlen(text), &again, &none), "it does not pass once printed");
        return 0;
}
