/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/support.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define DATA                                                                                                                   \
        "{ \"checked\": \"2026-11-23\", \"products\": [ { \"product\": \"driver\", \"label\": \"the driver\","                 \
        "  \"branches\": [ { \"branch\": \"550\", \"end\": \"2025-04\", \"end_source\": \"somebody\", \"note\": \"a note\" }," \
        "    { \"branch\": \"580\", \"end\": \"2028-06\", \"floor\": \"580.178.04\", \"floor_source\": \"bulletin 1\","        \
        "      \"floor_date\": \"2026-09-30\", \"floor_confirmed\": true },"                                                   \
        "    { \"branch\": \"1.1\", \"floor\": \"1.1.14\", \"floor_source\": \"s\", \"floor_confirmed\": false } ] } ] }"

#define TODAY "2026-11-23"

static char path[] = "/tmp/imgbuild-support-XXXXXX";
static json_object *support;

static void quiet(int level _unused_, const char *line _unused_, void *userdata _unused_) {
}

static int setup(void **state) {
        int fd = mkstemp(path);

        (void) state;
        if (fd < 0 || close(fd) < 0 || write_file_atomic(path, DATA, strlen(DATA), 0644) < 0)
                return -1;
        log_set_writer(quiet, NULL);
        setenv("IMGBUILD_SUPPORT", path, 1);
        return support_load(&support);
}

static int teardown(void **state) {
        (void) state;
        json_object_put(support);
        log_set_writer(NULL, NULL);
        return unlink(path);
}

/* All that is said, one a line. */
static char *say(const char *version, const char *today) {
        _cleanup_strv_free_ char **says = NULL;

        assert_int_equal(support_judge(support, "driver", version, today, &says), 0);
        return strv_join(says, "\n");
}

static void says_nothing(const char *version, const char *today) {
        _cleanup_free_ char *text = say(version, today);

        assert_string_equal(text, "");
}

static void test_below_the_floor(void **state) {
        _cleanup_free_ char *text = say("580.159.03", TODAY);

        (void) state;
        assert_string_equal(text,
                        "the driver 580.159.03 is below 580.178.04, the first of its branch with all known fixes (bulletin 1, 2026-09-30)");
}

static void test_at_and_above_the_floor(void **state) {
        (void) state;
        says_nothing("580.178.04", TODAY);
        says_nothing("580.1780.1", TODAY);
}

static void test_a_branch_without_floor_that_has_ended(void **state) {
        _cleanup_free_ char *text = say("550.163.01", TODAY);

        (void) state;
        assert_string_equal(text,
                        "the driver 550.163.01: support of branch 550 has ended in 2025-04 (somebody, , not confirmed); a note");
}

static void test_the_month_of_the_end_is_supported(void **state) {
        (void) state;
        says_nothing("550.163.01", "2025-04-30");
        says_nothing("550.163.01", "2024-12-31");
        _cleanup_free_ char *text = say("550.163.01", "2025-05-01");
        assert_non_null(strstr(text, "has ended in 2025-04"));
}

static void test_a_branch_that_is_not_known(void **state) {
        _cleanup_free_ char *text = say("5801.1", TODAY);

        (void) state;
        assert_string_equal(text,
                        "the driver 5801.1: nothing is known of this branch's support (data of 2026-11-23)");
}

static void test_a_package_may_have_fixes_of_its_own(void **state) {
        static const char *const packaged[] = { "1.1.5+ds1-1+deb12u1", "1.1.5-2", "2:1.1.5-2" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(packaged); i++) {
                _cleanup_free_ char *text = say(packaged[i], TODAY);

                assert_non_null(strstr(text, packaged[i]));
                assert_non_null(strstr(text, "is below 1.1.14"));
                assert_non_null(strstr(text, "not confirmed"));
                assert_non_null(strstr(
                                text, "Its distribution may have put the fixes into this package"));
        }
        _cleanup_free_ char *text = say("1.1.5", TODAY);
        assert_null(strstr(text, "distribution"));
        says_nothing("1.1.15+ds1-2", TODAY);
}

static void test_a_candidate_is_below_its_release(void **state) {
        _cleanup_free_ char *text = say("1.1.14~rc1-1", TODAY);

        (void) state;
        assert_non_null(strstr(text, "is below 1.1.14"));
}

static void test_what_cannot_be_judged(void **state) {
        char **says = NULL;

        (void) state;
        says_nothing("unknown", TODAY);
        says_nothing("", TODAY);
        assert_int_equal(support_judge(support, "toaster", "1", TODAY, &says), 0);
        assert_null(says);
}

static void test_no_data(void **state) {
        json_object *none = NULL;

        (void) state;
        setenv("IMGBUILD_SUPPORT", "/nonexistent/support.json", 1);
        assert_true(support_load(&none) < 0);
        assert_int_equal(write_file_atomic(path, "[]", 2, 0644), 0);
        setenv("IMGBUILD_SUPPORT", path, 1);
        assert_int_equal(support_load(&none), -EINVAL);
        assert_null(none);
}

/* The file as it is shipped: whoever enters a bulletin is held to the form. */
/* Where the branch says something, it says where that is from. */
static void assert_has_source(json_object *branch, const char *what) {
        static const char *const with[] = { "source", "date", "confirmed" };

        for (size_t i = 0; json_get(branch, what) && i < ELEMENTSOF(with); i++) {
                _cleanup_free_ char *key = strf("%s_%s", what, with[i]);

                if (!json_get(branch, key))
                        fail_msg("branch %s has no %s", json_get_string(branch, "branch"), key);
        }
}

static void test_the_shipped_data(void **state) {
        json_object *shipped = NULL, *products;
        size_t floors = 0;

        (void) state;
        setenv("IMGBUILD_SUPPORT", "builder/common/support.json", 1);
        assert_int_equal(support_load(&shipped), 0);
        products = json_get(shipped, "products");
        for (size_t i = 0; i < json_object_array_length(products); i++) {
                json_object *p = json_object_array_get_idx(products, i),
                            *branches = json_get(p, "branches");

                assert_non_null(json_get_string(p, "product"));
                assert_non_null(json_get_string(p, "label"));
                for (size_t k = 0; k < json_object_array_length(branches); k++) {
                        json_object *b = json_object_array_get_idx(branches, k);

                        assert_non_null(json_get_string(b, "branch"));
                        assert_true(json_get(b, "floor") || json_get(b, "end"));
                        floors += json_get(b, "floor") != NULL;
                        assert_has_source(b, "floor");
                        assert_has_source(b, "end");
                }
        }
        assert_true(floors >= 10);
        json_object_put(shipped);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_below_the_floor),
                cmocka_unit_test(test_at_and_above_the_floor),
                cmocka_unit_test(test_a_branch_without_floor_that_has_ended),
                cmocka_unit_test(test_the_month_of_the_end_is_supported),
                cmocka_unit_test(test_a_branch_that_is_not_known),
                cmocka_unit_test(test_a_package_may_have_fixes_of_its_own),
                cmocka_unit_test(test_a_candidate_is_below_its_release),
                cmocka_unit_test(test_what_cannot_be_judged),
                cmocka_unit_test(test_the_shipped_data),
                cmocka_unit_test(test_no_data),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
