/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folder-fixture.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>

static void names_are_sorted_and_none_is_the_folder_itself(void **state _unused_) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;

        STRV_FOREACH (name, ARGV("b", "a", ".hidden", "..z", "B"))
                assert_int_equal(mkdir(*name, 0755), 0);
        assert_int_equal(folder_open(".", &d), 0);
        assert_int_equal(folder_names(d, &names), 0);
        _cleanup_free_ char *all = strv_join(names, " ");
        assert_string_equal(all, "..z .hidden B a b");
}

static void an_empty_folder_has_no_names(void **state _unused_) {
        char *other[] = { NULL }, **names = other;
        _cleanup_closedir_ DIR *d = NULL;

        assert_int_equal(folder_open(".", &d), 0);
        assert_int_equal(folder_names(d, &names), 0);
        assert_null(names);
}

static void what_is_no_folder_is_an_error_and_its_fd_is_closed(void **state _unused_) {
        DIR *d = NULL;
        int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(folder_open("none", &d), -ENOENT);
        assert_int_equal(folder_from_fd(fd, &d), -ENOTDIR);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        assert_null(d);
}

static int note(int folder, const char *name, const char *path, void *userdata) {
        char ***seen = userdata;
        struct stat st;

        assert_int_equal(fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(strv_extend(seen, path), 0);
        return streq(name, "c") ? -ECANCELED : 0;
}

static void each_entry_is_met_in_order_until_one_ends_it(void **state _unused_) {
        _cleanup_strv_free_ char **seen = NULL;

        STRV_FOREACH (name, ARGV("d", "b", "c"))
                assert_int_equal(mkdir(*name, 0755), 0);
        assert_int_equal(folder_each(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), NULL, note,
                                         &seen),
                        -ECANCELED);
        assert_int_equal(folder_each(open("b", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "b", note,
                                         &seen),
                        0);
        assert_int_equal(folder_each(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "x", note,
                                         &seen),
                        -ECANCELED);
        _cleanup_free_ char *all = strv_join(seen, " ");
        assert_string_equal(all, "b c x/b x/c");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(names_are_sorted_and_none_is_the_folder_itself),
                TEST(an_empty_folder_has_no_names),
                TEST(each_entry_is_met_in_order_until_one_ends_it),
                TEST(what_is_no_folder_is_an_error_and_its_fd_is_closed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
