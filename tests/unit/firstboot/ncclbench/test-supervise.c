/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/deadline.h"
#include "shared/spawn.h"
#include "ncclbench/supervise.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

static char seen[1 << 20];

static void on_line(Supervisor *s _unused_, const char *line) {
        strncat(seen, line, sizeof(seen) - strlen(seen) - 2);
        strcat(seen, "|");
}

static ChildEnd run(int (*child)(int, void *), double seconds, int *ret_status) {
        Supervisor s = { .child = child, .on_line = on_line, .deadline = deadline_in(seconds) };
        ChildEnd end;

        seen[0] = '\0';
        assert_int_equal(supervise(&s, &end, ret_status), 0);
        return end;
}

static int says_and_exits(int fd, void *userdata _unused_) {
        dprintf(fd, "one\ntwo\nthree without an end");
        return 7;
}

static void lines_and_status_arrive(void **state _unused_) {
        int status;

        assert_int_equal(run(says_and_exits, 10, &status), CHILD_EXITED);
        assert_int_equal(status, 7);
        assert_string_equal(seen, "one|two|");
}

static int says_much(int fd, void *userdata _unused_) {
        static char line[300000];

        memset(line, 'x', sizeof(line) - 1);
        dprintf(fd, "%s\nlast\n", line);
        return 0;
}

static void long_lines_arrive_whole(void **state _unused_) {
        int status;

        assert_int_equal(run(says_much, 10, &status), CHILD_EXITED);
        assert_int_equal(strlen(seen), 300000 - 1 + 1 + 5);
}

static int crashes(int fd, void *userdata _unused_) {
        dprintf(fd, "before\n");
        kill(getpid(), SIGSEGV);
        pause();
        return 0;
}

static void a_crash_is_told_from_an_exit(void **state _unused_) {
        int status;

        assert_int_equal(run(crashes, 10, &status), CHILD_SIGNALED);
        assert_int_equal(status, SIGSEGV);
        assert_string_equal(seen, "before|");
}

static int hangs(int fd _unused_, void *userdata _unused_) {
        for (;;)
                pause();
        return 0;
}

static void a_child_that_hangs_is_ended_at_the_deadline(void **state _unused_) {
        uint64_t started = now_usec();
        int status;

        assert_int_equal(run(hangs, 0.3, &status), CHILD_TIMEOUT);
        assert_in_range((now_usec() - started) / USEC_PER_MSEC, 300, 3000);
}

static int ignores_termination(int fd _unused_, void *userdata _unused_) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
                pause();
        return 0;
}

static void a_child_that_ignores_sigterm_is_killed(void **state _unused_) {
        uint64_t started = now_usec();
        int status;

        assert_int_equal(run(ignores_termination, 0.2, &status), CHILD_TIMEOUT);
        assert_in_range((now_usec() - started) / USEC_PER_MSEC, 1200, 5000);
}

static int leaves_a_grandchild(int fd, void *userdata _unused_) {
        pid_t pid = fork();

        if (pid == 0)
                for (;;)
                        pause();
        dprintf(fd, "%d\n", pid);
        return 0;
}

static void what_the_child_started_is_ended_too(void **state _unused_) {
        int status;

        assert_int_equal(run(leaves_a_grandchild, 10, &status), CHILD_EXITED);
        pid_t pid = atoi(seen);
        assert_true(pid > 0);
        for (int i = 0; i < 100; i++) {
                char path[64], stat[512] = "";

                snprintf(path, sizeof(path), "/proc/%d/stat", pid);
                FILE *f = fopen(path, "re");
                if (!f)
                        return;
                size_t n = fread(stat, 1, sizeof(stat) - 1, f);
                fclose(f);
                stat[n] = '\0';
                if (strstr(stat, ") Z ")) /* dead; whoever adopted it has not collected it yet */
                        return;
                usleep(20000);
        }
        fail_msg("process %d lives on", pid);
}

static void extend(Supervisor *s, const char *line _unused_) {
        s->deadline = deadline_in(5);
}

static int speaks_late(int fd, void *userdata _unused_) {
        dprintf(fd, "more time, please\n");
        usleep(600000);
        return 3;
}

static void a_line_may_move_the_deadline(void **state _unused_) {
        Supervisor s = { .child = speaks_late, .on_line = extend, .deadline = deadline_in(0.3) };
        ChildEnd end;
        int status;

        assert_int_equal(supervise(&s, &end, &status), 0);
        assert_int_equal(end, CHILD_EXITED);
        assert_int_equal(status, 3);
}

/* Last: the signal stays noted for the rest of the process. */
static void a_signal_to_us_ends_the_child(void **state _unused_) {
        int status;

        assert_int_equal(interrupt_install(), 0);
        raise(SIGTERM);
        assert_int_equal(run(hangs, 10, &status), CHILD_INTERRUPTED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines_and_status_arrive),
                cmocka_unit_test(long_lines_arrive_whole),
                cmocka_unit_test(a_crash_is_told_from_an_exit),
                cmocka_unit_test(a_child_that_hangs_is_ended_at_the_deadline),
                cmocka_unit_test(a_child_that_ignores_sigterm_is_killed),
                cmocka_unit_test(what_the_child_started_is_ended_too),
                cmocka_unit_test(a_line_may_move_the_deadline),
                cmocka_unit_test(a_signal_to_us_ends_the_child),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
