/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/file-util.h"
#include "shared/pidfd.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

typedef int (*opener_t)(pid_t pid);
static const opener_t openers[] = { pidfd_of_child, pidfd_by_thread };

static pid_t start_child(void) {
        pid_t pid = fork();

        if (pid == 0) {
                pause();
                _exit(7);
        }
        assert_true(pid > 0);
        return pid;
}

static void it_tells_the_end_and_leaves_the_child_to_be_reaped(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(openers); i++) {
                pid_t pid = start_child();
                _cleanup_close_ int fd = openers[i](pid);
                struct pollfd p = { .fd = fd, .events = POLLIN };
                int status;

                assert_true(fd >= 0);
                assert_int_equal(poll(&p, 1, 50), 0); /* it runs */
                kill(pid, SIGKILL);
                assert_int_equal(poll(&p, 1, 20000), 1);
                assert_true(p.revents != 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFSIGNALED(status));
        }
}

static void a_child_that_ended_before_is_told_too(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(openers); i++) {
                pid_t pid = start_child();
                siginfo_t info;

                kill(pid, SIGKILL);
                assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
                _cleanup_close_ int fd = openers[i](pid);
                struct pollfd p = { .fd = fd, .events = POLLIN };
                assert_int_equal(poll(&p, 1, 20000), 1);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_tells_the_end_and_leaves_the_child_to_be_reaped),
                cmocka_unit_test(a_child_that_ended_before_is_told_too),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
