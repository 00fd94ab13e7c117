/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void times_are_from_a_second_to_a_hundred_hours(void **state _unused_) {
        assert_null(value_time_limit("1s"));
        assert_null(value_time_limit("30min"));
        assert_null(value_time_limit("100h"));
        assert_non_null(value_time_limit("999ms"));
        assert_non_null(value_time_limit("101h"));
        assert_non_null(value_time_limit("soon"));
        assert_non_null(value_time_limit("-1h"));
        assert_non_null(value_time_limit(""));
}

static void memory_is_from_16_mib(void **state _unused_) {
        assert_null(value_memory_limit("16M"));
        assert_null(value_memory_limit("8GiB"));
        assert_non_null(value_memory_limit("15M"));
        assert_non_null(value_memory_limit("8 G"));
        assert_non_null(value_memory_limit("lots"));
}

static void a_section_becomes_microseconds_and_bytes(void **state _unused_) {
        static const char text[] = "{\"time\": \"4h\", \"memory\": \"8G\", \"processes\": 100}";
        _cleanup_json_ json_object *section = NULL;
        JsonError e = {};
        Limits l;

        assert_int_equal(json_parse(text, strlen(text), &e, &section), 0);
        l = limits_from_json(section);
        assert_int_equal(l.time_usec, 4 * 3600 * USEC_PER_SEC);
        assert_int_equal(l.memory, UINT64_C(8) << 30);
        assert_int_equal(l.processes, 100);
}

static void what_is_not_said_is_no_limit(void **state _unused_) {
        Limits l = limits_from_json(NULL);

        assert_int_equal(l.time_usec, 0);
        assert_int_equal(l.memory, 0);
        assert_int_equal(l.processes, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(times_are_from_a_second_to_a_hundred_hours),
                cmocka_unit_test(memory_is_from_16_mib),
                cmocka_unit_test(a_section_becomes_microseconds_and_bytes),
                cmocka_unit_test(what_is_not_said_is_no_limit),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
