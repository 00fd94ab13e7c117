/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json-util.h"
#include "file-util.h"
#include "strv.h"

#include <ctype.h>
#include <stdarg.h>

#define DEPTH_MAX 64

static int fail(JsonError *e, const char *text, const char *at, const char *format, ...) _printf_(4, 5);

static int fail(JsonError *e, const char *text, const char *at, const char *format, ...) {
        va_list ap;

        e->line = e->column = 1;
        for (const char *p = text; p < at; p++)
                if (*p == '\n') {
                        e->line++;
                        e->column = 1;
                } else
                        e->column++;
        va_start(ap, format);
        vsnprintf(e->message, sizeof(e->message), format, ap);
        va_end(ap);
        return -EINVAL;
}

/* Overwrites comments with spaces, so that positions stay what they are in the file. */
static int blank_comments(char *text, size_t size, JsonError *e) {
        char *end = text + size;

        for (char *p = text; p < end; p++) {
                if (*p == '"') {
                        for (p++; p < end && *p != '"'; p++)
                                if (*p == '\\')
                                        p++;
                } else if (p + 1 < end && p[0] == '/' && p[1] == '/') {
                        for (; p < end && *p != '\n'; p++)
                                *p = ' ';
                } else if (p + 1 < end && p[0] == '/' && p[1] == '*') {
                        char *start = p, *close = memmem(p + 2, (size_t) (end - p - 2), "*/", 2);
                        if (!close)
                                return fail(e, text, start, "comment is never closed");
                        for (; p < close + 2; p++)
                                if (*p != '\n')
                                        *p = ' ';
                        p--;
                }
        }
        return 0;
}

/* json-c keeps the last of two equal keys without a word; a person who wrote both meant something.
 * This walk runs over text that json-c accepted, so it needs to know no more than strings and braces. */
static int refuse_double_keys(const char *text, size_t size, JsonError *e) {
        struct {
                bool object;
                json_object *seen;
        } stack[DEPTH_MAX + 1] = {};
        size_t depth = 0;
        const char *end = text + size;
        int r = 0;

        for (const char *p = text; p < end && r == 0; p++) {
                if (*p == '{' || *p == '[') {
                        if (++depth > DEPTH_MAX)
                                break;
                        stack[depth].object = *p == '{';
                        stack[depth].seen = *p == '{' ? json_object_new_object() : NULL;
                } else if (*p == '}' || *p == ']') {
                        if (depth == 0)
                                break;
                        json_putp(&stack[depth].seen);
                        stack[depth--].seen = NULL;
                } else if (*p == '"') {
                        const char *start = p;

                        for (p++; p < end && *p != '"'; p++)
                                if (*p == '\\')
                                        p++;
                        const char *after = p + 1;
                        while (after < end && isspace((unsigned char) *after))
                                after++;
                        if (after < end && *after == ':' && depth > 0 && stack[depth].object) {
                                _cleanup_free_ char *key = strndup(start + 1, (size_t) (p - start - 1));

                                if (!key)
                                        r = -ENOMEM;
                                else if (json_object_object_get_ex(stack[depth].seen, key, NULL))
                                        r = fail(e, text, start, "key \"%.80s\" is given twice", key);
                                else
                                        json_object_object_add(stack[depth].seen, key, NULL);
                        }
                }
        }
        for (size_t i = 0; i < ELEMENTSOF(stack); i++)
                json_putp(&stack[i].seen);
        return r;
}

int json_parse(const char *input, size_t size, JsonError *ret_error, json_object **ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *o = NULL;
        struct json_tokener *tokener;
        int r;

        text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        memcpy(text, input, size);
        text[size] = '\0';

        const char *nul = memchr(text, '\0', size);
        if (nul)
                return fail(ret_error, text, nul, "NUL byte; is this a JSON file?");
        r = blank_comments(text, size, ret_error);
        if (r < 0)
                return r;

        const char *first = text + strspn(text, " \t\r\n");
        if (first == text + size)
                return fail(ret_error, text, text, "the file is empty");

        if (size > INT32_MAX - 1)
                return fail(ret_error, text, text, "larger than 2 GiB");
        tokener = json_tokener_new_ex(DEPTH_MAX);
        if (!tokener)
                return -ENOMEM;
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(tokener, text, (int) size + 1); /* with the NUL: numbers end there */

        enum json_tokener_error error = json_tokener_get_error(tokener);
        size_t at = json_tokener_get_parse_end(tokener);
        json_tokener_free(tokener);
        if (error == json_tokener_continue)
                return fail(ret_error, text, text + size, "the file ends in the middle of a value");
        if (error != json_tokener_success)
                return fail(ret_error, text, text + MIN(at, size), "%s", json_tokener_error_desc(error));

        r = refuse_double_keys(text, size, ret_error);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

int json_load(const char *path, size_t max, JsonError *ret_error, json_object **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_file(path, max, &text, &size);
        if (r < 0) {
                ret_error->line = ret_error->column = 0;
                if (r == -EFBIG)
                        snprintf(ret_error->message, sizeof(ret_error->message),
                                        "larger than the %zu KiB such a file may have", max / 1024);
                else
                        snprintf(ret_error->message, sizeof(ret_error->message), "cannot read it: %s",
                                        strerror(-r));
                return r;
        }
        return json_parse(text, size, ret_error, ret);
}

json_object *json_get(json_object *o, const char *key) {
        json_object *value = NULL;

        if (!o || !json_object_is_type(o, json_type_object))
                return NULL;
        json_object_object_get_ex(o, key, &value);
        return value;
}

const char *json_get_string(json_object *o, const char *key) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

int64_t json_get_int(json_object *o, const char *key, int64_t fallback) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : fallback;
}

bool json_get_bool(json_object *o, const char *key, bool fallback) {
        json_object *value = json_get(o, key);
        return value && json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value) : fallback;
}

int json_set(json_object *o, const char *key, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_object_add(o, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int json_set_string(json_object *o, const char *key, const char *value) {
        return value ? json_set(o, key, json_object_new_string(value)) : 0;
}

int json_set_int(json_object *o, const char *key, int64_t value) {
        return json_set(o, key, json_object_new_int64(value));
}

int json_save(const char *path, json_object *o, mode_t mode) {
        _cleanup_free_ char *text = NULL;
        const char *json = json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);

        if (!json || !(text = strf("%s\n", json)))
                return -ENOMEM;
        return write_file_durable(path, text, strlen(text), mode);
}
