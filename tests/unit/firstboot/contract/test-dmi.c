/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"

#include "contract/dmi.h"

static void what_the_firmware_says_is_taken_in_lower_case(void **state _unused_) {
        _cleanup_free_ char *text = NULL;

        root_put("/sys/class/dmi/id/product_uuid", "4C4C4544-0042-3510-8054-B7C04F4A3433\n");
        assert_int_equal(dmi_read("product_uuid", &text), 0);
        assert_string_equal(text, "4c4c4544-0042-3510-8054-b7c04f4a3433");
}

static void what_vendors_leave_unfilled_is_nothing(void **state _unused_) {
        static const char *const fillers[] = { "To Be Filled By O.E.M.", "Default string", "None",
                "Not Specified", "00000000-0000-0000-0000-000000000000", "........", "FFFF-FFFF",
                "03000200-0400-0500-0006-000700080009", "0123456789ABCDEF", "" };

        for (size_t i = 0; i < ELEMENTSOF(fillers); i++) {
                char *text = NULL;

                root_put("/sys/class/dmi/id/board_serial", fillers[i]);
                assert_int_equal(dmi_read("board_serial", &text), 0);
                if (text)
                        fail_msg("\"%s\" was taken for a serial number", fillers[i]);
        }
}

static void a_field_that_is_not_there_is_nothing(void **state _unused_) {
        char *text = NULL;

        assert_int_equal(dmi_read("product_uuid", &text), 0);
        assert_null(text);
}

static void bytes_that_are_no_text_are_made_text(void **state _unused_) {
        _cleanup_free_ char *text = NULL;

        root_put("/sys/class/dmi/id/board_serial", "AB\377\n");
        assert_int_equal(dmi_read("board_serial", &text), 0);
        assert_non_null(text);
        assert_null(strchr(text, '\377'));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_the_firmware_says_is_taken_in_lower_case),
                TEST(what_vendors_leave_unfilled_is_nothing),
                TEST(a_field_that_is_not_there_is_nothing),
                TEST(bytes_that_are_no_text_are_made_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
