/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Strings and brackets are all that has to be understood to find where a value ends. */

#include "common/json-each.h"

typedef struct Scan {
        const char *at, *end;
} Scan;

static void skip_space(Scan *s) {
        while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
                s->at++;
}

static bool take(Scan *s, char c) {
        skip_space(s);
        if (s->at == s->end || *s->at != c)
                return false;
        s->at++;
        return true;
}

/* From its opening quote on. */
static bool skip_string(Scan *s) {
        for (s->at++; s->at < s->end; s->at++) {
                if (*s->at == '\\')
                        s->at++;
                else if (*s->at == '"') {
                        s->at++;
                        return true;
                }
        }
        s->at = s->end;
        return false;
}

/* A value of any kind; brackets are counted, not matched. */
static bool skip_value(Scan *s) {
        const char *start;
        size_t depth = 0;

        skip_space(s);
        start = s->at;
        while (s->at < s->end) {
                char c = *s->at;

                if (c == '"') {
                        if (!skip_string(s))
                                return false;
                } else if (c == '{' || c == '[') {
                        depth++;
                        s->at++;
                } else if (c == '}' || c == ']') {
                        if (depth == 0)
                                break;
                        depth--;
                        s->at++;
                } else if (depth == 0 && (c == ',' || c == ':' || strchr(" \t\r\n", c))) {
                        break;
                } else {
                        s->at++;
                }
                if (depth == 0 && (c == '"' || c == '}' || c == ']'))
                        break;
        }
        return depth == 0 && s->at > start;
}

static int visit_members(Scan *s, bool object,
                int (*visit)(const JsonSlice *, const JsonSlice *, void *), void *userdata) {
        const char close = object ? '}' : ']';
        int r;

        if (take(s, close))
                return 0;
        for (;;) {
                JsonSlice key = {}, value;

                skip_space(s);
                if (object) {
                        key.text = s->at + 1;
                        if (s->at == s->end || *s->at != '"' || !skip_string(s))
                                return -EBADMSG;
                        key.size = (size_t) (s->at - key.text) - 1;
                        if (!take(s, ':'))
                                return -EBADMSG;
                        skip_space(s);
                }
                value.text = s->at;
                if (!skip_value(s))
                        return -EBADMSG;
                value.size = (size_t) (s->at - value.text);
                r = visit(object ? &key : NULL, &value, userdata);
                if (r != 0)
                        return r;
                if (take(s, close))
                        return 0;
                if (!take(s, ','))
                        return -EBADMSG;
        }
}

/* Several values, one behind the other. */
static int visit_values(Scan *s, int (*visit)(const JsonSlice *, const JsonSlice *, void *),
                void *userdata) {
        int r;

        for (skip_space(s); s->at < s->end; skip_space(s)) {
                JsonSlice value = { .text = s->at };

                if (!skip_value(s))
                        return -EBADMSG;
                value.size = (size_t) (s->at - value.text);
                r = visit(NULL, &value, userdata);
                if (r != 0)
                        return r;
        }
        return 0;
}

int json_each(const char *text, size_t size,
                int (*visit)(const JsonSlice *key, const JsonSlice *value, void *userdata),
                void *userdata) {
        Scan s = { text, text + size }, whole;
        bool object;
        int r;

        skip_space(&s);
        if (s.at == s.end || (*s.at != '{' && *s.at != '['))
                return -EBADMSG;
        object = *s.at == '{';
        whole = s;
        if (!skip_value(&whole))
                return -EBADMSG;
        skip_space(&whole);
        if (whole.at < whole.end)
                return visit_values(&s, visit, userdata);
        s.at++;
        r = visit_members(&s, object, visit, userdata);
        if (r != 0)
                return r;
        skip_space(&s);
        return s.at == s.end ? 0 : -EBADMSG;
}
