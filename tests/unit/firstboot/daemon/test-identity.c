/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "daemon/identity.h"

#include <ctype.h>

#define UUID "4c4c4544-0051-3610-8052-b4c04f564433"
#define UUID_SWAPPED "44454c4c-5100-1036-8052-b4c04f564433"

static void the_clouds_word_decides_and_else_any_fact_that_differs(void **state) {
        static const struct {
                Identity a, b;
                const char *difference;
        } cases[] = {
                { { 0 }, { 0 }, NULL },
                { { .cloud_id = (char *) "i" }, { .cloud_id = (char *) "j" },
                                "the cloud's instance id" },
                /* Stopped and started: other hardware, the same instance. */
                { { .cloud_id = (char *) "i", .dmi_uuid = (char *) "u" },
                                { .cloud_id = (char *) "i", .dmi_uuid = (char *) "v" }, NULL },
                /* The cloud does not answer this time. */
                { { .cloud_id = (char *) "i", .dmi_uuid = (char *) "u" },
                                { .dmi_uuid = (char *) "u" }, NULL },
                { { .cloud_id = (char *) "i", .dmi_uuid = (char *) "u" },
                                { .dmi_uuid = (char *) "v" }, "the DMI UUID" },
                { { .board_serial = (char *) "s" }, { .board_serial = (char *) "t" },
                                "the board's serial number" },
                { { .machine_id = (char *) "m" }, { .machine_id = (char *) "n" },
                                "the machine id" },
                { { .machine_id = (char *) "m" }, { .dmi_uuid = (char *) "u" }, NULL },
                { { .dmi_uuid = (char *) UUID }, { .dmi_uuid = (char *) UUID_SWAPPED }, NULL },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *d = identity_difference(&cases[i].a, &cases[i].b);

                if (!streq_ptr(d, cases[i].difference))
                        fail_msg("case %zu: %s", i, strempty(d));
        }
}

static void what_vendors_leave_in_empty_fields_is_no_identity(void **state) {
        static const char *const fillers[] = { "", "None", "Default string",
                "To be filled by O.E.M.", "00000000-0000-0000-0000-000000000000",
                "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "0", "Not Specified", "........",
                "03000200-0400-0500-0006-000700080009", "\xff\xff" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(fillers); i++) {
                _cleanup_(identity_done) Identity id = {};

                root_put("/sys/class/dmi/id/board_serial", fillers[i]);
                assert_return_code(identity_read(NULL, &id), 0);
                if (id.board_serial)
                        fail_msg("'%s' is taken for a serial number", fillers[i]);
        }
}

static void what_is_known_is_read(void **state) {
        _cleanup_(identity_done) Identity id = {}, back = {};
        _cleanup_json_ json_object *o = NULL;

        (void) state;
        root_put("/sys/class/dmi/id/product_uuid", "4C4C4544-0051-3610-8052-B4C04F564433\n");
        root_put("/sys/class/dmi/id/board_serial", ".51RD3/CN1\n");
        root_put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert_return_code(identity_read("i", &id), 0);
        assert_string_equal(id.dmi_uuid, UUID);
        assert_string_equal(id.board_serial, ".51rd3/cn1");
        assert_string_equal(id.machine_id, "0123456789abcdef0123456789abcdef");
        o = identity_to_json(&id);
        assert_return_code(identity_from_json(o, &back), 0);
        assert_null(identity_difference(&id, &back));
        assert_string_equal(back.cloud_id, "i");

        _cleanup_(identity_done) Identity none = {};
        root_put("/etc/machine-id", "uninitialized\n");
        assert_return_code(identity_read(NULL, &none), 0);
        assert_null(none.machine_id);
}

static void what_is_not_known_now_stays_as_it_was(void **state) {
        _cleanup_(identity_done) Identity id = {};
        const Identity first = { .cloud_id = (char *) "i", .dmi_uuid = (char *) "u" },
                       second = { .dmi_uuid = (char *) "v" };

        (void) state;
        assert_return_code(identity_learn(&id, &first), 0);
        assert_return_code(identity_learn(&id, &second), 0);
        assert_string_equal(id.cloud_id, "i");
        assert_string_equal(id.dmi_uuid, "v");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_clouds_word_decides_and_else_any_fact_that_differs),
                TEST(what_vendors_leave_in_empty_fields_is_no_identity),
                TEST(what_is_known_is_read),
                TEST(what_is_not_known_now_stays_as_it_was),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
