/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a path, and after its line break as JSON with comments: no line is beyond the text,
 * and each plain key of what is a JSON object has one. */

#include "recipe/json-line.h"
#include "shared/json-util.h"
#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-json-line: %s\n", what);
        abort();
}

/* Neither a path's own signs, nor what text and key may spell differently. */
static bool is_plain(const char *key) {
        size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789");

        return n > 0 && key[n] == '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *path = strndup((const char *) data, size), *text = NULL;
        _cleanup_json_ json_object *o = NULL;
        unsigned lines = 1;
        JsonError error;
        char *end;

        if (!path)
                return 0;
        end = strchr(path, '\n');
        text = strdup(end ? end + 1 : "");
        if (!text)
                return 0;
        if (end)
                *end = '\0';
        for (const char *p = text; *p; p++)
                lines += *p == '\n';

        expect(json_line_of(text, path) <= lines, "a line beyond the text");
        if (json_parse(text, strlen(text), &error, &o) < 0 ||
                        !json_object_is_type(o, json_type_object))
                return 0;
        json_object_object_foreach (o, key, value) {
                _cleanup_free_ char *of_key = strf("$.%s", key);

                (void) value;
                if (of_key && is_plain(key) && !strchr(text, '\\'))
                        expect(json_line_of(text, of_key) > 0, "a key without a line");
        }
        return 0;
}
