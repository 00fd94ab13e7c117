/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which of an overlay's files come before the initramfs. */

#include "folder-fixture.h"
#include "plan/internal.h"

static void early_paths(void **state _unused_) {
        assert_true(plan_path_is_early("etc/modprobe.d/nvidia.conf"));
        assert_true(plan_path_is_early("/etc/fstab"));
        assert_false(plan_path_is_early("etc/modprobe.dx"));
        assert_false(plan_path_is_early("etc/motd"));
}

static void assert_has(const char *folder, bool early, bool late) {
        Overlay o = { .path = (char *) ".", .has_files = true };

        assert_int_equal(mkdir_p(folder, 0755), 0);
        assert_int_equal(plan_has_files(&o, true), early);
        assert_int_equal(plan_has_files(&o, false), late);
        assert_int_equal(rm_rf("files"), 0);
}

static void a_folder_above_an_early_one_is_nothing_of_its_own(void **state _unused_) {
        assert_has("files/etc/modprobe.d", true, false);
        assert_has("files/usr/lib/modules/6.12", true, false);
}

static void an_empty_folder_is_meant_too(void **state _unused_) {
        assert_has("files/srv/data", false, true);
        assert_has("files", false, false);
}

static void both_kinds_may_lie_in_one_folder(void **state _unused_) {
        assert_int_equal(mkdir_p("files/etc", 0755), 0);
        assert_int_equal(write_file_atomic("files/etc/motd", "", 0, 0644), 0);
        assert_has("files/etc/udev/rules.d", true, true);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(early_paths),
                TEST(a_folder_above_an_early_one_is_nothing_of_its_own),
                TEST(an_empty_folder_is_meant_too),
                TEST(both_kinds_may_lie_in_one_folder),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
