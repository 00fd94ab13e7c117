/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/draft.h"
#include "shared/file-util.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/imgbuild-draft-test.XXXXXX";

static int setup(void **state _unused_) {
        strcpy(folder + strlen(folder) - 6, "XXXXXX");
        return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state _unused_) {
        return chdir("/") < 0 ? -1 : rm_rf(folder);
}

static size_t count_drafts(void) {
        glob_t g = {};
        size_t n = glob(".imgbuild-draft-*", 0, NULL, &g) == 0 ? g.gl_pathc : 0;

        globfree(&g);
        return n;
}

static void what_a_killed_writer_left_is_swept(void **state _unused_) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                if (draft_begin(".", &path) >= 0)
                        raise(SIGKILL);
                _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(count_drafts(), 1);

        fd = draft_begin(".", &path);
        assert_true(fd >= 0);
        assert_int_equal(count_drafts(), 1);
        assert_int_equal(access(path, F_OK), 0);
}

static void a_writers_draft_is_not_swept(void **state _unused_) {
        _cleanup_free_ char *one = NULL, *two = NULL;
        _cleanup_close_ int fd = draft_begin(".", &one), other = draft_begin(".", &two);

        assert_true(fd >= 0);
        assert_true(other >= 0);
        assert_string_not_equal(one, two);
        assert_int_equal(count_drafts(), 2);
}

static void others_files_are_not_swept(void **state _unused_) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;

        assert_int_equal(write_file_atomic("disk.vhd.new", "mine", 4, 0644), 0);
        assert_int_equal(mkfifo(".imgbuild-draft-fifo", 0644), 0);
        assert_int_equal(symlink("disk.vhd.new", ".imgbuild-draft-link"), 0);
        fd = draft_begin(".", &path);
        assert_true(fd >= 0);
        assert_int_equal(access("disk.vhd.new", F_OK), 0);
        assert_int_equal(count_drafts(), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(what_a_killed_writer_left_is_swept),
                TEST(a_writers_draft_is_not_swept),
                TEST(others_files_are_not_swept),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
