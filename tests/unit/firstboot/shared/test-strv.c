/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/strv.h"

static void null_is_an_empty_array(void **state _unused_) {
        _cleanup_strv_free_ char **copy = strv_copy(NULL);
        _cleanup_free_ char *joined = strv_join(NULL, ", ");

        assert_int_equal(strv_length(NULL), 0);
        assert_false(strv_contains(NULL, "x"));
        assert_non_null(copy);
        assert_null(copy[0]);
        assert_string_equal(joined, "");
        strv_remove(NULL, "x");
        strv_sort(NULL);
        assert_null(strv_free(NULL));
}

static void strings_are_appended_in_order(void **state _unused_) {
        _cleanup_strv_free_ char **l = NULL;

        assert_int_equal(strv_extend(&l, "a"), 0);
        assert_int_equal(strv_extendf(&l, "%s-%d", "b", 2), 0);
        assert_int_equal(strv_push(&l, strdup("c")), 0);
        assert_int_equal(strv_extend_many(&l, "d", "e", NULL), 0);
        _cleanup_free_ char *joined = strv_join(l, "|");
        assert_string_equal(joined, "a|b-2|c|d|e");
}

static void pushing_null_is_out_of_memory(void **state _unused_) {
        _cleanup_strv_free_ char **l = NULL;

        assert_int_equal(strv_push(&l, NULL), -ENOMEM);
        assert_null(l);
}

static void appending_an_array_leaves_it_alone(void **state _unused_) {
        _cleanup_strv_free_ char **l = NULL, **more = strv_split("x y", " ");

        assert_int_equal(strv_extend(&l, "a"), 0);
        assert_int_equal(strv_extend_strv(&l, more), 0);
        assert_int_equal(strv_extend_strv(&l, NULL), 0);
        assert_int_equal(strv_length(l), 3);
        assert_int_equal(strv_length(more), 2);
        assert_ptr_not_equal(l[1], more[0]);
}

static void splitting_drops_empty_parts(void **state _unused_) {
        _cleanup_strv_free_ char **l = strv_split(",a,;b;", ",;"), **none = strv_split("", ",");

        assert_int_equal(strv_length(l), 2);
        assert_string_equal(l[0], "a");
        assert_string_equal(l[1], "b");
        assert_non_null(none);
        assert_int_equal(strv_length(none), 0);
}

static void removing_takes_every_equal_string(void **state _unused_) {
        _cleanup_strv_free_ char **l = strv_split("a b a c a", " ");

        strv_remove(l, "a");
        _cleanup_free_ char *joined = strv_join(l, " ");
        assert_string_equal(joined, "b c");
}

static void sorting_is_by_bytes(void **state _unused_) {
        _cleanup_strv_free_ char **l = strv_split("b a B é", " ");

        strv_sort(l);
        _cleanup_free_ char *joined = strv_join(l, " ");
        assert_string_equal(joined, "B a b é");
}

static void copies_share_nothing(void **state _unused_) {
        _cleanup_strv_free_ char **l = strv_split("a b", " "), **copy = strv_copy(l);

        l[0][0] = 'z';
        assert_string_equal(copy[0], "a");
        assert_true(strv_contains(copy, "b"));
}

static void strf_formats(void **state _unused_) {
        _cleanup_free_ char *s = strf("%s/%d", "a", 7);

        assert_string_equal(s, "a/7");
}

static void a_command_line_is_one_expression(void **state _unused_) {
        _cleanup_strv_free_ char **l = NULL;
        const char *path = "/x";

        assert_int_equal(strv_length(ARGV("ls", "-l", path)), 3);
        assert_int_equal(strv_extend_strv(&l, ARGV("ls", path)), 0);
        assert_string_equal(l[1], "/x");
        assert_null(l[2]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_command_line_is_one_expression),
                cmocka_unit_test(null_is_an_empty_array),
                cmocka_unit_test(strings_are_appended_in_order),
                cmocka_unit_test(pushing_null_is_out_of_memory),
                cmocka_unit_test(appending_an_array_leaves_it_alone),
                cmocka_unit_test(splitting_drops_empty_parts),
                cmocka_unit_test(removing_takes_every_equal_string),
                cmocka_unit_test(sorting_is_by_bytes),
                cmocka_unit_test(copies_share_nothing),
                cmocka_unit_test(strf_formats),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
