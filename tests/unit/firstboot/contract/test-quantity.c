/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/quantity.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static json_object *parse(const char *text) {
        json_object *o = json_tokener_parse(text);

        assert_non_null(o);
        return o;
}

static void sizes_and_durations(void **state) {
        static const struct {
                const char *text;
                uint64_t size, usec;
        } table[] = {
                { "64", 64, 64000000 },
                { "\"64K\"", 65536, 0 },
                { "\"2G\"", UINT64_C(2) << 30, 0 },
                { "\"5min\"", 0, 300000000 },
                { "\"250ms\"", 0, 250000 },
                { "\"2h\"", 0, UINT64_C(7200000000) },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_json_ json_object *v = parse(table[i].text);
                uint64_t n;

                if (table[i].size) {
                        assert_return_code(parse_size(v, &n), 0);
                        assert_true(n == table[i].size);
                } else
                        assert_int_equal(parse_size(v, &n), -EINVAL);
                if (table[i].usec) {
                        assert_return_code(parse_duration(v, &n), 0);
                        assert_true(n == table[i].usec);
                } else
                        assert_int_equal(parse_duration(v, &n), -EINVAL);
        }
}

static int size_of(const char *text) {
        _cleanup_json_ json_object *v = parse(text);
        uint64_t n;

        return parse_size(v, &n);
}

static void sizes_have_plain_letters_for_units(void **state) {
        (void) state;
        assert_int_equal(size_of("\"64k\""), -EINVAL);
        assert_int_equal(size_of("\"64KB\""), -EINVAL);
        assert_int_equal(size_of("\"64KiB\""), -EINVAL);
        assert_int_equal(size_of("\"64B\""), -EINVAL);
        assert_int_equal(size_of("\"K\""), -EINVAL);
        assert_int_equal(size_of("\"\""), -EINVAL);
        assert_int_equal(size_of("true"), -EINVAL);
        assert_int_equal(size_of("\"1T\""), 0);
}

static void what_no_number_can_hold_is_out_of_range(void **state) {
        _cleanup_json_ json_object *hours = parse("\"9223372036854775807h\""), *below = parse("-1");
        uint64_t n;

        (void) state;
        assert_int_equal(size_of("\"9223372036854775807\""), 0);
        assert_int_equal(size_of("\"9223372036854775808\""), -ERANGE);
        assert_int_equal(size_of("\"16777216T\""), -ERANGE);
        assert_int_equal(size_of("-1"), -ERANGE);
        assert_int_equal(parse_duration(hours, &n), -ERANGE);
        assert_int_equal(parse_duration(below, &n), -ERANGE);
}

static void values_that_are_absent_or_wrong_have_the_default(void **state) {
        _cleanup_json_ json_object *o = parse("{\"a\":\"1K\",\"b\":\"much\"}");

        (void) state;
        assert_int_equal(config_size(o, "a", 7), 1024);
        assert_int_equal(config_size(o, "b", 7), 7);
        assert_int_equal(config_duration(o, "c", 7), 7);
        assert_int_equal(config_duration(NULL, "c", 7), 7);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sizes_and_durations),
                cmocka_unit_test(sizes_have_plain_letters_for_units),
                cmocka_unit_test(what_no_number_can_hold_is_out_of_range),
                cmocka_unit_test(values_that_are_absent_or_wrong_have_the_default),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
