/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void units_are_binary(void **state _unused_) {
        static const struct {
                const char *text;
                uint64_t bytes;
        } good[] = {
                { "0", 0 },
                { "4096", 4096 },
                { "7B", 7 },
                { "64K", 64 << 10 },
                { "64k", 64 << 10 },
                { "512M", 512 << 20 },
                { "8GiB", UINT64_C(8) << 30 },
                { "8GB", UINT64_C(8) << 30 },
                { "16777215T", UINT64_C(16777215) << 40 },
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                uint64_t bytes = 1;

                assert_int_equal(parse_bytes(good[i].text, &bytes), 0);
                assert_int_equal(bytes, good[i].bytes);
        }
}

static void what_is_no_size_is_refused(void **state _unused_) {
        static const char *const bad[] = { "", "G", "-1", "+1", " 1", "1 G", "1.5G", "1X", "1Gi",
                "1GiBB", "1BB" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                uint64_t bytes = 42;

                assert_int_equal(parse_bytes(bad[i], &bytes), -EINVAL);
                assert_int_equal(bytes, 42);
        }
}

static void what_64_bits_cannot_hold_is_refused(void **state _unused_) {
        uint64_t bytes;

        assert_int_equal(parse_bytes("18446744073709551616", &bytes), -ERANGE);
        assert_int_equal(parse_bytes("16777216T", &bytes), -ERANGE);
}

static void sizes_are_shown_with_three_digits_at_most(void **state _unused_) {
        static const struct {
                uint64_t bytes;
                const char *text;
        } cases[] = {
                { 0, "0 B" },
                { 999, "999 B" },
                { 1000, "1.0 KiB" },
                { 1024, "1.0 KiB" },
                { 1536, "1.5 KiB" },
                { UINT64_C(5) << 29, "2.5 GiB" },
                { UINT64_C(3) << 40, "3.0 TiB" },
                { UINT64_C(12) << 30, "12.0 GiB" },
                { UINT64_MAX, "16384.0 PiB" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char text[FORMAT_BYTES_MAX];

                assert_string_equal(format_bytes(text, cases[i].bytes), cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(units_are_binary),
                cmocka_unit_test(what_is_no_size_is_refused),
                cmocka_unit_test(what_64_bits_cannot_hold_is_refused),
                cmocka_unit_test(sizes_are_shown_with_three_digits_at_most),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
