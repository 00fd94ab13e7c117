/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recipe/schema.h"
#include "shared/strv.h"

static const char *check_even(const char *s) {
        return strlen(s) % 2 == 0 ? NULL : "is odd";
}

static const char *const colours[] = { "red", "green", NULL };
static const Schema word = { .flags = SCHEMA_STRING, .check = check_even };
static const Schema inner_keys[] = {
        { .key = "must", .flags = SCHEMA_STRING | SCHEMA_REQUIRED },
        { .key = "may", .flags = SCHEMA_BOOL },
        {},
};
static const Schema inner = { .flags = SCHEMA_OBJECT, .keys = inner_keys };
static const Schema table[] = {
        { .key = "colour", .flags = SCHEMA_STRING, .choices = colours },
        { .key = "count", .flags = SCHEMA_INT, .max = 9 },
        { .key = "either",
                        .flags = SCHEMA_STRING | SCHEMA_OBJECT,
                        .keys = inner_keys,
                        .check = check_even },
        { .key = "words", .flags = SCHEMA_LIST | SCHEMA_REMOVABLE, .item = &word },
        { .key = "fixed", .flags = SCHEMA_LIST, .item = &word },
        { .key = "inners", .flags = SCHEMA_LIST, .item = &inner },
        { .key = "map",
                        .flags = SCHEMA_OBJECT | SCHEMA_MAP,
                        .check_key = check_even,
                        .item = &word },
        { .key = "free", .flags = SCHEMA_OBJECT | SCHEMA_FREE },
        {},
};

/* Validates text; what is left must be `left`, the messages (newline after each) `messages`. */
static void assert_validated(
                const char *text, bool extends, const char *left, const char *messages) {
        _cleanup_problems_ Problems p = {};
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *joined = NULL;
        JsonError e;

        assert_int_equal(json_parse(text, strlen(text), &e, &o), 0);
        schema_validate(&p, "f", table, o, extends);
        joined = strv_join(p.lines, "\n");
        assert_string_equal(joined, messages);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), left);
        assert_false(p.oom);
}

static void what_is_right_stays(void **state _unused_) {
        static const char text[] =
                        "{\"colour\":\"red\",\"count\":9,\"either\":\"ab\",\"words\":[\"ab\",\"cd\"],"
                        "\"inners\":[{\"must\":\"x\",\"may\":true}],\"map\":{\"ab\":\"cd\"},\"free\":{\"anything\":[null,1.5]}}";

        assert_validated(text, false, text, "");
        assert_validated("{\"either\":{\"must\":\"x\"}}", false, "{\"either\":{\"must\":\"x\"}}",
                        "");
}

static void what_is_wrong_is_taken_out(void **state _unused_) {
        assert_validated("{\"colour\":\"rde\",\"count\":10,\"words\":[\"ab\",\"abc\",7],\"zz\":1}",
                        false, "{\"words\":[\"ab\",null,null]}",
                        "f: $.colour: \"rde\" is not one of red, green; did you mean \"red\"?\n"
                        "f: $.count: must be from 0 to 9\n"
                        "f: $.words[1]: \"abc\" is odd\n"
                        "f: $.words[2]: must be a string, not a number\n"
                        "f: $.zz: unknown key; known are colour, count, either, words, fixed, inners, map, free");
}

static void an_item_without_what_it_needs_is_taken_out(void **state _unused_) {
        assert_validated("{\"inners\":[{\"may\":true},{\"must\":1},{\"must\":\"x\"}]}", false,
                        "{\"inners\":[null,null,{\"must\":\"x\"}]}",
                        "f: $.inners[0].must: missing\n"
                        "f: $.inners[1].must: must be a string, not a number");
}

static void a_map_checks_keys_and_values(void **state _unused_) {
        assert_validated("{\"map\":{\"abc\":\"ab\",\"ab\":\"abc\",\"cd\":\"ef\"}}", false,
                        "{\"map\":{\"cd\":\"ef\"}}",
                        "f: $.map.abc: \"abc\" is odd\n"
                        "f: $.map.ab: \"abc\" is odd");
}

static void either_type_is_named(void **state _unused_) {
        assert_validated("{\"either\":[]}", false, "{}",
                        "f: $.either: must be a string or an object, not a list");
}

static void a_minus_needs_something_to_take_from(void **state _unused_) {
        assert_validated("{\"words\":[\"-ab\",\"-abc\"]}", true, "{\"words\":[\"-ab\",null]}",
                        "f: $.words[1]: \"abc\" is odd");
        assert_validated("{\"words\":[\"-ab\"]}", false, "{\"words\":[null]}",
                        "f: $.words[0]: \"-ab\" takes something away, but this recipe extends none");
        assert_validated("{\"fixed\":[\"-ab\"]}", true, "{\"fixed\":[null]}",
                        "f: $.fixed[0]: \"-ab\" is odd");
}

static void a_list_has_a_limit(void **state _unused_) {
        _cleanup_strv_free_ char **words = NULL;
        _cleanup_problems_ Problems p = {};
        _cleanup_json_ json_object *o = NULL;
        JsonError e;

        for (int i = 0; i < 5001; i++)
                assert_int_equal(strv_extendf(&words, "\"%06d\"", i), 0);
        _cleanup_free_ char *joined = strv_join(words, ","),
                            *text = strf("{\"words\": [%s]}", joined);
        assert_int_equal(json_parse(text, strlen(text), &e, &o), 0);
        schema_validate(&p, "f", table, o, false);
        assert_int_equal(p.n, 1);
        assert_string_equal(p.lines[0],
                        "f: $.words: has 5001 items; more than 5000 are no list that a person keeps");
        assert_int_equal(json_object_array_length(json_get(o, "words")), 5000);
}

static void paths_quote_what_is_no_word(void **state _unused_) {
        static const char *const cases[][2] = {
                { "a", "$.a" },
                { "a-b_1", "$.a-b_1" },
                { "1", "$[\"1\"]" },
                { "a b", "$[\"a b\"]" },
                { "", "$[\"\"]" },
                { "etc/x", "$[\"etc/x\"]" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *path = schema_path("$", cases[i][0]);
                assert_string_equal(path, cases[i][1]);
        }
}

static void problems_are_told_once(void **state _unused_) {
        _cleanup_problems_ Problems p = {};

        problems_add(&p, "f", "$.a", "x");
        problems_add(&p, "f", "$.a", "x");
        problems_add(&p, "g", "$.a", "x");
        assert_int_equal(p.n, 2);
}

static void problems_are_found_by_path(void **state _unused_) {
        _cleanup_problems_ Problems p = {};

        problems_add(&p, "f", "$.a.b", "x");
        problems_add(&p, "f", NULL, "about the whole file");
        assert_true(problems_at(&p, NULL, "$.a.b"));
        assert_true(problems_at(&p, "f", "$.a"));
        assert_true(problems_at(&p, "f", "$.a.b[3].c"));
        assert_false(problems_at(&p, "f", "$.a.bc"));
        assert_false(problems_at(&p, "f", "$.x"));
        assert_false(problems_at(&p, "ff", "$.a.b"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_right_stays),
                cmocka_unit_test(what_is_wrong_is_taken_out),
                cmocka_unit_test(an_item_without_what_it_needs_is_taken_out),
                cmocka_unit_test(a_map_checks_keys_and_values),
                cmocka_unit_test(either_type_is_named),
                cmocka_unit_test(a_minus_needs_something_to_take_from),
                cmocka_unit_test(a_list_has_a_limit),
                cmocka_unit_test(paths_quote_what_is_no_word),
                cmocka_unit_test(problems_are_told_once),
                cmocka_unit_test(problems_are_found_by_path),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
