/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "stage/internal.h"

#include <sys/stat.h>

#define ENVIRONMENT "/opt/ml/x"

static void assert_stray(const char *expected) {
        _cleanup_free_ char *stray = NULL;

        assert_int_equal(stage_find_stray("upper", ENVIRONMENT, &stray), 0);
        if (expected)
                assert_string_equal(stray, expected);
        else
                assert_null(stray);
}

static void only_the_environment_is_changed(void **state _unused_) {
        put_file("upper/opt/ml/x/bin/tool", "x");
        put_file("upper/opt/ml/x/lib/y", "x");
        assert_stray(NULL);
}

static void an_empty_layer_is_well(void **state _unused_) {
        assert_int_equal(mkdir_p("upper", 0755), 0);
        assert_stray(NULL);
}

static void a_file_elsewhere_is_found(void **state _unused_) {
        put_file("upper/opt/ml/x/bin/tool", "x");
        put_file("upper/etc/cron.d/x", "x");
        assert_stray("/etc/cron.d/x");
}

static void a_neighbour_of_the_environment_is_found(void **state _unused_) {
        put_file("upper/opt/ml/x/bin/tool", "x");
        put_file("upper/opt/ml/xx", "x");
        assert_stray("/opt/ml/xx");
}

/* overlayfs' sign for what was removed is no folder either. */
static void a_way_that_is_no_folder_any_more_is_found(void **state _unused_) {
        put_file("upper/opt/ml", "x");
        assert_stray("/opt/ml");
}

static void a_link_on_the_way_is_found(void **state _unused_) {
        put_file("upper/opt/x", "x");
        assert_int_equal(rm_rf("upper/opt"), 0);
        put_file("elsewhere/ml/x/tool", "x");
        assert_int_equal(symlink("../elsewhere", "upper/opt"), 0);
        assert_stray("/opt");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(only_the_environment_is_changed),
                TEST(an_empty_layer_is_well),
                TEST(a_file_elsewhere_is_found),
                TEST(a_neighbour_of_the_environment_is_found),
                TEST(a_way_that_is_no_folder_any_more_is_found),
                TEST(a_link_on_the_way_is_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
