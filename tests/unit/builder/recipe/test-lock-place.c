/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "recipe/lock-place.h"

#include <sys/wait.h>

static void assert_place(const char *folder, const char *expected) {
        _cleanup_free_ char *place = lock_place(folder, "x");

        assert_string_equal(place, expected);
}

static void beside_the_recipe_in_a_folder_of_ones_own(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *folder = path_join(f->folder, "images"),
                            *expected = path_join(folder, "x.lock.json");

        assert_place(folder, expected);
}

static void an_installed_recipes_lock_is_roots_own(void **state _unused_) {
        if (geteuid() == 0)
                assert_place(DATADIR "/images", "/var/lib/imgbuild" DATADIR "/images/x.lock.json");
        else
                skip();
}

/* As nobody, who may write neither the folder nor /var/lib. */
static void in_child_as_nobody(Fixture *f, void (*fn)(Fixture *f)) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                if (geteuid() == 0 && (setresgid(65534, 65534, 65534) < 0 ||
                                                      setresuid(65534, 65534, 65534) < 0))
                        _exit(2);
                setenv("HOME", "/home/u", 1);
                unsetenv("XDG_DATA_HOME");
                fn(f);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void check(bool right) {
        if (!right)
                _exit(1);
}

static void is_in_home(Fixture *f _unused_) {
        _cleanup_free_ char *place = lock_place("/proc", "x");

        check(streq_ptr(place, "/home/u/.local/share/imgbuild/proc/x.lock.json"));
        setenv("XDG_DATA_HOME", "/data", 1);
        _cleanup_free_ char *other = lock_place("/proc", "x");
        check(streq_ptr(other, "/data/imgbuild/proc/x.lock.json"));
}

static void a_users_is_in_a_folder_of_his_own(void **state) {
        in_child_as_nobody(*state, is_in_home);
}

static void is_beside_until_there_is_an_own(Fixture *f) {
        _cleanup_free_ char *images = path_join(f->folder, "images"),
                            *beside = path_join(images, "x.lock.json"),
                            *data = path_join(f->folder, "data"),
                            *own = strf("%s/imgbuild%s/x.lock.json", data, images);
        _cleanup_free_ char *first = NULL, *second = NULL;

        setenv("XDG_DATA_HOME", data, 1);
        first = lock_place(images, "x");
        check(streq_ptr(first, beside));
        check(mkdir_parents(own, 0755) >= 0 && write_file_atomic(own, "{}", 2, 0644) >= 0);
        second = lock_place(images, "x");
        check(streq_ptr(second, own));
}

static void one_that_came_with_the_recipe_counts_until_there_is_an_own(void **state) {
        Fixture *f = *state;

        put_file("images/x.lock.json", "{}");
        assert_int_equal(chmod(f->folder, 0755), 0);
        assert_int_equal(chmod("images", 0555), 0);
        assert_int_equal(mkdir("data", 0755), 0);
        assert_int_equal(chmod("data", 0777), 0);
        in_child_as_nobody(f, is_beside_until_there_is_an_own);
        assert_int_equal(chmod("images", 0755), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(beside_the_recipe_in_a_folder_of_ones_own),
                TEST(an_installed_recipes_lock_is_roots_own),
                TEST(a_users_is_in_a_folder_of_his_own),
                TEST(one_that_came_with_the_recipe_counts_until_there_is_an_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
