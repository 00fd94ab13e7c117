/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared/json-util.h"

static json_object *parse(const char *text) {
        json_object *o = NULL;
        JsonError e = {};
        int r = json_parse(text, strlen(text), &e, &o);

        if (r < 0)
                print_error("%s: %u:%u: %s\n", text, e.line, e.column, e.message);
        assert_int_equal(r, 0);
        return o;
}

static void assert_wrong_bytes(const char *text, size_t size, unsigned line, unsigned column,
                const char *message) {
        json_object *o = NULL;
        JsonError e = {};
        int r = json_parse(text, size, &e, &o);

        if (r != -EINVAL || e.line != line || e.column != column || !strstr(e.message, message))
                print_error("%s\ngot %d %u:%u: %s\n", text, r, e.line, e.column, e.message);
        assert_int_equal(r, -EINVAL);
        assert_null(o);
        assert_int_equal(e.line, line);
        assert_int_equal(e.column, column);
        assert_non_null(strstr(e.message, message));
}

static void assert_wrong(const char *text, unsigned line, unsigned column, const char *message) {
        assert_wrong_bytes(text, strlen(text), line, column, message);
}

static void comments_are_skipped(void **state _unused_) {
        _cleanup_json_ json_object *o = parse(
                        "// first\n{ \"a\": 1, /* two\nlines */ \"b\": [2] // last\n}\n/* end */");

        assert_int_equal(json_get_int(o, "a", 0), 1);
        assert_non_null(json_get(o, "b"));
}

static void what_looks_like_a_comment_in_a_string_is_text(void **state _unused_) {
        _cleanup_json_ json_object *o = parse("{\"a\": \"http://x/*y*/\", \"b\": \"\\\"//\"}");

        assert_string_equal(json_get_string(o, "a"), "http://x/*y*/");
        assert_string_equal(json_get_string(o, "b"), "\"//");
}

static void positions_hold_behind_comments(void **state _unused_) {
        assert_wrong("/* one\n two */ { // three\n  ?}", 3, 3, "");
}

static void an_unclosed_comment_is_named_where_it_begins(void **state _unused_) {
        assert_wrong("{}\n /* never", 2, 2, "comment is never closed");
}

static void nothing_is_an_empty_file(void **state _unused_) {
        assert_wrong("", 1, 1, "empty");
        assert_wrong(" \n// only a comment\n", 1, 1, "empty");
}

static void a_file_cut_short_is_called_so(void **state _unused_) {
        assert_wrong("{\"a\": [1", 1, 9, "ends in the middle");
        assert_wrong("{\"a\": \"x", 1, 9, "ends in the middle");
        assert_wrong("\"\\", 1, 3, "ends in the middle");
}

static void one_comma_too_many_is_pointed_at(void **state _unused_) {
        assert_wrong("{\n  \"a\": 1,\n}", 2, 9, "comma before the closing }");
        assert_wrong("[1, ]", 1, 3, "comma before the closing ]");
}

static void a_string_open_at_its_line_end_is_pointed_at(void **state _unused_) {
        assert_wrong("{\"a\": \"x,\n \"b\": \"y\"}", 1, 7, "not closed on its line");
}

static void control_characters_in_strings_are_refused(void **state _unused_) {
        assert_wrong("[\"a\tb\"]", 1, 4, "control character 0x09");
        assert_wrong("[\"a\\u0000b\"]", 1, 4, "NUL");
}

static void bytes_that_are_no_text_are_refused(void **state _unused_) {
        assert_wrong_bytes("{\"a\": \0 1}", 10, 1, 7, "NUL");
        assert_wrong("[\"\xff\"]", 1, 3, "0xff is not UTF-8");
        assert_wrong("[\"\xc0\x80\"]", 1, 3, "UTF-8");     /* an overlong NUL */
        assert_wrong("[\"\xed\xa0\x80\"]", 1, 3, "UTF-8"); /* a surrogate */
        assert_wrong("[\"\xf4\x90\x80\x80\"]", 1, 3, "UTF-8");
        assert_wrong("[\"\xe2\x82\"]", 1, 3, "UTF-8");
        assert_wrong("// \xfe\n[]", 1, 4, "UTF-8");
        assert_wrong("\xef\xbb\xbf{}", 1, 1, "byte-order mark");
}

static void utf8_text_passes(void **state _unused_) {
        _cleanup_json_ json_object *o = parse("{\"ä\": \"€ 𝄞\"}");

        assert_string_equal(json_get_string(o, "ä"), "€ 𝄞");
}

static void a_key_given_twice_is_refused(void **state _unused_) {
        assert_wrong("{\"a\": 1,\n \"b\": 2, \"a\": 3}", 2, 10, "\"a\" is given twice");
        assert_wrong("{\"x\": [{\"a\": 1, \"\\u0061\": 2}]}", 1, 17, "\"a\" is given twice");
}

static void the_same_key_in_other_objects_is_fine(void **state _unused_) {
        _cleanup_json_ json_object *o = parse(
                        "{\"a\": {\"a\": [{\"a\": 1}, {\"a\": \"a\"}]}, \"b\": [\"a\", \"a\"]}");

        assert_non_null(o);
}

static char *nested(unsigned depth) {
        char *text = calloc(1, 2 * depth + 1);

        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        return text;
}

static void nesting_has_a_limit(void **state _unused_) {
        _cleanup_free_ char *fine = nested(63), *deep = nested(100000);
        _cleanup_json_ json_object *o = parse(fine);
        JsonError e = {};

        assert_non_null(o);
        json_object *none = NULL;
        assert_int_equal(json_parse(deep, strlen(deep), &e, &none), -EINVAL);
        assert_int_equal(e.line, 1);
        assert_non_null(strstr(e.message, "nested deeper"));
}

static void only_what_json_has_is_taken(void **state _unused_) {
        assert_wrong("{'a': 1}", 1, 2, "double quotes");
        assert_wrong("[1] [2]", 1, 5, "");
        assert_wrong("{a: 1}", 1, 2, "");
        assert_wrong("[True]", 1, 2, "");
        assert_wrong("[1 2]", 1, 4, "");
        assert_wrong("[NaN]", 1, 2, "");
        assert_wrong("[-Infinity]", 1, 2, "");
        assert_wrong("[-01]", 1, 2, "begin with 0");
        assert_wrong("[1.]", 1, 3, "digits are missing");
}

static void numbers_keep_their_value_or_are_refused(void **state _unused_) {
        _cleanup_json_ json_object *o =
                        parse("{\"a\": 9223372036854775807, \"b\": -0, \"c\": 1.5e3}");

        assert_int_equal(json_get_int(o, "a", 0), INT64_MAX);
        assert_int_equal(json_get_int(o, "b", 7), 0);
        assert_true(json_object_get_double(json_get(o, "c")) == 1500.0);
        assert_wrong("[9223372036854775808]", 1, 2, "too large");
        assert_wrong("[1e999]", 1, 2, "too large");
}

static void any_value_may_be_the_whole_file(void **state _unused_) {
        _cleanup_json_ json_object *number = parse("42"), *null = parse("null");

        assert_int_equal(json_object_get_int(number), 42);
        assert_null(null);
}

static void a_file_too_large_or_missing_has_no_position(void **state _unused_) {
        char path[] = "/tmp/imgbuild-json.XXXXXX";
        json_object *o = NULL;
        JsonError e = { .line = 9 };
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 100 * 1024 * 1024), 0);
        close(fd);
        assert_int_equal(json_load(path, 1024 * 1024, &e, &o), -EFBIG);
        assert_int_equal(e.line, 0);
        assert_non_null(strstr(e.message, "1024 KiB"));
        unlink(path);
        assert_int_equal(json_load(path, 1024, &e, &o), -ENOENT);
        assert_int_equal(e.line, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(comments_are_skipped),
                cmocka_unit_test(what_looks_like_a_comment_in_a_string_is_text),
                cmocka_unit_test(positions_hold_behind_comments),
                cmocka_unit_test(an_unclosed_comment_is_named_where_it_begins),
                cmocka_unit_test(nothing_is_an_empty_file),
                cmocka_unit_test(a_file_cut_short_is_called_so),
                cmocka_unit_test(one_comma_too_many_is_pointed_at),
                cmocka_unit_test(a_string_open_at_its_line_end_is_pointed_at),
                cmocka_unit_test(control_characters_in_strings_are_refused),
                cmocka_unit_test(bytes_that_are_no_text_are_refused),
                cmocka_unit_test(utf8_text_passes),
                cmocka_unit_test(a_key_given_twice_is_refused),
                cmocka_unit_test(the_same_key_in_other_objects_is_fine),
                cmocka_unit_test(nesting_has_a_limit),
                cmocka_unit_test(only_what_json_has_is_taken),
                cmocka_unit_test(numbers_keep_their_value_or_are_refused),
                cmocka_unit_test(any_value_may_be_the_whole_file),
                cmocka_unit_test(a_file_too_large_or_missing_has_no_position),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
