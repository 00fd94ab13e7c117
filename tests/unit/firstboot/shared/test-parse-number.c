/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers that sysfs, logs and other programs write. */

#include "shared/parse-number.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_whole_text_is_one_number(void **state) {
        uint64_t n = 7;

        (void) state;
        assert_int_equal(parse_number("0", 10, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(parse_number("18446744073709551615", 10, &n), 0);
        assert_true(n == UINT64_MAX);
        assert_int_equal(parse_number("0x10de", 16, &n), 0);
        assert_int_equal(n, 0x10de);
        assert_int_equal(parse_number("10de", 16, &n), 0);
        assert_int_equal(n, 0x10de);
        assert_int_equal(parse_number("1777", 8, &n), 0);
        assert_int_equal(n, 01777);
}

static void what_is_no_number_is_refused_and_changes_nothing(void **state) {
        static const char *const bad[] = { "", " 1", "-1", "+1", "1 ", "12a", "x", "0x10" };
        uint64_t n = 7;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(parse_number(bad[i], 10, &n), -EINVAL);
        assert_int_equal(parse_number("0x", 16, &n), -EINVAL);
        assert_int_equal(parse_number("0x0x1", 16, &n), -EINVAL);
        assert_int_equal(parse_number("9", 8, &n), -EINVAL);
        assert_int_equal(parse_number("18446744073709551616", 10, &n), -ERANGE);
        assert_int_equal(n, 7);
}

static void digits_are_read_up_to_what_follows(void **state) {
        const char *text = "79, pid=1", *none = "pid";
        uint64_t n = 7;

        (void) state;
        assert_int_equal(parse_digits(&text, 10, &n), 0);
        assert_int_equal(n, 79);
        assert_string_equal(text, ", pid=1");
        assert_int_equal(parse_digits(&none, 10, &n), -EINVAL);
        assert_string_equal(none, "pid");
        assert_int_equal(n, 79);
}

static void what_must_follow_a_number_is_taken_with_it(void **state) {
        const char *text = "6,1234;message", *other = "6;1", *all = "6";
        uint64_t n = 7;

        (void) state;
        assert_int_equal(parse_digits_until(&text, 10, ',', &n), 0);
        assert_int_equal(n, 6);
        assert_string_equal(text, "1234;message");
        assert_int_equal(parse_digits_until(&other, 10, ',', &n), -EINVAL);
        assert_string_equal(other, "6;1");
        assert_int_equal(parse_digits_until(&all, 10, ',', &n), -EINVAL);
}

static void a_rate_begins_with_its_number(void **state) {
        double d = 7;

        (void) state;
        assert_int_equal(parse_leading_real("16.0 GT/s PCIe", &d), 0);
        assert_true(d == 16.0);
        assert_int_equal(parse_leading_real("400 Gb/sec (4X NDR)", &d), 0);
        assert_true(d == 400.0);
        assert_int_equal(parse_leading_real("Unknown", &d), -EINVAL);
        assert_int_equal(parse_leading_real("-1 Gb/sec", &d), -EINVAL);
        assert_int_equal(parse_leading_real(NULL, &d), -EINVAL);
        assert_true(d == 400.0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_whole_text_is_one_number),
                cmocka_unit_test(what_is_no_number_is_refused_and_changes_nothing),
                cmocka_unit_test(digits_are_read_up_to_what_follows),
                cmocka_unit_test(what_must_follow_a_number_is_taken_with_it),
                cmocka_unit_test(a_rate_begins_with_its_number),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
