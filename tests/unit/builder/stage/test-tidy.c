/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folder-fixture.h"

#include "stage/internal.h"

#include <fcntl.h>
#include <sys/stat.h>
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

static void tidy_stage(StageKind kind) {
        _cleanup_close_ int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(tidy_upper(fd, kind), 0);
}

/* What dpkg keeps of a package that this layer brought. */
static void put_list(const char *package, const char *file) {
        _cleanup_free_ char *path = strf("var/lib/dpkg/info/%s.list", package),
                            *text = strf("/.\n/etc\n%s\n", file);

        assert_non_null(path);
        assert_non_null(text);
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static void keys_that_a_packages_script_made_go_with_its_stage(void **state _unused_) {
        static const char *const made[] = { "etc/ssh/ssh_host_rsa_key", "etc/munge/munge.key",
                "etc/nvme/hostid", "etc/nvme/hostnqn", "var/lib/dbus/machine-id",
                "var/lib/systemd/random-seed", "var/lib/dkms/mok.key", "var/lib/dkms/mok.pub",
                "var/lib/shim-signed/mok/MOK.priv" };

        for (size_t i = 0; i < ELEMENTSOF(made); i++)
                put(made[i]);
        put("etc/nvme/discovery.conf");
        put_list("nvme-cli", "/etc/nvme/discovery.conf");
        put_list("munge", "/etc/munge");
        tidy_stage(STAGE_PACKAGES);

        for (size_t i = 0; i < ELEMENTSOF(made); i++)
                assert_false(stays(made[i]));
        assert_true(stays("etc/nvme/discovery.conf"));
}

static void a_key_that_a_package_brings_stays_for_the_check_to_name(void **state _unused_) {
        put("etc/munge/munge.key");
        put("etc/nvme/hostnqn");
        put_list("munge", "/etc/munge");
        put_list("site-keys", "/etc/munge/munge.key");
        put_list("site-nvme", "/etc/nvme/hostnqn");
        tidy_stage(STAGE_PACKAGES);

        assert_true(stays("etc/munge/munge.key"));
        assert_true(stays("etc/nvme/hostnqn"));
}

static void what_an_overlays_script_made_stays(void **state _unused_) {
        put("etc/munge/munge.key");
        put("etc/ssh/ssh_host_rsa_key");
        tidy_stage(STAGE_RUN);

        assert_true(stays("etc/munge/munge.key"));
        assert_true(stays("etc/ssh/ssh_host_rsa_key"));
}

static void is_machine_id(const char *text) {
        _cleanup_free_ char *id = NULL;

        assert_int_equal(read_file("etc/machine-id", 64, &id, NULL), 0);
        assert_string_equal(id, text);
}

static void an_id_of_chance_is_the_same_in_all_builds(void **state _unused_) {
        static const char id[] = "0123456789abcdef0123456789abcdef\n";

        assert_int_equal(mkdir_parents("etc/machine-id", 0755), 0);
        assert_int_equal(write_file_atomic("etc/machine-id", id, strlen(id), 0444), 0);
        tidy_stage(STAGE_PACKAGES);

        struct stat st;
        assert_int_equal(stat("etc/machine-id", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0444);
        is_machine_id("696d676275696c64696d676275696c64\n");
}

static void a_machine_id_that_is_none_stays_so(void **state _unused_) {
        assert_int_equal(mkdir_parents("etc/machine-id", 0755), 0);
        assert_int_equal(write_file_atomic("etc/machine-id", "uninitialized\n", 14, 0444), 0);
        tidy_stage(STAGE_PACKAGES);

        is_machine_id("uninitialized\n");
}

static void an_overlays_boot_entry_stays(void **state _unused_) {
        put("boot/loader/entries/rescue.conf");
        tidy();

        assert_true(stays("boot/loader/entries/rescue.conf"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_is_one_machines_own_goes),
                TEST(keys_that_a_packages_script_made_go_with_its_stage),
                TEST(a_key_that_a_package_brings_stays_for_the_check_to_name),
                TEST(what_an_overlays_script_made_stays),
                TEST(an_id_of_chance_is_the_same_in_all_builds),
                TEST(a_machine_id_that_is_none_stays_so),
                TEST(an_overlays_boot_entry_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
