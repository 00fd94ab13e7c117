/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's tables of mounts, as proc_pid_mountinfo(5) has them. */

#include "root-fixture.h"
#include "steps/common/mount-table.h"

static void lines_give_numbers_place_type_and_device(void **state) {
        _cleanup_mount_table_ MountTable t = {};

        (void) state;
        root_put("/proc/self/mountinfo",
                        "22 1 259:2 / / rw,noatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
                        "23 22 0:21 / /proc rw - proc proc rw\n"
                        "nonsense\n");
        assert_int_equal(mount_table_read(&t), 0);
        assert_int_equal(t.n, 2);
        assert_int_equal(t.items[0].major, 259);
        assert_int_equal(t.items[0].minor, 2);
        assert_string_equal(t.items[0].where, "/");
        assert_string_equal(t.items[0].type, "ext4");
        assert_string_equal(t.items[0].device, "/dev/nvme0n1p2");
        assert_string_equal(t.items[1].where, "/proc");
}

static void of_two_at_one_place_the_later_is_mounted_there(void **state) {
        _cleanup_free_ char *source = NULL;

        (void) state;
        root_put("/proc/self/mounts", "server:/a /home nfs rw 0 0\nserver:/b /home nfs rw 0 0\n");
        assert_true(mounted_at("/home", &source));
        assert_string_equal(source, "server:/b");
        assert_true(mounted_at("/home", NULL));
        assert_false(mounted_at("/mnt", NULL));
}

static void a_mount_is_hidden_by_one_that_came_above_it_later(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 259:2 / / rw - ext4 /dev/vda2 rw\n"
                                         "30 22 0:40 / /home/x rw - nfs4 server:/x rw\n"
                                         "31 22 0:41 / /home rw - nfs4 server:/home rw\n"
                                         "32 31 0:42 / /home/y rw - nfs4 server:/y rw\n"
                                         "33 22 0:43 / /home2 rw - nfs4 server:/z rw\n");
        assert_true(mount_is_hidden("/home/x"));
        assert_false(mount_is_hidden("/home"));
        assert_false(mount_is_hidden("/home/y"));
        assert_false(mount_is_hidden("/home2"));
        assert_false(mount_is_hidden("/nowhere"));
}

static void of_two_on_one_another_the_upper_is_seen(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 259:2 / / rw - ext4 /dev/vda2 rw\n"
                                         "30 22 0:40 / /a rw - nfs4 server:/x rw\n"
                                         "31 30 0:41 / /a rw - nfs4 server:/y rw\n"
                                         "32 31 0:42 / /a/b rw - nfs4 server:/z rw\n");
        assert_false(mount_is_hidden("/a"));
        assert_false(mount_is_hidden("/a/b"));
}

static void without_the_tables_nothing_is_known(void **state) {
        MountTable t = {};

        (void) state;
        assert_int_equal(mount_table_read(&t), -ENOENT);
        assert_false(mounted_at("/", NULL));
        assert_false(mount_is_hidden("/"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(lines_give_numbers_place_type_and_device,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(of_two_at_one_place_the_later_is_mounted_there,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(a_mount_is_hidden_by_one_that_came_above_it_later,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                of_two_on_one_another_the_upper_is_seen, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                without_the_tables_nothing_is_known, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
