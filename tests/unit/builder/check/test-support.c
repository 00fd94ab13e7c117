/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* support.floors: what the recipe makes of it. What is said is test-support.c's of common/. */

#include "check-fixture.h"

#define DATA                                                                                                \
        "{ \"products\": [ { \"product\": \"driver\", \"label\": \"NVIDIA driver\", \"branches\": ["        \
        " { \"branch\": \"550\", \"end\": \"2025-04\" } ] }, { \"product\": \"runc\", \"label\": \"runc\"," \
        " \"branches\": [ { \"branch\": \"1.1\", \"floor\": \"1.1.14\" } ] } ] }"

static char path[] = "/tmp/imgbuild-support-XXXXXX";

static int make(void **state) {
        int fd = mkstemp(path);

        (void) state;
        setenv("IMGBUILD_SUPPORT", path, 1);
        return fd < 0 ? -1 : close(fd) < 0 ? -1 : write_file_atomic(path, DATA, strlen(DATA), 0644);
}

static int done(void **state) {
        (void) state;
        return unlink(path);
}

static void judge(bool fail, const char *driver, const char *runc, Findings *f) {
        const Recipe recipe = { .support_fail = fail };

        if (driver)
                assert_int_equal(findings_fact(f, "driver", driver), 0);
        if (runc)
                assert_int_equal(findings_fact(f, "runc", runc), 0);
        assert_int_equal(check_support(&recipe, f), 0);
}

static void test_a_warning_is_no_error(void **state) {
        _cleanup_(findings_done) Findings f = {};
        _cleanup_json_ json_object *o = NULL;

        (void) state;
        judge(false, "550.163.01", "1.1.5", &f);
        assert_int_equal(f.n, 2);
        assert_int_equal(findings_errors(&f), 0);
        assert_int_equal(findings_to_json(&f, &o), 0);
        assert_string_equal(json_get_string(json_object_array_get_idx(json_get(o, "findings"), 0),
                                            "level"),
                        "warning");
}

static void test_the_recipe_may_want_an_error(void **state) {
        _cleanup_(findings_done) Findings f = {};

        (void) state;
        judge(true, "550.163.01", "1.1.14", &f);
        assert_int_equal(findings_errors(&f), 1);
        assert_string_equal(f.findings[0].rule, "support.floors");
        assert_non_null(strstr(f.findings[0].found, "branch 550 has ended"));
}

static void test_an_image_with_none_of_it_needs_no_data(void **state) {
        _cleanup_(findings_done) Findings f = {};

        (void) state;
        setenv("IMGBUILD_SUPPORT", "/dev/null", 1);
        judge(true, NULL, NULL, &f);
        setenv("IMGBUILD_SUPPORT", path, 1);
        assert_int_equal(f.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_warning_is_no_error),
                cmocka_unit_test(test_the_recipe_may_want_an_error),
                cmocka_unit_test(test_an_image_with_none_of_it_needs_no_data),
        };
        return cmocka_run_group_tests(tests, make, done);
}
