/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a failing command's message says: which file on the host, why, what to do. */

#include "sandbox-fixture.h"
#include "log-fixture.h"

#include "sandbox/logged-command.h"

static int begin(void **state) {
        log_begin();
        return setup(state);
}

static int end(void **state) {
        log_end();
        lines = strv_free(lines);
        return teardown(state);
}

/* Runs it as a stage runs an overlay's script; all that was logged. */
static char *run_script(const char *text) {
        _cleanup_free_ char *path = path_join(f.path, "overlay-script");
        const SandboxBind binds[] = { f.usr, { path, "/run/imgbuild/script", false } };
        Context ctx = { .store = f.store };
        Sandbox s = f.sandbox;
        int status = 0;

        put(f.path, "overlay-script", text);
        assert_int_equal(chmod(path, 0755), 0);
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        s.script = path;
        assert_int_equal(logged_command_status(&ctx, "run:x/0", &s, NULL,
                                         ARGV("/run/imgbuild/script"), false, &status),
                        0);
        assert_int_not_equal(status, 0);
        return strv_join(lines, "\n");
}

#define assert_says(text, words) assert_non_null(strstr(text, words))

static void the_script_has_its_name_on_the_host(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#!/bin/sh\nexit 3\n");

        assert_says(text, "/overlay-script ended with exit code 3");
        assert_null(strstr(text, "/run/imgbuild/script"));
}

static void a_missing_program_is_named_with_its_package(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#!/bin/sh\nset -e\nno-such-program\n");

        assert_says(text, "no-such-program is not in the tree: add the package that has it");
}

static void the_first_error_is_shown_above_the_last_lines(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#!/bin/sh\necho 'x.c:1: error: first'\n"
                                               "for i in $(seq 100); do echo \"line $i\"; done\n"
                                               "echo 'x.c:2: error: second'\nexit 2\n");

        assert_says(text, "  | x.c:1: error: first");
        assert_says(text, "that was the first error, after");
        assert_says(text, "  | line 100");
        assert_null(strstr(text, "| line 50"));
}

static void a_make_that_has_failed_is_told_of_at_once(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text =
                        run_script("#!/bin/sh\necho '/bin/sh: 1: g++: not found'\n"
                                   "echo 'make[1]: *** Waiting for unfinished jobs....'\n"
                                   "echo 'make: *** Waiting for unfinished jobs....'\n"
                                   "exit 2\n");
        const char *told = strstr(text, "has failed: /bin/sh: 1: g++: not found; make lets");

        assert_non_null(told);
        assert_true(told < strstr(text, "ended with exit code 2"));
        assert_null(strstr(told + 1, "has failed: "));
}

static void an_error_among_the_last_lines_is_shown_once(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#!/bin/sh\necho 'x.c:1: error: first'\nexit 2\n");

        assert_null(strstr(text, "that was the first error"));
        assert_null(strstr(strstr(text, "error: first") + 1, "error: first"));
}

static void an_interpreter_that_is_not_there_is_named(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#! /usr/bin/no-such-interpreter -e\nexit 0\n");

        assert_says(text,
                        "/overlay-script cannot be run: the interpreter of its first line, /usr/bin/no-such-interpreter -e, is not in the tree");
}

static void a_script_of_windows_is_known(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = run_script("#!/bin/sh\r\nexit 0\r\n");

        assert_says(text, "its lines end as Windows writes them");
}

/* The shell's commands come from where a terminal would be. */
static void a_shell_sees_what_the_failing_command_saw(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *path = path_join(f.path, "script"),
                            *typed = path_join(f.path, "typed"),
                            *mark = path_join(f.upper, "etc/mark"), *text = NULL;
        const SandboxBind binds[] = { f.usr, { path, "/run/imgbuild/script", false } };
        Context ctx = { .store = f.store, .error_shell = true };
        _cleanup_close_ int saved = dup(STDIN_FILENO), fd = -EBADF;
        Sandbox s = f.sandbox;
        int status = 0;

        put(f.path, "script", "#!/bin/sh\necho half >/etc/left\nexit 1\n");
        put(f.path, "typed",
                        "cat /etc/left >/etc/mark; echo $KERNEL $debian_chroot >>/etc/mark; test -e /run/imgbuild/script && echo there >>/etc/mark\n");
        assert_int_equal(chmod(path, 0755), 0);
        fd = open(typed, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && saved >= 0 && dup2(fd, STDIN_FILENO) >= 0);
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        s.script = path;
        s.env = ARGV("KERNEL=6.1");
        assert_int_equal(logged_command_status(&ctx, "run:x/0", &s, NULL,
                                         ARGV("/run/imgbuild/script"), false, &status),
                        0);
        assert_true(dup2(saved, STDIN_FILENO) >= 0);
        assert_int_equal(status, 1);
        assert_int_equal(read_file(mark, 100, &text, NULL), 0);
        assert_string_equal(text, "half\n6.1 run:x/0\nthere\n");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_script_has_its_name_on_the_host, begin, end),
                cmocka_unit_test_setup_teardown(
                                a_missing_program_is_named_with_its_package, begin, end),
                cmocka_unit_test_setup_teardown(
                                the_first_error_is_shown_above_the_last_lines, begin, end),
                cmocka_unit_test_setup_teardown(
                                a_make_that_has_failed_is_told_of_at_once, begin, end),
                cmocka_unit_test_setup_teardown(
                                an_error_among_the_last_lines_is_shown_once, begin, end),
                cmocka_unit_test_setup_teardown(
                                an_interpreter_that_is_not_there_is_named, begin, end),
                cmocka_unit_test_setup_teardown(a_script_of_windows_is_known, begin, end),
                cmocka_unit_test_setup_teardown(
                                a_shell_sees_what_the_failing_command_saw, begin, end),
        };

        if (geteuid() != 0 && userns_enter(argc, argv) < 0) {
                print_message("needs root or a user namespace\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
