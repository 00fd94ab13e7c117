/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/json-strv.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void strings_come_back(void **state) {
        _cleanup_json_ json_object *list = json_from_strv(ARGV("a", "", "ü"));
        _cleanup_strv_free_ char **l = NULL;

        (void) state;
        assert_non_null(list);
        assert_return_code(json_to_strv(list, &l), 0);
        assert_int_equal(strv_length(l), 3);
        assert_string_equal(l[0], "a");
        assert_string_equal(l[1], "");
        assert_string_equal(l[2], "ü");
}

static void none_is_an_empty_list(void **state) {
        _cleanup_json_ json_object *list = json_from_strv(NULL);
        char **l = NULL;

        (void) state;
        assert_int_equal(json_object_array_length(list), 0);
        assert_return_code(json_to_strv(list, &l), 0);
        assert_null(l);
        assert_return_code(json_to_strv(NULL, &l), 0);
        assert_null(l);
}

static void other_items_are_taken_as_they_are_written(void **state) {
        _cleanup_json_ json_object *list = json_tokener_parse("[1, null, true]");
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *text = NULL;

        (void) state;
        assert_return_code(json_to_strv(list, &l), 0);
        text = strv_join(l, " ");
        assert_string_equal(text, "1 null true");
}

static void lists_of_texts_become_string_lists(void **state) {
        _cleanup_json_ json_object *o = json_tokener_parse("{\"a\":[\"x\",7,null],\"b\":\"x\"}");
        _cleanup_strv_free_ char **l = NULL;

        (void) state;
        assert_int_equal(json_get_strings(o, "a", &l), 0);
        assert_int_equal(strv_length(l), 3);
        assert_string_equal(l[0], "x");
        assert_string_equal(l[1], "7");
        assert_string_equal(l[2], "null");
        assert_int_equal(json_get_strings(o, "b", &l), 0);
        assert_int_equal(json_get_strings(o, "absent", &l), 0);
        assert_int_equal(json_get_strings(NULL, "a", &l), 0);
        assert_int_equal(strv_length(l), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(strings_come_back),
                cmocka_unit_test(lists_of_texts_become_string_lists),
                cmocka_unit_test(none_is_an_empty_list),
                cmocka_unit_test(other_items_are_taken_as_they_are_written),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
