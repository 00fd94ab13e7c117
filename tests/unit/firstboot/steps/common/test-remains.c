/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a device without signature may hold, on sparse files of the size that matters. Whole file
 * systems with their beginnings gone are in tests/cli/firstboot-scratch.sh. */

#include "steps/common/remains.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MIB (UINT64_C(1024) * 1024)
#define GIB (1024 * MIB)

static int fd = -EBADF;
static Signature found[SIGNATURES_MAX];

static int setup(void **state) {
        char name[] = "/var/tmp/firstboot-test.XXXXXX";

        (void) state;
        fd = mkostemp(name, O_CLOEXEC);
        return fd < 0 ? -1 : unlink(name);
}

static int teardown(void **state) {
        (void) state;
        fd = safe_close(fd);
        return 0;
}

static void make_disk(uint64_t bytes) {
        assert_return_code(ftruncate(fd, (off_t) bytes), errno);
}

static void put(uint64_t at, const void *data, size_t size) {
        assert_int_equal(pwrite(fd, data, size, (off_t) at), size);
}

static void assert_remains(const char *type) {
        int n = probe_remains(fd, found);

        assert_return_code(n, -n);
        assert_int_equal(n, 1);
        assert_string_equal(found[0].type, type);
        assert_true(found[0].remains);
}

static void assert_data_at(uint64_t at) {
        uint64_t is = 0;

        assert_int_equal(probe_data(fd, &is), 1);
        assert_int_equal(is, at);
}

static void an_empty_disk_has_neither(void **state) {
        uint64_t at;

        (void) state;
        make_disk(4000 * GIB);
        assert_int_equal(probe_remains(fd, found), 0);
        assert_int_equal(probe_data(fd, &at), 0);
}

static void a_small_empty_disk_has_neither(void **state) {
        uint64_t at;

        (void) state;
        make_disk(3 * 512);
        assert_int_equal(probe_remains(fd, found), 0);
        assert_int_equal(probe_data(fd, &at), 0);
}

static void erased_flash_is_no_data(void **state) {
        static uint8_t ones[8192];
        uint64_t at;

        (void) state;
        make_disk(GIB);
        memset(ones, 0xff, sizeof(ones));
        put(4096, ones, sizeof(ones));
        assert_int_equal(probe_data(fd, &at), 0);
}

static void a_single_byte_at_the_beginning_is_data(void **state) {
        (void) state;
        make_disk(GIB);
        put(70000, "x", 1);
        assert_data_at(69632);
}

static void a_single_byte_at_the_end_is_data(void **state) {
        (void) state;
        make_disk(GIB);
        put(GIB - 1, "x", 1);
        assert_data_at(GIB - 4096);
}

/* Samples lie 2 MiB apart here: what is longer than two of their distances is always met. */
static void data_in_the_middle_is_found(void **state) {
        static uint8_t block[MIB];
        uint64_t at;

        (void) state;
        make_disk(2 * GIB);
        memset(block, 'x', sizeof(block));
        for (uint64_t i = 0; i < 5; i++)
                put(GIB + i * MIB, block, sizeof(block));
        assert_int_equal(probe_data(fd, &at), 1);
        assert_in_range(at, GIB, GIB + 5 * MIB);
}

static void the_backup_of_a_gpt_is_seen(void **state) {
        (void) state;
        make_disk(4000 * GIB);
        put(4000 * GIB - 512, "EFI PART", 8);
        assert_remains("gpt");
}

static void the_backup_of_a_gpt_of_large_sectors_is_seen(void **state) {
        (void) state;
        make_disk(4000 * GIB);
        put(4000 * GIB - 4096, "EFI PART", 8);
        assert_remains("gpt");
}

static void lvms_text_without_a_label_is_seen(void **state) {
        (void) state;
        make_disk(GIB);
        put(4096 + 4, " LVM2 x[5A%r0N*>", 16);
        assert_remains("LVM2_member");
}

static void luks_second_header_is_seen(void **state) {
        (void) state;
        make_disk(GIB);
        put(4 * MIB, "SKUL\xba\xbe\x00\x02", 8);
        assert_remains("crypto_LUKS");
}

static void an_old_md_superblock_at_the_end_is_seen(void **state) {
        (void) state;
        make_disk(GIB);
        put(GIB - 65536, "\xfc\x4e\x2b\xa9\x00\x00\x00\x00\x5a\x00\x00\x00", 12);
        assert_remains("linux_raid_member");
}

static void a_zfs_label_at_the_end_is_seen(void **state) {
        (void) state;
        make_disk(GIB);
        put(GIB - 128 * 1024, "\x0c\xb1\xba\x00\x00\x00\x00\x00\x88\x13\x00\x00\x00\x00\x00\x00",
                        16);
        assert_remains("zfs_member");
}

static void the_second_superblock_of_a_large_xfs_is_seen(void **state) {
        (void) state;
        make_disk(8000 * GIB);
        put(1024 * GIB, "XFSB\x00\x00\x10\x00", 8);
        assert_remains("xfs");
}

static void a_bluestores_copy_is_seen(void **state) {
        (void) state;
        make_disk(200 * GIB);
        put(100 * GIB, "bluestore block device\n", 23);
        assert_remains("ceph_bluestore");
}

/* Two bytes are no superblock. */
static void the_magic_of_ext_alone_is_none(void **state) {
        (void) state;
        make_disk(GIB);
        put(1024 + 56, "\x53\xef", 2);
        assert_int_equal(probe_remains(fd, found), 0);
}

static void what_cannot_be_read_is_an_error(void **state) {
        _cleanup_close_ int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        uint64_t at;

        (void) state;
        assert_true(probe_remains(folder, found) < 0);
        assert_true(probe_data(folder, &at) < 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(an_empty_disk_has_neither),
                TEST(a_small_empty_disk_has_neither),
                TEST(erased_flash_is_no_data),
                TEST(a_single_byte_at_the_beginning_is_data),
                TEST(a_single_byte_at_the_end_is_data),
                TEST(data_in_the_middle_is_found),
                TEST(the_backup_of_a_gpt_is_seen),
                TEST(the_backup_of_a_gpt_of_large_sectors_is_seen),
                TEST(lvms_text_without_a_label_is_seen),
                TEST(luks_second_header_is_seen),
                TEST(an_old_md_superblock_at_the_end_is_seen),
                TEST(a_zfs_label_at_the_end_is_seen),
                TEST(the_second_superblock_of_a_large_xfs_is_seen),
                TEST(a_bluestores_copy_is_seen),
                TEST(the_magic_of_ext_alone_is_none),
                TEST(what_cannot_be_read_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
