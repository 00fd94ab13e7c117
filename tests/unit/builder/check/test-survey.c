/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "check-fixture.h"

static void installed_packages_and_holds(void **state) {
        CheckFixture *f = *state;
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };

        put("var/lib/dpkg/status", "Package: a\nStatus: hold ok installed\nVersion: 1\n\n"
                                   "Package: b\nStatus: deinstall ok config-files\nVersion: 2\n\n"
                                   "Package: c\nStatus: install ok installed\nVersion: 3");
        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(tree_survey(&t), 0);
        assert_int_equal(t.n_packages, 2);
        assert_true(tree_package(&t, "a")->held);
        assert_null(tree_package(&t, "b"));
        assert_string_equal(tree_package(&t, "c")->version, "3");
        assert_false(tree_package(&t, "c")->held);
}

static void a_package_s_source_is_said_where_it_is_another(void **state) {
        CheckFixture *f = *state;
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };

        put("var/lib/dpkg/status",
                        "Package: libb\nStatus: install ok installed\nVersion: 1-1+b2\nSource: b (1-1)\n\n"
                        "Package: libc6\nStatus: install ok installed\nVersion: 2\nSource: glibc\n\n"
                        "Package: own\nStatus: install ok installed\nVersion: 3");
        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(tree_survey(&t), 0);
        assert_string_equal(tree_package(&t, "libb")->source, "b");
        assert_string_equal(tree_package(&t, "libb")->source_version, "1-1");
        assert_string_equal(tree_package(&t, "libc6")->source, "glibc");
        assert_null(tree_package(&t, "libc6")->source_version);
        assert_null(tree_package(&t, "own")->source);
}

static void rpm_says_what_a_package_was_made_from(void **state) {
        CheckFixture *f = *state;
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };

        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        t.rpms = "openssl-libs\t1:3.0-2.el9\tx86_64\topenssl-3.0-2.el9.src.rpm\n"
                 "bash\t5.1-9\tx86_64\tbash-5.1-9.src.rpm\nold\t1-1\tnoarch\n";
        assert_int_equal(tree_survey(&t), 0);
        assert_string_equal(tree_package(&t, "openssl-libs")->source, "openssl");
        assert_string_equal(tree_package(&t, "openssl-libs")->source_version, "3.0-2.el9");
        assert_null(tree_package(&t, "bash")->source);
        assert_string_equal(tree_package(&t, "old")->arch, "noarch");
}

/* A database that is no file is not an empty one. */
static void a_folder_for_a_database_is_an_error(void **state) {
        CheckFixture *f = *state;
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };

        assert_int_equal(unlink("var/lib/dpkg/status"), 0);
        assert_int_equal(mkdir_p("var/lib/dpkg/status", 0755), 0);
        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(tree_survey(&t), -EINVAL);
}

static void the_driver_by_its_modules(void **state) {
        CheckFixture *f = *state;
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };

        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(tree_survey(&t), 0);
        assert_true(t.driver);
        assert_int_equal(t.n_modules, 2);
        assert_string_equal(tree_driver_version(&t), DRIVER);
        assert_non_null(tree_module(&t, KERNEL, "nvidia_uvm"));
        assert_null(tree_module(&t, "6.0", "nvidia_uvm"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(installed_packages_and_holds),
                TREE(a_package_s_source_is_said_where_it_is_another),
                TREE(rpm_says_what_a_package_was_made_from),
                TREE(a_folder_for_a_database_is_an_error),
                GPU(the_driver_by_its_modules),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
