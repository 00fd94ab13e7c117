/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folder-fixture.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

static void put(const char *path, const char *text) {
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static unsigned count_entries(const char *folder) {
        DIR *d = opendir(folder);
        unsigned n = 0;

        assert_non_null(d);
        while (readdir(d))
                n++;
        closedir(d);
        return n - 2;
}

static void a_file_comes_back_as_written(void **state _unused_) {
        static const char data[] = "a\0b\n";
        _cleanup_free_ char *text = NULL;
        size_t size;

        assert_int_equal(write_file_durable("x", data, 4, 0600), 0);
        assert_int_equal(read_file("x", 4, &text, &size), 0);
        assert_int_equal(size, 4);
        assert_memory_equal(text, data, 5); /* with the NUL behind it */
}

static void an_empty_file_reads_as_an_empty_string(void **state _unused_) {
        _cleanup_free_ char *text = NULL;
        size_t size = 1;

        put("x", "");
        assert_int_equal(read_file("x", 0, &text, &size), 0);
        assert_int_equal(size, 0);
        assert_string_equal(text, "");
}

static void reading_stops_at_the_limit(void **state _unused_) {
        char *text = NULL;

        put("x", "12345");
        assert_int_equal(read_file("x", 4, &text, NULL), -EFBIG);
        assert_null(text);
        assert_int_equal(read_file("/dev/zero", 1000, &text, NULL), -EFBIG);
        assert_int_equal(read_file(".", 1000, &text, NULL), -EISDIR);
        assert_int_equal(read_file("none", 1000, &text, NULL), -ENOENT);
}

static void a_file_larger_than_the_buffer_is_read_whole(void **state _unused_) {
        _cleanup_free_ char *data = malloc(100000), *text = NULL;
        size_t size;

        for (size_t i = 0; i < 100000; i++)
                data[i] = (char) i;
        assert_int_equal(write_file_atomic("x", data, 100000, 0644), 0);
        assert_int_equal(read_file("x", 100000, &text, &size), 0);
        assert_int_equal(size, 100000);
        assert_memory_equal(text, data, 100000);
}

static void a_line_loses_its_end(void **state _unused_) {
        _cleanup_free_ char *one = NULL, *two = NULL;

        put("x", "0x10de \r\n");
        put("y", "\n");
        assert_int_equal(read_line_file("x", &one), 0);
        assert_string_equal(one, "0x10de");
        assert_int_equal(read_line_file("y", &two), 0);
        assert_string_equal(two, "");
}

static void writing_replaces_and_leaves_nothing_beside(void **state _unused_) {
        _cleanup_free_ char *text = NULL;
        struct stat st;

        put("x", "old");
        assert_int_equal(write_file_durable("x", "new", 3, 0400), 0);
        assert_int_equal(read_file("x", 10, &text, NULL), 0);
        assert_string_equal(text, "new");
        assert_int_equal(stat("x", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0400);
        assert_int_equal(count_entries("."), 1);
}

static void what_a_killed_write_left_goes_with_the_next(void **state _unused_) {
        put(".imgbuild-draft-AbCdEf", "half of i");
        assert_int_equal(write_file_atomic("x", "new", 3, 0644), 0);
        assert_int_equal(count_entries("."), 1);
}

static void a_write_that_fails_leaves_nothing(void **state _unused_) {
        assert_int_equal(write_file_atomic("none/x", "a", 1, 0644), -ENOENT);
        assert_int_equal(mkdir("x", 0755), 0);
        put("x/y", "");
        assert_int_equal(write_file_atomic("x", "a", 1, 0644), -EISDIR);
        assert_int_equal(count_entries("."), 1);
}

static void folders_are_made_with_their_parents(void **state _unused_) {
        struct stat st;

        assert_int_equal(mkdir_p("a/b/c", 0755), 0);
        assert_int_equal(mkdir_p("a/b/c", 0755), 0);
        assert_int_equal(mkdir_p("a/b/", 0755), 0);
        assert_int_equal(mkdir_parents("d/e/file", 0755), 0);
        assert_int_equal(stat("d/e", &st), 0);
        assert_int_equal(stat("d/e/file", &st), -1);
        put("f", "");
        assert_int_equal(mkdir_p("f", 0755), -ENOTDIR);
        assert_int_equal(mkdir_p("f/g", 0755), -ENOTDIR);
}

static void removing_a_tree_does_not_follow_links(void **state _unused_) {
        struct stat st;

        assert_int_equal(mkdir_p("keep/me", 0755), 0);
        assert_int_equal(mkdir_p("tree/a/b", 0755), 0);
        put("tree/a/b/x", "1");
        assert_int_equal(symlink("../../keep", "tree/a/link"), 0);
        assert_int_equal(chmod("tree/a/b", 0), 0);
        assert_int_equal(rm_rf("tree"), 0);
        assert_int_equal(lstat("tree", &st), -1);
        assert_int_equal(stat("keep/me", &st), 0);
}

static void removing_takes_files_links_and_what_is_not_there(void **state _unused_) {
        struct stat st;

        put("x", "");
        assert_int_equal(symlink("x", "l"), 0);
        assert_int_equal(rm_rf("l"), 0);
        assert_int_equal(stat("x", &st), 0);
        assert_int_equal(rm_rf("x"), 0);
        assert_int_equal(rm_rf("x"), 0);
        assert_int_equal(count_entries("."), 0);
}

static void paths_join_with_one_slash(void **state _unused_) {
        static const char *const cases[][3] = {
                { "a", "b", "a/b" },
                { "a/", "b", "a/b" },
                { "a", "/b", "a/b" },
                { "/", "b", "/b" },
                { "a", "", "a" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *joined = path_join(cases[i][0], cases[i][1]);
                assert_string_equal(joined, cases[i][2]);
        }
        assert_string_equal(path_basename("a/b"), "b");
        assert_string_equal(path_basename("b"), "b");
        assert_string_equal(path_basename("a/"), "");
}

static void a_path_has_a_folder_part(void **state _unused_) {
        static const struct {
                const char *path, *folder;
        } cases[] = {
                { "images/x.json", "images" },
                { "x.json", "." },
                { "/x.json", "/" },
                { "/a/b/c", "/a/b" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *folder = path_folder(cases[i].path);

                assert_string_equal(folder, cases[i].folder);
        }
}

static void deep_tree_is_removed(void **state _unused_) {
        enum { LEVELS = 10000 };
        struct rlimit before, few = { .rlim_cur = 256 };
        int fd;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few.rlim_max = before.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        assert_int_equal(mkdir("deep", 0755), 0);
        put("deep/.deep-0", "in the way");
        fd = open("deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < LEVELS; i++) {
                int next;

                assert_int_equal(mkdirat(fd, "d", 0755), 0);
                next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                close(fd);
                fd = next;
        }
        close(fd);
        assert_int_equal(rm_rf("deep"), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(access("deep", F_OK), -1);
}

static void bytes_are_read_and_written_at_their_place(void **state _unused_) {
        _cleanup_close_ int fd = open("x", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        char four[4] = "";

        assert_true(fd >= 0);
        assert_int_equal(write_all_at(fd, "efgh", 4, 4), 0);
        assert_int_equal(write_all_at(fd, "abcd", 4, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
        assert_int_equal(read_all_at(fd, four, 4, 2), 0);
        assert_memory_equal(four, "cdef", 4);
        assert_int_equal(read_at(fd, four, 4, 6), 2);
        assert_memory_equal(four, "gh", 2);
        assert_int_equal(read_at(fd, four, 4, 100), 0);
        assert_int_equal(read_all_at(fd, four, 4, 6), -EBADMSG);
        assert_int_equal(read_at(-1, four, 4, 0), -EBADF);
        assert_int_equal(write_all_at(-1, four, 4, 0), -EBADF);
}

static void a_lock_is_waited_for_until_the_deadline(void **state _unused_) {
        _cleanup_close_ int first = lock_file("new/lock", now_usec()), second = -EBADF;
        uint64_t begin = now_usec();

        assert_true(first >= 0);
        assert_int_equal(lock_file("new/lock", begin + 30 * USEC_PER_MSEC), -EBUSY);
        assert_true(now_usec() - begin >= 30 * USEC_PER_MSEC);

        first = safe_close(first);
        second = lock_file("new/lock", now_usec());
        assert_true(second >= 0);
        assert_int_equal(symlink("new/lock", "link"), 0);
        assert_int_equal(lock_file("link", now_usec()), -ELOOP);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_file_comes_back_as_written),
                TEST(an_empty_file_reads_as_an_empty_string),
                TEST(reading_stops_at_the_limit),
                TEST(a_file_larger_than_the_buffer_is_read_whole),
                TEST(a_line_loses_its_end),
                TEST(writing_replaces_and_leaves_nothing_beside),
                TEST(what_a_killed_write_left_goes_with_the_next),
                TEST(a_write_that_fails_leaves_nothing),
                TEST(folders_are_made_with_their_parents),
                TEST(removing_a_tree_does_not_follow_links),
                TEST(removing_takes_files_links_and_what_is_not_there),
                TEST(deep_tree_is_removed),
                TEST(paths_join_with_one_slash),
                TEST(a_path_has_a_folder_part),
                TEST(bytes_are_read_and_written_at_their_place),
                TEST(a_lock_is_waited_for_until_the_deadline),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
