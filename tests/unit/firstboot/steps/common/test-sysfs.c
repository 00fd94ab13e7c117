/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Attributes of sysfs, as texts and as numbers. */

#include "root-fixture.h"
#include "steps/common/sysfs.h"

#define FOLDER "/sys/block/nvme0n1"

static void padding_is_no_part_of_a_text(void **state) {
        _cleanup_free_ char *model = NULL;

        (void) state;
        root_put(FOLDER "/model", "  Micron 7450  \n");
        model = sysfs_string(FOLDER, "model");
        assert_string_equal(model, "Micron 7450");
        assert_null(sysfs_string(FOLDER, "serial"));
}

static void numbers_are_read_whole_or_not_at_all(void **state) {
        uint64_t n = 7;

        (void) state;
        root_put(FOLDER "/size", "4096\n");
        root_put(FOLDER "/vendor", "0x10de\n");
        root_put(FOLDER "/width", "Unknown\n");
        assert_int_equal(sysfs_number(FOLDER, "size", 10, &n), 0);
        assert_int_equal(n, 4096);
        assert_int_equal(sysfs_number(FOLDER, "vendor", 16, &n), 0);
        assert_int_equal(n, 0x10de);
        assert_int_equal(sysfs_number(FOLDER, "width", 10, &n), -EINVAL);
        assert_int_equal(sysfs_number(FOLDER, "absent", 10, &n), -ENOENT);
        assert_int_equal(n, 0x10de);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                padding_is_no_part_of_a_text, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                numbers_are_read_whole_or_not_at_all, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
