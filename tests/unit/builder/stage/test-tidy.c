/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folder-fixture.h"

#include "stage/internal.h"

#include <fcntl.h>
#include <unistd.h>

static void put(const char *path) {
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, "x", 1, 0644), 0);
}

static bool stays(const char *path) {
        return access(path, F_OK) == 0;
}

static void tidy(void) {
        _cleanup_close_ int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(tidy_tree(fd), 0);
}

static void what_is_one_machines_own_goes(void **state _unused_) {
        put("etc/machine-id");
        put("etc/ssh/ssh_host_rsa_key");
        put("etc/ssh/sshd_config");
        tidy();

        assert_false(stays("etc/machine-id"));
        assert_false(stays("etc/ssh/ssh_host_rsa_key"));
        assert_true(stays("etc/ssh/sshd_config"));
}

static void an_overlays_boot_entry_stays(void **state _unused_) {
        put("boot/loader/entries/rescue.conf");
        tidy();

        assert_true(stays("boot/loader/entries/rescue.conf"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_is_one_machines_own_goes),
                TEST(an_overlays_boot_entry_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
