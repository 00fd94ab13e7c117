/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as large JSON: what is handed out lies in order inside of the text, and each part of
 * what is JSON is JSON. */

#include "common/json-each.h"
#include "shared/json-util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Seen {
        const char *at, *end;
        bool valid;
} Seen;

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-json-each: %s\n", what);
        abort();
}

static void see(Seen *s, const JsonSlice *slice) {
        expect(slice->text >= s->at && slice->text <= s->end &&
                                        slice->size <= (size_t) (s->end - slice->text),
                        "a part outside of the text");
        s->at = slice->text + slice->size;
}

static int visit(const JsonSlice *key, const JsonSlice *value, void *userdata) {
        _cleanup_json_ json_object *o = NULL;
        Seen *s = userdata;
        JsonError error;

        if (key)
                see(s, key);
        see(s, value);
        expect(value->size > 0, "an empty value");
        if (s->valid)
                expect(json_parse(value->text, value->size, &error, &o) == 0,
                                "a part of JSON that is none");
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *) data;
        _cleanup_json_ json_object *whole = NULL;
        Seen s = { text, text + size, false };
        JsonError error;
        int r;

        /* Comments are for files that people write: no such file is read by parts. */
        s.valid = !memchr(text, '/', size) && json_parse(text, size, &error, &whole) == 0 &&
                  (json_object_is_type(whole, json_type_object) ||
                                  json_object_is_type(whole, json_type_array));
        r = json_each(text, size, visit, &s);
        expect(r == 0 || r == -EBADMSG, "a failure of another kind");
        expect(r == 0 || !s.valid, "JSON that is refused");
        return 0;
}
