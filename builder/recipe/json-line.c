/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Goes through JSON text (comments allowed) along a path. */

#include "recipe/json-line.h"
#include "common/json-each.h"

#include <stdlib.h>

typedef struct Search {
        const char *path; /* what is left of it */
        size_t index;     /* of the next item of a list */
        size_t matched;   /* how much of the path the part below is */
        JsonSlice value;
        const char *at; /* where that part begins, a key or an item */
} Search;

/* Keys may have dots in them: the longest that the path begins with counts. */
static size_t match_key(const JsonSlice *key, const char *path) {
        bool same = key->size > 0 && strncmp(path, key->text, key->size) == 0;

        return same && strchr(".[", path[key->size]) ? key->size : 0;
}

/* "[N]" at the beginning of the path. */
static size_t match_index(size_t index, const char *path) {
        char *end;
        unsigned long n = *path == '[' ? strtoul(path + 1, &end, 10) : 0;

        return *path == '[' && end > path + 1 && *end == ']' && n == index
                               ? (size_t) (end + 1 - path)
                               : 0;
}

static int look(const JsonSlice *key, const JsonSlice *value, void *userdata) {
        Search *s = userdata;
        size_t n = key ? match_key(key, s->path) : match_index(s->index++, s->path);

        if (n > s->matched) {
                s->matched = n;
                s->value = *value;
                s->at = key ? key->text : value->text;
        }
        return 0;
}

unsigned json_line_of(const char *text, const char *path) {
        _cleanup_free_ char *plain = strdup(text);
        Search s = { .path = *path == '$' ? path + 1 : path };
        unsigned line = 0;
        JsonError ignored;

        if (!plain || json_blank_comments(plain, strlen(plain), &ignored) < 0)
                return 0;
        s.value = (JsonSlice) { plain, strlen(plain) };
        for (;;) {
                s.path += *s.path == '.';
                s.index = s.matched = 0;
                (void) json_each(s.value.text, s.value.size, look, &s);
                if (s.matched == 0)
                        return line;
                s.path += s.matched;
                line = 1;
                for (const char *p = plain; p < s.at; p++)
                        line += *p == '\n';
        }
}
