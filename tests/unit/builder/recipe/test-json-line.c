/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe/json-line.h"
#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = "// a comment with a \"quote\" and {\n"
                           "{\n"
                           "  \"name\": \"x\", /* \"name\":\n"
                           "  \"base\" */ \"base\": {\n"
                           "    \"release\":\n"
                           "      \"a \\\"}\"\n"
                           "  },\n"
                           "  \"overlays\": [\n"
                           "    \"one\",\n"
                           "    \"two\"\n"
                           "  ],\n"
                           "  \"host\": { \"sysctl\": {\n"
                           "    \"net\": 1,\n"
                           "    \"net.core.somaxconn\": 2,\n"
                           "    \"vm[0]\": 3 } },\n"
                           "  \"mounts\": [ { \"what\": \"a\" },\n"
                           "    { \"what\": \"b\",\n"
                           "      \"where\": [ ] } ]\n"
                           "}\n";

static void a_key_is_told_with_its_line(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.name"), 3);
        assert_int_equal(json_line_of(text, "$.base.release"), 5);
}

static void the_path_may_lack_its_dollar(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "base.release"), 5);
}

static void comments_and_strings_are_passed_over(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.base"), 4);
        assert_int_equal(json_line_of(text, "$.overlays"), 8);
        assert_int_equal(json_line_of("{ /*/ \n */ \"a\": 0 }", "$.a"), 2);
}

static void an_item_of_a_list_has_its_own(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.overlays[1]"), 10);
        assert_int_equal(json_line_of(text, "$.mounts[1].what"), 17);
        assert_int_equal(json_line_of(text, "$.mounts[1].where"), 18);
}

static void a_key_with_dots_is_the_longest_that_fits(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.host.sysctl.net.core.somaxconn"), 14);
        assert_int_equal(json_line_of(text, "$.host.sysctl.net"), 13);
        assert_int_equal(json_line_of(text, "$.host.sysctl.vm[0]"), 15);
}

static void what_is_missing_is_told_where_its_object_begins(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.base.mirror"), 4);
        assert_int_equal(json_line_of(text, "$.overlays[2]"), 8);
        assert_int_equal(json_line_of(text, "$.name.first"), 3);
        assert_int_equal(json_line_of(text, "$.mounts[1].where[0]"), 18);
}

static void what_has_no_place_has_no_line(void **state) {
        (void) state;
        assert_int_equal(json_line_of(text, "$.nowhere"), 0);
        assert_int_equal(json_line_of(text, "$"), 0);
        assert_int_equal(json_line_of(text, "$.nam"), 0);
        assert_int_equal(json_line_of("", "$.name"), 0);
        assert_int_equal(json_line_of("name: x\n", "$.name"), 0);
        assert_int_equal(json_line_of(text, "$.overlays[x]"), 8);
}

static void text_that_is_cut_off_is_not_read_beyond(void **state) {
        (void) state;
        for (size_t n = 0; n < sizeof(text); n++) {
                _cleanup_free_ char *part = strndup(text, n);

                assert_non_null(part);
                (void) json_line_of(part, "$.mounts[1].where[3]");
                (void) json_line_of(part, "$.host.sysctl.net.core.somaxconn");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_key_is_told_with_its_line),
                cmocka_unit_test(the_path_may_lack_its_dollar),
                cmocka_unit_test(comments_and_strings_are_passed_over),
                cmocka_unit_test(an_item_of_a_list_has_its_own),
                cmocka_unit_test(a_key_with_dots_is_the_longest_that_fits),
                cmocka_unit_test(what_is_missing_is_told_where_its_object_begins),
                cmocka_unit_test(what_has_no_place_has_no_line),
                cmocka_unit_test(text_that_is_cut_off_is_not_read_beyond),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
