/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables as sfdisk writes them. */

#include "recipe-fixture.h"

#include "inspect/inspect.h"
#include "shared/spawn.h"

#include <fcntl.h>

/* A disk of 64 MiB with the table that the script says. */
static bool parse(const char *script, PartitionTable *ret) {
        _cleanup_close_ int fd = -EBADF;
        bool elsewhere = false;
        int status;

        put_file("disk", "");
        assert_int_equal(truncate("disk", 64 << 20), 0);
        if (script) {
                put_file("script", script);
                assert_int_equal(spawn_run(&(SpawnOptions) { .stdin_path = "script" },
                                                 ARGV("sfdisk", "-q", "disk"), &status),
                                0);
                assert_int_equal(status, 0);
        }
        fd = open("disk", O_RDONLY | O_CLOEXEC);
        assert_int_equal(partition_table_parse(fd, ret, &elsewhere), 0);
        return elsewhere;
}

static void a_gpt_with_names(void **state _unused_) {
        _cleanup_partition_table_ PartitionTable t = {};

        assert_false(parse(
                        "label: gpt\nlabel-id: 5808c8aa-0000-42e0-85d2-e1e90434cfb3\n"
                        "size=20M, type=uefi, name=first\n3: size=4M, type=linux, name=\"a b\"\n",
                        &t));
        assert_string_equal(t.kind, "gpt");
        assert_string_equal(t.id, "5808C8AA-0000-42E0-85D2-E1E90434CFB3");
        assert_int_equal(t.n, 2);
        assert_int_equal(t.partitions[0].number, 1);
        assert_int_equal(t.partitions[0].start, 1 << 20);
        assert_int_equal(t.partitions[0].size, 20 << 20);
        assert_string_equal(t.partitions[0].type, "C12A7328-F81F-11D2-BA4B-00A0C93EC93B");
        assert_string_equal(t.partitions[0].name, "first");
        assert_int_equal(t.partitions[1].number, 3);
        assert_int_equal(t.partitions[1].start, 21 << 20);
        assert_string_equal(t.partitions[1].name, "a b");
}

/* What partition_table_read_backup() builds on: where the header at the beginning is not there, the
 * table is the one at the end, and where that is damaged, there is none. */
static void a_gpt_has_a_backup_at_its_end(void **state _unused_) {
        _cleanup_partition_table_ PartitionTable first = {}, backup = {}, damaged = {};
        static const char nothing[512];
        _cleanup_close_ int fd = -EBADF;
        bool elsewhere;

        parse("label: gpt\nsize=20M, type=uefi\ntype=linux\n", &first);
        fd = open("disk", O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(fd, nothing, 512, 512), 512);
        assert_int_equal(partition_table_parse(fd, &backup, &elsewhere), 0);
        assert_string_equal(backup.id, first.id);
        assert_int_equal(backup.n, 2);
        assert_int_equal(backup.partitions[1].start, first.partitions[1].start);
        assert_int_equal(pwrite(fd, "x", 1, (64 << 20) - 512 + 56), 1);
        assert_int_equal(partition_table_parse(fd, &damaged, &elsewhere), 0);
        assert_string_not_equal(damaged.kind, "gpt");
}

static void an_mbr_has_types_and_no_names(void **state _unused_) {
        _cleanup_partition_table_ PartitionTable t = {};

        assert_false(parse("label: dos\nsize=20M, type=83\ntype=7\n", &t));
        assert_string_equal(t.kind, "msdos");
        assert_int_equal(t.n, 2);
        assert_string_equal(t.partitions[0].type, "0x83");
        assert_string_equal(t.partitions[1].type, "0x07");
        assert_string_equal(t.partitions[1].name, "");
}

static void logical_partitions_are_elsewhere(void **state _unused_) {
        _cleanup_partition_table_ PartitionTable t = {};

        assert_true(parse("label: dos\nsize=20M, type=83\ntype=5\nsize=4M\n", &t));
}

static void a_disk_without_a_table(void **state _unused_) {
        _cleanup_partition_table_ PartitionTable t = {};

        assert_false(parse(NULL, &t));
        assert_string_equal(t.kind, "");
        assert_int_equal(t.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(a_gpt_with_names),
                TEST(a_gpt_has_a_backup_at_its_end),
                TEST(an_mbr_has_types_and_no_names),
                TEST(logical_partitions_are_elsewhere),
                TEST(a_disk_without_a_table),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
