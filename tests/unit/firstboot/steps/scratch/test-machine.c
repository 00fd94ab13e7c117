/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which machine this is, by firmware of our own making. */

#include "root-fixture.h"
#include "steps/scratch/machine.h"

#define DMI "/sys/class/dmi/id/"

static void assert_identity(const char *expected) {
        _cleanup_free_ char *is = NULL;

        assert_return_code(machine_identity(&is), 0);
        if (!expected)
                assert_null(is);
        else
                assert_string_equal(is, expected);
}

static void the_systems_uuid_is_it(void **state) {
        (void) state;
        root_put(DMI "product_uuid", "EC2A1B00-1234-5678-9ABC-DEF012345678\n");
        root_put(DMI "board_serial", "B1234\n");
        assert_identity("ec2a1b00-1234-5678-9abc-def012345678");
}

static void without_a_real_one_it_is_the_boards_serial(void **state) {
        (void) state;
        root_put(DMI "product_uuid", "00000000-0000-0000-0000-000000000000\n");
        root_put(DMI "board_serial", "..CN 1234/A..\n");
        assert_identity("--cn-1234-a--");
}

static void what_firmware_says_everywhere_is_none(void **state) {
        (void) state;
        root_put(DMI "product_uuid", "03000200-0400-0500-0006-000700080009\n");
        root_put(DMI "board_serial", "To be filled by O.E.M.\n");
        assert_identity(NULL);
}

static void samples_with_more_behind_them_are_none(void **state) {
        (void) state;
        root_put(DMI "product_uuid", "12345678-1234-5678-90AB-CDDEEFAABBCC\n");
        root_put(DMI "board_serial", "0123456789ABCDEF\n");
        assert_identity(NULL);
        root_put(DMI "board_serial", "Default string \n");
        assert_identity(NULL);
}

static void without_firmware_there_is_none(void **state) {
        (void) state;
        assert_identity(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_systems_uuid_is_it),
                TEST(without_a_real_one_it_is_the_boards_serial),
                TEST(what_firmware_says_everywhere_is_none),
                TEST(samples_with_more_behind_them_are_none),
                TEST(without_firmware_there_is_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
