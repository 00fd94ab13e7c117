/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void two_units_say_enough(void **state _unused_) {
        static const struct {
                double seconds;
                const char *text;
        } table[] = {
                { 0, "0 s" },
                { 0.44, "0.4 s" },
                { 12.34, "12.3 s" },
                { 20, "20 s" },
                { 20.02, "20.0 s" },
                { 59.94, "59.9 s" },
                { 59.97, "1 min" },
                { 60, "1 min" },
                { 125.4, "2 min 5 s" },
                { 119.6, "2 min" },
                { 3600, "1 h" },
                { 11040, "3 h 4 min" },
                { 86399.9, "1 d" },
                { 183600, "2 d 3 h" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char text[FORMAT_DURATION_MAX];

                assert_string_equal(
                                format_duration(text, (uint64_t) (table[i].seconds * USEC_PER_SEC)),
                                table[i].text);
        }
}

static void below_a_minute_milliseconds_may_count(void **state _unused_) {
        static const struct {
                uint64_t usec;
                const char *text;
        } table[] = {
                { 0, "0.000 s" },
                { 12345, "0.012 s" },
                { 20 * USEC_PER_SEC, "20.000 s" },
                { 59999400, "59.999 s" },
                { 59999600, "1 min" },
                { 125 * USEC_PER_SEC, "2 min 5 s" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                char text[FORMAT_DURATION_MAX];

                assert_string_equal(format_duration_finely(text, table[i].usec), table[i].text);
        }
}

static void the_longest_time_fits(void **state _unused_) {
        char text[FORMAT_DURATION_MAX];

        assert_string_equal(format_duration(text, UINT64_MAX), "213503982 d 8 h");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(two_units_say_enough),
                cmocka_unit_test(below_a_minute_milliseconds_may_count),
                cmocka_unit_test(the_longest_time_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
