/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "recipe/problems.h"

static void a_problem_has_the_line_of_its_key(void **state) {
        _cleanup_problems_ Problems p = {};

        (void) state;
        put_file("images/x.json", "{\n  // the name\n  \"name\": 1,\n  \"base\": {}\n}\n");
        problems_add(&p, "images/x.json", "$.name", "is %s", "wrong");
        problems_add(&p, "images/x.json", "$.base.distro", "missing");
        assert_string_equal(p.lines[0], "images/x.json:3: $.name: is wrong");
        assert_string_equal(p.lines[1], "images/x.json:4: $.base.distro: missing");
}

static void what_has_no_place_has_none(void **state) {
        _cleanup_problems_ Problems p = {};

        (void) state;
        put_file("images/x.yaml", "name: 1\n");
        problems_add(&p, "images/x.yaml", "$.name", "is wrong");
        problems_add(&p, "images/none.json", "$.name", "is wrong");
        problems_add(&p, "images/x.yaml", NULL, "is wrong");
        assert_string_equal(p.lines[0], "images/x.yaml: $.name: is wrong");
        assert_string_equal(p.lines[1], "images/none.json: $.name: is wrong");
        assert_string_equal(p.lines[2], "images/x.yaml: is wrong");
}

static void a_problem_is_known_at_its_path_and_around_it(void **state) {
        _cleanup_problems_ Problems p = {};

        (void) state;
        put_file("images/x.json", "{\n\"base\": {}\n}\n");
        problems_add(&p, "images/x.json", "$.base", "is wrong");
        assert_true(problems_at(&p, "images/x.json", "$.base.distro"));
        assert_true(problems_at(&p, NULL, "$.base"));
        assert_false(problems_at(&p, "images/x.json", "$.bases"));
        assert_false(problems_at(&p, "images/y.json", "$.base"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_problem_has_the_line_of_its_key, fixture_setup, fixture_teardown),
                cmocka_unit_test_setup_teardown(
                                what_has_no_place_has_none, fixture_setup, fixture_teardown),
                cmocka_unit_test_setup_teardown(a_problem_is_known_at_its_path_and_around_it,
                                fixture_setup, fixture_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
