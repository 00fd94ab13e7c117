/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#define SH(script) ((char *const[]) { "sh", "-c", script, NULL })

static uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * USEC_PER_SEC + (uint64_t) t.tv_nsec / 1000;
}

static void the_exit_code_comes_back(void **state _unused_) {
        int status = -1;

        assert_int_equal(spawn_run(NULL, SH("exit 7"), &status), 0);
        assert_int_equal(status, 7);
        assert_int_equal(spawn_run(NULL, SH("kill -9 $$"), &status), 0);
        assert_int_equal(status, 128 + 9);
}

static void a_missing_program_is_an_error_of_its_own(void **state _unused_) {
        char *const argv[] = { "imgbuild-no-such-program", NULL };
        char *const env[] = { "A=b", NULL };
        int status = -1;

        assert_int_equal(spawn_run(NULL, argv, &status), -ENOENT);
        assert_int_equal(spawn_run(&(SpawnOptions) { .env = env }, argv, &status), -ENOENT);
        assert_int_equal(spawn_run(&(SpawnOptions) { .cwd = "/nowhere" }, SH("exit 0"), &status),
                        -ENOENT);
        assert_int_equal(status, -1);
}

static void output_of_both_streams_is_captured(void **state _unused_) {
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, SH("echo out; echo err >&2; printf last"), &output,
                                         &status),
                        0);
        assert_string_equal(output, "out\nerr\nlast\n");
}

static void empty_lines_are_lines(void **state _unused_) {
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, SH("printf '\\na\\n\\nb\\r\\nc\\rd\\n\\n'"), &output,
                                         &status),
                        0);
        assert_string_equal(output, "\na\n\nb\nc\nd\n\n");
}

static void no_output_is_no_line(void **state _unused_) {
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, SH(":"), &output, &status), 0);
        assert_string_equal(output, "");
}

static void arguments_reach_no_shell(void **state _unused_) {
        char *const argv[] = { "printf", "%s\n", "$(id); `id` * \"", NULL };
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, argv, &output, &status), 0);
        assert_string_equal(output, "$(id); `id` * \"\n");
}

static void the_environment_is_all_there_is(void **state _unused_) {
        char *const env[] = { "ONLY=this", NULL };
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(&(SpawnOptions) { .env = env },
                                         (char *const[]) { "env", NULL }, &output, &status),
                        0);
        assert_string_equal(output, "ONLY=this\n");
}

static void standard_input_is_empty_unless_given(void **state _unused_) {
        char path[] = "/tmp/imgbuild-spawn.XXXXXX";
        _cleanup_free_ char *none = NULL, *some = NULL;
        int status, fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, "hello\n", 6), 0);
        close(fd);
        assert_int_equal(spawn_capture(NULL, (char *const[]) { "cat", NULL }, &none, &status), 0);
        assert_string_equal(none, "");
        assert_int_equal(spawn_capture(&(SpawnOptions) { .stdin_path = path },
                                         (char *const[]) { "cat", NULL }, &some, &status),
                        0);
        assert_string_equal(some, "hello\n");
        unlink(path);
}

static void standard_output_can_go_to_a_file(void **state _unused_) {
        char path[] = "/tmp/imgbuild-spawn.XXXXXX";
        _cleanup_free_ char *captured = NULL, *text = NULL;
        int status, fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(spawn_capture(&(SpawnOptions) { .stdout_fd = fd },
                                         SH("echo out; echo err >&2"), &captured, &status),
                        0);
        close(fd);
        assert_string_equal(captured, "err\n");
        assert_int_equal(read_file(path, 100, &text, NULL), 0);
        assert_string_equal(text, "out\n");
        unlink(path);
}

static void a_time_out_ends_the_child_and_its_children(void **state _unused_) {
        char path[] = "/tmp/imgbuild-spawn.XXXXXX";
        _cleanup_free_ char *script = NULL, *pid = NULL;
        int status, fd = mkstemp(path);
        uint64_t start = now_usec();

        close(fd);
        script = strf("sleep 300 & echo $! >%s; wait", path);
        assert_int_equal(spawn_run(&(SpawnOptions) { .timeout_usec = USEC_PER_SEC / 2 }, SH(script),
                                         &status),
                        -ETIMEDOUT);
        assert_true(now_usec() - start < 4 * USEC_PER_SEC);
        assert_int_equal(read_line_file(path, &pid), 0);
        /* Killed; whoever adopted it may need a moment to reap it. */
        for (int i = 0; i < 100; i++) {
                _cleanup_free_ char *stat_path = strf("/proc/%s/stat", pid), *stat = NULL;
                if (read_line_file(stat_path, &stat) < 0 || strstr(stat, ") Z"))
                        break;
                assert_true(i < 99);
                usleep(20000);
        }
        unlink(path);
}

static void a_child_that_ignores_sigterm_is_killed(void **state _unused_) {
        uint64_t start = now_usec();
        int status;

        assert_int_equal(spawn_run(&(SpawnOptions) { .timeout_usec = USEC_PER_SEC / 5 },
                                         SH("trap '' TERM; while :; do sleep 1; done"), &status),
                        -ETIMEDOUT);
        assert_in_range(now_usec() - start, 5 * USEC_PER_SEC, 9 * USEC_PER_SEC);
}

static void endless_output_does_not_stop_the_clock(void **state _unused_) {
        uint64_t start = now_usec();
        int status;

        assert_int_equal(spawn_run(&(SpawnOptions) { .timeout_usec = USEC_PER_SEC / 2 },
                                         (char *const[]) { "yes", NULL }, &status),
                        -ETIMEDOUT);
        assert_true(now_usec() - start < 4 * USEC_PER_SEC);
}

static void output_beyond_the_limit_is_refused(void **state _unused_) {
        char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, SH("head -c 17000000 /dev/zero | tr '\\0' x"), &output,
                                         &status),
                        -EFBIG);
        assert_null(output);
}

static void a_grandchild_with_our_output_does_not_hold_us(void **state _unused_) {
        uint64_t start = now_usec();
        int status;

        assert_int_equal(spawn_run(NULL, SH("sleep 60 & exit 3"), &status), 0);
        assert_int_equal(status, 3);
        assert_true(now_usec() - start < 10 * USEC_PER_SEC);
}

static int prepare_result(void *userdata) {
        return *(int *) userdata;
}

static void prepare_can_fail_or_stand_for_the_program(void **state _unused_) {
        int failure = -EXDEV, answer = 9, status = -1;

        assert_int_equal(spawn_run(&(SpawnOptions) { .prepare = prepare_result,
                                                   .prepare_data = &failure },
                                         SH("exit 0"), &status),
                        -EXDEV);
        assert_int_equal(spawn_run(&(SpawnOptions) { .prepare = prepare_result,
                                                   .prepare_data = &answer },
                                         NULL, &status),
                        0);
        assert_int_equal(status, 9);
}

static void a_signal_cancels_the_child(void **state _unused_) {
        /* In a process of its own: an interrupt stays for good. */
        pid_t pid = fork();

        if (pid == 0) {
                int status;
                pid_t parent = getpid();

                if (interrupt_install() < 0)
                        _exit(10);
                if (fork() == 0) {
                        usleep(300000);
                        kill(parent, SIGTERM);
                        _exit(0);
                }
                uint64_t start = now_usec();
                int r = spawn_run(NULL, SH("sleep 60"), &status);
                _exit(r != -ECANCELED                                   ? 11
                                : interrupt_signal() != SIGTERM         ? 12
                                : now_usec() - start > 4 * USEC_PER_SEC ? 13
                                                                        : 0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void programs_are_found_on_the_path(void **state _unused_) {
        _cleanup_free_ char *path = NULL;

        assert_true(program_find("sh", &path));
        assert_true(endswith(path, "/sh"));
        assert_true(program_find("/bin/sh", NULL));
        assert_false(program_find("imgbuild-no-such-program", NULL));
        assert_false(program_find("", NULL));
}

static void *sleep_a_while(void *userdata _unused_) {
        usleep(300000);
        return NULL;
}

/* As a user who may have two processes, and has them: the thread counts as one. */
static int spawn_on_a_full_host(void) {
        const struct rlimit two = { 2, 2 };
        pthread_t thread;
        int status = -1;

        if (setresgid(54321, 54321, 54321) < 0 || setresuid(54321, 54321, 54321) < 0 ||
                        setrlimit(RLIMIT_NPROC, &two) < 0 ||
                        pthread_create(&thread, NULL, sleep_a_while, NULL) != 0 ||
                        pthread_detach(thread) != 0)
                return 2;
        if (fork() >= 0)
                return 3; /* not full */
        return spawn_run(NULL, ARGV("true"), &status) < 0 || status != 0;
}

static void a_host_full_of_processes_is_waited_for(void **state _unused_) {
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        pid = fork();
        if (pid == 0)
                _exit(spawn_on_a_full_host());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_exit_code_comes_back),
                cmocka_unit_test(a_missing_program_is_an_error_of_its_own),
                cmocka_unit_test(output_of_both_streams_is_captured),
                cmocka_unit_test(empty_lines_are_lines),
                cmocka_unit_test(no_output_is_no_line),
                cmocka_unit_test(arguments_reach_no_shell),
                cmocka_unit_test(the_environment_is_all_there_is),
                cmocka_unit_test(standard_input_is_empty_unless_given),
                cmocka_unit_test(standard_output_can_go_to_a_file),
                cmocka_unit_test(a_time_out_ends_the_child_and_its_children),
                cmocka_unit_test(a_child_that_ignores_sigterm_is_killed),
                cmocka_unit_test(endless_output_does_not_stop_the_clock),
                cmocka_unit_test(output_beyond_the_limit_is_refused),
                cmocka_unit_test(a_grandchild_with_our_output_does_not_hold_us),
                cmocka_unit_test(prepare_can_fail_or_stand_for_the_program),
                cmocka_unit_test(a_signal_cancels_the_child),
                cmocka_unit_test(a_host_full_of_processes_is_waited_for),
                cmocka_unit_test(programs_are_found_on_the_path),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
