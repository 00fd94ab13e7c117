/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "disk/firmware.h"

#include "shared/spawn.h"

#include <fcntl.h>
#include <unistd.h>

/* What sfdisk makes of the table, of which the first MiB is left, as disk_wants_uefi() has it. */
static int has_esp(const char *table) {
        _cleanup_free_ char *command = strf(
                        "rm -f disk && truncate -s 2G disk && printf '%s' | sfdisk -q disk && truncate -s 1M disk",
                        table);
        _cleanup_free_ char *output = NULL;
        _cleanup_close_ int fd = -EBADF;
        int status;

        assert_int_equal(spawn_capture(NULL, ARGV("sh", "-c", command), &output, &status), 0);
        if (status != 0)
                fail_msg("sfdisk: %s", output);
        fd = open("disk", O_RDONLY | O_CLOEXEC);
        return table_has_esp(fd);
}

static void test_gpt_with_an_efi_system_partition_is_for_uefi(void **state _unused_) {
        assert_true(has_esp("label: gpt\nsize=1M, type=21686148-6449-6E6F-744E-656564454649\n"
                            "size=100M, type=uefi\nsize=1G\n"));
}

static void test_gpt_without_is_not(void **state _unused_) {
        assert_false(has_esp("label: gpt\nsize=1M, type=21686148-6449-6E6F-744E-656564454649\n"
                             "size=1G\n"));
}

static void test_mbr_with_an_efi_system_partition_is_for_uefi(void **state _unused_) {
        assert_true(has_esp("label: dos\nsize=100M, type=ef\n,,L\n"));
}

static void test_mbr_without_is_not(void **state _unused_) {
        assert_false(has_esp("label: dos\nsize=100M, type=L, bootable\n,,E\nsize=50M\n"));
}

/* Of the header, which its sum covers; the copy at the disk's end is not among what is read. */
static void test_a_damaged_gpt_is_no_disk_without_one(void **state _unused_) {
        static const char damage[64];
        _cleanup_close_ int fd = -EBADF;

        assert_true(has_esp("label: gpt\nsize=100M, type=uefi\nsize=1G\n"));
        fd = open("disk", O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(fd, damage, sizeof(damage), 512), sizeof(damage));
        assert_int_equal(table_has_esp(fd), -EUCLEAN);
}

static void test_a_disk_without_a_table_is_not(void **state _unused_) {
        _cleanup_close_ int fd = open("disk", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

        assert_false(table_has_esp(fd));
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        assert_false(table_has_esp(fd));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(gpt_with_an_efi_system_partition_is_for_uefi),
                TEST(gpt_without_is_not),
                TEST(mbr_with_an_efi_system_partition_is_for_uefi),
                TEST(mbr_without_is_not),
                TEST(a_damaged_gpt_is_no_disk_without_one),
                TEST(a_disk_without_a_table_is_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
