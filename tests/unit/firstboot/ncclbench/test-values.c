/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/values.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void sizes_are_powers_of_1024(void **state _unused_) {
        size_t n;

        assert_int_equal(parse_fractional_size("8", &n), 0);
        assert_int_equal(n, 8);
        assert_int_equal(parse_fractional_size("1.5k", &n), 0);
        assert_int_equal(n, 1536);
        assert_int_equal(parse_fractional_size("2GiB", &n), 0);
        assert_int_equal(n, (size_t) 2 << 30);
}

static void nonsense_sizes_are_refused(void **state _unused_) {
        static const char *const bad[] = { "", "-1", "G", "8X", "1.5", "0x10", "8GG", "nan", "inf",
                "1e40", "9999999T", " 8" };
        size_t n = 77;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_true(parse_fractional_size(bad[i], &n) < 0);
        assert_int_equal(n, 77);
}

static void numbers_stay_within_their_limits(void **state _unused_) {
        unsigned long n = 77;
        double v = 77;

        assert_int_equal(parse_in_range("10", 1, 10, &n), 0);
        assert_int_equal(n, 10);
        assert_int_equal(parse_in_range("11", 1, 10, &n), -EINVAL);
        assert_int_equal(parse_in_range("+1", 1, 10, &n), -EINVAL);
        assert_int_equal(parse_in_range("1x", 1, 10, &n), -EINVAL);
        assert_int_equal(n, 10);
        assert_int_equal(parse_real("0.5", 0, 1, &v), 0);
        assert_true(v == 0.5);
        assert_int_equal(parse_real("nan", 0, 1, &v), -EINVAL);
        assert_int_equal(parse_real("1.5", 0, 1, &v), -EINVAL);
        assert_true(v == 0.5);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes_are_powers_of_1024),
                cmocka_unit_test(nonsense_sizes_are_refused),
                cmocka_unit_test(numbers_stay_within_their_limits),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
