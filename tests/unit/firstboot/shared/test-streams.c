/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* streams.c: each test is a child with streams of its own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/macro.h"
#include "shared/streams.h"

#include <fcntl.h>
#include <sys/wait.h>

/* What the child returns. */
static int in_child(int (*fn)(void)) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(fn());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static int all_closed(void) {
        int fd;

        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        if (streams_hold() < 0)
                return 1;
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd <= STDERR_FILENO)
                return 2;
        if (read(STDIN_FILENO, &fd, 1) != 0)
                return 3;
        if (write(STDOUT_FILENO, "x", 1) >= 0)
                return 4;
        return write(STDERR_FILENO, "x", 1) == 1 ? 0 : 5;
}

static void test_no_file_becomes_a_stream(void **state _unused_) {
        assert_int_equal(in_child(all_closed), 0);
}

static int nothing_closed(void) {
        int fds[2];
        char c = 0;

        if (pipe(fds) < 0 || dup2(fds[1], STDOUT_FILENO) < 0 || streams_hold() < 0)
                return 1;
        printf("x");
        if (streams_finish(0) != 0 || streams_finish(7) != 7)
                return 2;
        return read(fds[0], &c, 1) == 1 && c == 'x' ? 0 : 3;
}

static void test_what_is_open_stays(void **state _unused_) {
        assert_int_equal(in_child(nothing_closed), 0);
}

static int print_to(const char *path, size_t n) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
                return 1;
        for (size_t i = 0; i < n; i++)
                putchar('x');
        return streams_finish(0);
}

static int full_at_once(void) {
        return print_to("/dev/full", 1);
}

static int full_on_the_way(void) {
        return print_to("/dev/full", 1000000);
}

static int nothing_printed(void) {
        return print_to("/dev/full", 0);
}

static void test_what_cannot_be_written_is_told(void **state _unused_) {
        assert_int_equal(in_child(full_at_once), 1);
        assert_int_equal(in_child(full_on_the_way), 1);
        assert_int_equal(in_child(nothing_printed), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_no_file_becomes_a_stream),
                cmocka_unit_test(test_what_is_open_stays),
                cmocka_unit_test(test_what_cannot_be_written_is_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
