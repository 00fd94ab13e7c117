/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const Recipe recipe = { .base = { .arch = (char *) "amd64" } };
static const Recipe el = { .family = FAMILY_EL, .base = { .arch = (char *) "amd64" } };

static void add(Lock *l, const char *stage, const char *name, const char *version) {
        LockedStage *s;

        assert_int_equal(lock_add_stage(l, stage, SHA, &s), 0);
        assert_int_equal(locked_stage_add(s, &(LockedPackage) { .name = (char *) name,
                                                             .version = (char *) version,
                                                             .arch = (char *) "amd64" }),
                        0);
}

static void the_packages_say_which_python(void **state) {
        _cleanup_python_target_ PythonTarget t = {};
        _cleanup_lock_free_ Lock *l = NULL;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        add(l, "base", "libc6", "2.41-12+deb13u1");
        add(l, "packages:x", "python3", "3.13.5-1");
        add(l, "packages:y", "python3.13", "3.13.5-2+deb13u4");
        assert_int_equal(python_target(l, NULL, &recipe, "python3", &t), 0);
        assert_string_equal(t.name, "cpython-3.13.5-glibc-2.41-x86_64");
        assert_string_equal(t.minor, "3.13");
        assert_string_equal(t.version, "3.13.5");
        assert_int_equal(t.libc, 41);
}

static void a_python_that_only_compiles_is_not_the_images(void **state) {
        PythonTarget t;
        _cleanup_lock_free_ Lock *l = NULL;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        add(l, "base", "libc6", "2.41-12");
        add(l, "compile:x/0", "python3", "3.13.5-1");
        add(l, "compile:y/0", "python3.13", "3.13.5-2");
        assert_int_equal(python_target(l, NULL, &recipe, "python3", &t), -ENOENT);
}

static void of_family_el_a_python_is_its_own_package(void **state) {
        _cleanup_python_target_ PythonTarget system = {}, other = {};
        _cleanup_lock_free_ Lock *l = NULL;
        PythonTarget t;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        add(l, "base", "glibc", "2.34-168.el9_6.14");
        add(l, "base", "python3", "3.9.21-2.el9");
        add(l, "packages:x", "python3.12", "0:3.12.9-1.el9");
        assert_int_equal(python_target(l, NULL, &el, "python3", &system), 0);
        assert_string_equal(system.name, "cpython-3.9.21-glibc-2.34-x86_64");
        assert_string_equal(system.minor, "3.9");
        assert_int_equal(python_target(l, NULL, &el, "python3.12", &other), 0);
        assert_string_equal(other.name, "cpython-3.12.9-glibc-2.34-x86_64");
        assert_string_equal(other.minor, "3.12");
        assert_int_equal(python_target(l, NULL, &el, "python3.11", &t), -ENOENT);
}

/* Release 10 has 3.12 as python3, and no package python3.12. */
static void the_systems_python_may_be_the_one_that_is_asked_for(void **state) {
        _cleanup_python_target_ PythonTarget t = {};
        _cleanup_lock_free_ Lock *l = NULL;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        add(l, "base", "glibc", "2.39-37.el10");
        add(l, "base", "python3", "3.12.9-2.el10");
        assert_int_equal(python_target(l, NULL, &el, "python3.12", &t), 0);
        assert_string_equal(t.name, "cpython-3.12.9-glibc-2.39-x86_64");
}

static void what_a_base_image_has_counts_unless_a_stage_replaces_it(void **state) {
        _cleanup_python_target_ PythonTarget before = {}, after = {};
        _cleanup_lock_free_ Lock *l = NULL, *image = NULL;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(lock_new("r", &image), 0);
        add(image, "image", "glibc", "2.34-100.el9");
        add(image, "image", "python3", "3.9.18-1.el9");
        assert_int_equal(python_target(l, image, &el, "python3", &before), 0);
        assert_string_equal(before.name, "cpython-3.9.18-glibc-2.34-x86_64");
        add(l, "packages:x", "python3", "3.9.21-2.el9");
        assert_int_equal(python_target(l, image, &el, "python3", &after), 0);
        assert_string_equal(after.version, "3.9.21");
}

/* What a stranger's image calls a version. */
static void what_is_no_version_is_no_python(void **state) {
        static const char *const versions[] = { "", "x;y", "3", ":", "4.1", "-3.9.1" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(versions); i++) {
                _cleanup_lock_free_ Lock *l = NULL, *image = NULL;
                PythonTarget t;

                assert_int_equal(lock_new("r", &l), 0);
                assert_int_equal(lock_new("r", &image), 0);
                add(image, "image", "glibc", "2.34-100.el9");
                add(image, "image", "python3.12", versions[i]);
                assert_int_equal(python_target(l, image, &el, "python3.12", &t), -ENOENT);
        }
}

static void a_locked_target_is_read_back(void **state) {
        _cleanup_python_target_ PythonTarget t = {};

        (void) state;
        assert_int_equal(python_target_parse("cpython-3.9.2-glibc-2.31-aarch64", &t), 0);
        assert_string_equal(t.minor, "3.9");
        assert_string_equal(t.machine, "aarch64");
        assert_int_equal(t.libc, 31);
}

static void what_is_no_target_is_refused(void **state) {
        static const char *const wrong[] = { "", "cpython", "cpython-3-glibc-2.31-x",
                "pypy-3.9.2-glibc-2.31-x", "cpython-3.9.2-glibc-2.4000000-x86_64" };
        PythonTarget t;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                assert_int_equal(python_target_parse(wrong[i], &t), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_packages_say_which_python),
                cmocka_unit_test(a_python_that_only_compiles_is_not_the_images),
                cmocka_unit_test(of_family_el_a_python_is_its_own_package),
                cmocka_unit_test(the_systems_python_may_be_the_one_that_is_asked_for),
                cmocka_unit_test(what_a_base_image_has_counts_unless_a_stage_replaces_it),
                cmocka_unit_test(what_is_no_version_is_no_python),
                cmocka_unit_test(a_locked_target_is_read_back),
                cmocka_unit_test(what_is_no_target_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
