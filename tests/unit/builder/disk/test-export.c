/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void every_format_of_recipes_can_be_written(void **state _unused_) {
        assert_string_equal(image_format_find("qcow2")->driver, "qcow2");
        assert_string_equal(image_format_find("raw")->driver, "raw");
        assert_string_equal(image_format_find("vhd")->driver, "vpc");
        assert_string_equal(image_format_find("vmdk")->driver, "vmdk");
}

/* disk_export() and the manifest of old builds rely on it. */
static void the_suffix_of_what_recipes_write_is_its_name(void **state _unused_) {
        assert_string_equal(image_format_find("qcow2")->suffix, "qcow2");
        assert_string_equal(image_format_find("raw")->suffix, "raw");
}

static void archives_are_of_what_qemu_img_writes(void **state _unused_) {
        assert_string_equal(image_format_find("gce")->driver, "raw");
        assert_string_equal(image_format_find("gce")->suffix, "tar.gz");
        assert_string_equal(image_format_find("oci")->driver, "qcow2");
        assert_string_equal(image_format_find("raw.zst")->driver, "raw");
}

static void an_unknown_format_is_none(void **state _unused_) {
        assert_null(image_format_find("qcow"));
        assert_null(image_format_find(""));
}

static void images_of_a_build_are_the_same_bytes_everywhere(void **state _unused_) {
        assert_true(image_format_find("qcow2")->same_bytes);
        assert_true(image_format_find("raw")->same_bytes);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_format_of_recipes_can_be_written),
                cmocka_unit_test(the_suffix_of_what_recipes_write_is_its_name),
                cmocka_unit_test(archives_are_of_what_qemu_img_writes),
                cmocka_unit_test(an_unknown_format_is_none),
                cmocka_unit_test(images_of_a_build_are_the_same_bytes_everywhere),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
