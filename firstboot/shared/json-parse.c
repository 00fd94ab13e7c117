/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* json-c parses. Before it, bytes are checked and comments blanked; after it, what it lets through
 * is refused. Positions in messages are the file's. */

#include "shared/json-parse.h"
#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#include <ctype.h>
#include <float.h>
#include <stdarg.h>

#define DEPTH_MAX 64

/* json-c before 0.14, that of EL 8. */
#if JSON_C_VERSION_NUM < 0x000e00
#define JSON_TOKENER_VALIDATE_UTF8 0 /* check_bytes() did */
#define json_tokener_get_parse_end(tokener) ((size_t) (tokener)->char_offset)
#endif

static int fail(JsonError *e, const char *text, const char *at, const char *format, ...)
                _printf_(4, 5);

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

/* Length of the UTF-8 sequence at p, 0 where it is none: json-c's own check lets overlong forms,
 * surrogates and what is beyond U+10FFFF through. */
static size_t utf8_length(const unsigned char *p, const unsigned char *end) {
        size_t n = *p < 0x80                 ? 1
                   : *p >= 0xc2 && *p < 0xe0 ? 2
                   : *p >= 0xe0 && *p < 0xf0 ? 3
                   : *p >= 0xf0 && *p < 0xf5 ? 4
                                             : 0;

        if (n == 0 || (size_t) (end - p) < n)
                return 0;
        for (size_t i = 1; i < n; i++)
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
        if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) ||
                        (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))
                return 0;
        return n;
}

static int check_bytes(const char *text, size_t size, JsonError *e) {
        const char *nul = memchr(text, '\0', size);

        if (nul)
                return fail(e, text, nul, "NUL byte; is this a JSON file?");
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
                return fail(e, text, text, "byte-order mark; save the file as UTF-8 without one");
        for (const char *p = text, *end = text + size; p < end;) {
                size_t n = utf8_length((const unsigned char *) p, (const unsigned char *) end);
                if (n == 0)
                        return fail(e, text, p, "byte 0x%02x is not UTF-8", (unsigned char) *p);
                p += n;
        }
        return 0;
}

void json_clean_utf8(char *text) {
        const char *end = text + strlen(text);

        for (char *p = text; p < end;) {
                size_t n = utf8_length((const unsigned char *) p, (const unsigned char *) end);

                if (n == 0)
                        *p = '?';
                p += MAX(n, 1u);
        }
}

/* Goes to the closing quote of the string that begins at *p. */
static int skip_string(const char *text, char **p, const char *end, JsonError *e) {
        const char *start = *p;

        for ((*p)++; *p < end && **p != '"'; (*p)++) {
                if (**p == '\\' && *p + 1 < end)
                        (*p)++;
                if (**p == '\n')
                        return fail(e, text, start,
                                        "string is not closed on its line; a line break in a string is \\n");
                if ((unsigned char) **p < ' ')
                        return fail(e, text, *p,
                                        "control character 0x%02x in a string; write \\u%04x", **p,
                                        **p);
        }
        return 0;
}

/* Goes to the last character of the comment that begins at *p. */
static int blank_block(const char *text, char **p, const char *end, JsonError *e) {
        char *close = memmem(*p + 2, (size_t) (end - *p - 2), "*/", 2);

        if (!close)
                return fail(e, text, *p, "comment is never closed");
        for (; *p < close + 2; (*p)++)
                if (**p != '\n')
                        **p = ' ';
        (*p)--;
        return 0;
}

/* Knows strings on the way, and so is the one to say that a line ends in the middle of one: json-c
 * would go on to the next quote. */
int json_blank_comments(char *text, size_t size, JsonError *ret_error) {
        char *end = text + size;

        for (char *p = text; p < end; p++) {
                bool pair = *p == '/' && p + 1 < end;
                int r = 0;

                if (*p == '"')
                        r = skip_string(text, &p, end, ret_error);
                else if (*p == '\'') /* which json-c takes for keys */
                        r = fail(ret_error, text, p, "strings are written in double quotes");
                else if (pair && p[1] == '*')
                        r = blank_block(text, &p, end, ret_error);
                else if (pair && p[1] == '/')
                        for (; p < end && *p != '\n'; p++)
                                *p = ' ';
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The string that begins at `start` in text that json-c accepted: *ret_end is its closing quote.
 * \u0000 would cut it short for everybody who reads it as a C string. */
static int check_string(const char *text, const char *start, const char **ret_end, JsonError *e) {
        const char *p;

        for (p = start + 1; *p != '"'; p++)
                if (*p == '\\') {
                        p++;
                        if (startswith(p, "u0000"))
                                return fail(e, text, p - 1, "NUL character in a string");
                }
        *ret_end = p;
        return 0;
}

/* A fraction that is too small is as good as zero. */
static bool number_fits(const char *start, bool whole) {
        double d;

        if (whole) {
                errno = 0;
                (void) strtoll(start, NULL, 10);
                return errno != ERANGE;
        }
        d = strtod(start, NULL);
        return d >= -DBL_MAX && d <= DBL_MAX;
}

/* A number or word outside of strings. json-c knows NaN and Infinity, takes "-01" and "1.", and
 * answers the largest number it has for any that is larger. */
static int check_word(const char *text, const char *start, const char **ret_end, JsonError *e) {
        size_t n = strcspn(start, " \t\r\n,:]}");
        bool whole = true;
        const char *p = start;

        *ret_end = start + n - 1;
        if (strchr("tf", *p) || (*p == 'n' && n == 4))
                return 0;
        if (*p == '-')
                p++;
        if (!isdigit((unsigned char) *p))
                return fail(e, text, start, "%.*s is not a value of JSON", (int) MIN(n, 20u),
                                start);
        if (*p == '0' && isdigit((unsigned char) p[1]))
                return fail(e, text, start, "a number does not begin with 0");
        for (; p < start + n; p++)
                if (strchr(".eE", *p)) {
                        whole = false;
                        if (*p == '.' && !isdigit((unsigned char) p[1]))
                                return fail(e, text, p, "digits are missing after the point");
                }
        return number_fits(start, whole) ? 0 : fail(e, text, start, "the number is too large");
}

/* json-c keeps the last of two equal keys without a word; a person who wrote both meant something.
 * `start` and `end` are its quotes. A key is compared as it reads, however it is escaped. */
static int check_key(const char *text, json_object *seen, const char *start, const char *end,
                JsonError *e) {
        _cleanup_json_ json_object *string = NULL;
        _cleanup_free_ char *quoted = strndup(start, (size_t) (end + 1 - start));
        const char *key;

        if (!quoted)
                return -ENOMEM;
        string = json_tokener_parse(quoted);
        if (!string)
                return -ENOMEM;
        key = json_object_get_string(string);
        if (json_object_object_get_ex(seen, key, NULL))
                return fail(e, text, start, "key \"%.80s\" is given twice", key);
        return json_object_object_add(seen, key, NULL) < 0 ? -ENOMEM : 0;
}

/* Where a walk over a text is: which brackets are open, and of braces the keys so far. */
typedef struct Nesting {
        struct {
                bool object;
                json_object *seen;
        } stack[DEPTH_MAX + 1];
        size_t depth;
} Nesting;

static void nesting_done(Nesting *n) {
        for (size_t i = 0; i < ELEMENTSOF(n->stack); i++)
                json_putp(&n->stack[i].seen);
}

static void nesting_open(Nesting *n, bool object) {
        n->depth++;
        n->stack[n->depth].object = object;
        n->stack[n->depth].seen = object ? json_object_new_object() : NULL;
}

static void nesting_close(Nesting *n) {
        json_putp(&n->stack[n->depth].seen);
        n->stack[n->depth--].seen = NULL;
}

/* A string, and where it is one, a key. */
static int check_string_or_key(const char *text, const char **p, const Nesting *n, JsonError *e) {
        const char *start = *p, *after;
        int r;

        r = check_string(text, start, p, e);
        if (r < 0)
                return r;
        after = *p + 1 + strspn(*p + 1, " \t\r\n");
        if (*after != ':' || !n->stack[n->depth].object)
                return 0;
        return check_key(text, n->stack[n->depth].seen, start, *p, e);
}

/* Refuses what json-c lets through. This walk runs over text that json-c accepted, so it needs to
 * know no more than strings, words and braces. */
static int check_strictly(const char *text, size_t size, JsonError *e) {
        _cleanup_(nesting_done) Nesting n = {};
        const char *end = text + size;

        for (const char *p = text; p < end; p++) {
                int r = 0;

                if (*p == '{' || *p == '[') {
                        if (n.depth == DEPTH_MAX)
                                return 0;
                        nesting_open(&n, *p == '{');
                } else if (*p == '}' || *p == ']') {
                        if (n.depth == 0)
                                return 0;
                        nesting_close(&n);
                } else if (*p == '"')
                        r = check_string_or_key(text, &p, &n, e);
                else if (isalnum((unsigned char) *p) || *p == '-')
                        r = check_word(text, p, &p, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* json-c's words for the slips that are made most would not lead anybody to them. */
static int fail_tokener(JsonError *e, const char *text, size_t size, size_t at,
                enum json_tokener_error error) {
        const char *p = text + MIN(at, size), *before = p;

        if (at >= size || error == json_tokener_continue || error == json_tokener_error_parse_eof)
                return fail(e, text, text + size, "the file ends in the middle of a value");
        while (before > text && strchr(" \t\r\n", before[-1]))
                before--;
        if (before > text && before[-1] == ',' && (*p == ']' || *p == '}'))
                return fail(e, text, before - 1, "comma before the closing %c", *p);
        if (error == json_tokener_error_depth)
                return fail(e, text, p, "nested deeper than %d levels", DEPTH_MAX);
        return fail(e, text, p, "%s", json_tokener_error_desc(error));
}

int json_parse(const char *input, size_t size, JsonError *ret_error, json_object **ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *o = NULL;
        struct json_tokener *tokener;
        int r;

        if (size > INT32_MAX - 1)
                return fail(ret_error, input, input, "larger than 2 GiB");
        text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        if (size > 0)
                memcpy(text, input, size);
        text[size] = '\0';

        r = check_bytes(text, size, ret_error);
        if (r < 0)
                return r;
        r = json_blank_comments(text, size, ret_error);
        if (r < 0)
                return r;
        if (text[strspn(text, " \t\r\n")] == '\0')
                return fail(ret_error, text, text, "the file is empty");

        tokener = json_tokener_new_ex(DEPTH_MAX);
        if (!tokener)
                return -ENOMEM;
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        o = json_tokener_parse_ex(
                        tokener, text, (int) size + 1); /* with the NUL: numbers end there */

        enum json_tokener_error error = json_tokener_get_error(tokener);
        size_t at = json_tokener_get_parse_end(tokener);
        json_tokener_free(tokener);
        if (error != json_tokener_success)
                return fail_tokener(ret_error, text, size, at, error);

        r = check_strictly(text, size, ret_error);
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
                        snprintf(ret_error->message, sizeof(ret_error->message),
                                        "cannot read it: %s", strerror(-r));
                return r;
        }
        return json_parse(text, size, ret_error, ret);
}
