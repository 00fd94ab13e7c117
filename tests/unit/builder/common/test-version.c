/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/version.h"
#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int sign(int n) {
        return n < 0 ? -1 : n > 0;
}

static void versions_compare_by_number(void **state _unused_) {
        static const struct {
                const char *a, *b;
                int result;
        } cases[] = {
                { "1.0", "1.0", 0 },
                { "1.10", "1.9", 1 },
                { "0.8.0", "0.5.0", 1 },
                { "0.4.1", "0.5.0", -1 },
                { "1", "1.0", 0 },
                { "1.0~rc1", "1.0", -1 },
                { "10", "9", 1 },
                { "2.6.2", "2.6.10", -1 },
                { "1.007", "1.7", 0 },
                { "7.2.22", "10.0.13", -1 },
                { "9.2p1", "9.2", 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(sign(version_compare(cases[i].a, cases[i].b)), cases[i].result);
                assert_int_equal(sign(version_compare(cases[i].b, cases[i].a)), -cases[i].result);
        }
}

static void smaller_is_smaller_both_ways(void **state _unused_) {
        static const struct {
                const char *smaller, *larger;
        } pairs[] = {
                { "1.9", "1.10" },
                { "1.0~rc1", "1.0" },
                { "1.0", "1.0.1" },
                { "550.54.15", "550.163.01" },
                { "12.4", "12.4.1" },
                { "", "1" },
                { "7.2.9", "10" },
                { "2.03.16", "2.3.17" },
                { "1.0a", "1.0b" },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++) {
                assert_true(version_compare(pairs[i].smaller, pairs[i].larger) < 0);
                assert_true(version_compare(pairs[i].larger, pairs[i].smaller) > 0);
        }
}

static void missing_numbers_count_as_zero(void **state _unused_) {
        assert_int_equal(version_compare("12.4", "12.4.0"), 0);
        assert_int_equal(version_compare("12.4.0.0", "12.4"), 0);
        assert_int_equal(version_compare("2.03", "2.3"), 0);
        assert_int_equal(version_compare("", ""), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(versions_compare_by_number),
                cmocka_unit_test(smaller_is_smaller_both_ways),
                cmocka_unit_test(missing_numbers_count_as_zero),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
