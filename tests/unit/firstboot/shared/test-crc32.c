/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/crc32.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* The check value of the catalogue of CRCs (CRC-32/ISO-HDLC), and what zlib says of others. */
static void sums_are_zlibs(void **state _unused_) {
        assert_int_equal(crc32_sum(0, "123456789", 9), 0xcbf43926);
        assert_int_equal(crc32_sum(0, "", 0), 0);
        assert_int_equal(crc32_sum(0, "\0", 1), 0xd202ef8d);
        assert_int_equal(crc32_sum(0, "\377\377\377\377", 4), 0xffffffff);
}

static void a_sum_goes_on_where_it_stopped(void **state _unused_) {
        assert_int_equal(crc32_sum(crc32_sum(0, "1234", 4), "56789", 5), 0xcbf43926);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sums_are_zlibs),
                cmocka_unit_test(a_sum_goes_on_where_it_stopped),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
