/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Why a command failed, from what it said. */

#include "sandbox/complaint.h"

#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void a_missing_program_is_known_from_shells_make_and_env(void **state _unused_) {
        static const struct {
                const char *line, *program;
        } table[] = {
                { "/bin/sh: 1: g++: not found", "g++" },
                { "./build.sh: 12: cmake: not found", "cmake" },
                { "/run/imgbuild/script: line 4: bison: command not found", "bison" },
                { "bash: line 1: python3: command not found", "python3" },
                { "make: gcc: No such file or directory", "gcc" },
                { "make[2]: /opt/x/g++: No such file or directory", "/opt/x/g++" },
                { "env: 'python3': No such file or directory", "python3" },
                { "/usr/bin/env: ‘python3’: No such file or directory", "python3" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *program = complaint_missing_program(table[i].line);

                assert_non_null(program);
                assert_string_equal(program, table[i].program);
        }
}

static void what_only_looks_like_it_is_left_alone(void **state _unused_) {
        static const char *const lines[] = {
                "checking for g++... not found",
                "cat: /etc/x: No such file or directory",
                "which: no g++ in (/usr/bin)",
                "Package foo was not found",
                "",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                assert_null(complaint_missing_program(lines[i]));
}

static void the_first_error_is_kept_with_its_time(void **state _unused_) {
        Complaint c = {};

        complaint_take(&c, "building", 6, 1);
        complaint_take(&c, "  /bin/sh: 1: g++: not found", 7, 40 * USEC_PER_SEC);
        complaint_take(&c, "y.c:1:2: error: no", 8, 90 * USEC_PER_SEC);
        complaint_take(&c, "/bin/sh: 1: gcc: not found", 9, 91 * USEC_PER_SEC);
        assert_string_equal(c.first, "/bin/sh: 1: g++: not found");
        assert_string_equal(c.missing, "g++");
        assert_int_equal(c.line, 7);
        assert_true(c.usec == 40 * USEC_PER_SEC);
        complaint_done(&c);
}

static void a_make_that_waits_for_its_other_jobs_is_known(void **state _unused_) {
        assert_true(complaint_make_waits("make: *** Waiting for unfinished jobs...."));
        assert_true(complaint_make_waits("make[12]: *** Waiting for unfinished jobs...."));
        assert_false(complaint_make_waits("make: *** [Makefile:2: all] Error 1"));
        assert_false(complaint_make_waits("make[1: *** Waiting"));
        assert_false(complaint_make_waits("make["));
        assert_false(complaint_make_waits("checking for make: *** Waiting for unfinished jobs"));
}

static void the_remedy_names_the_package(void **state _unused_) {
        static const char *const table[][2] = {
                { "g++", "Debian: g++)" },
                { "cc", "Debian: gcc)" },
                { "pkg-config", "Debian: pkgconf)" },
                { "/usr/bin/xz", "Debian: xz-utils)" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *text = complaint_remedy(table[i][0]);

                assert_non_null(strstr(text, table[i][1]));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_missing_program_is_known_from_shells_make_and_env),
                cmocka_unit_test(what_only_looks_like_it_is_left_alone),
                cmocka_unit_test(the_first_error_is_kept_with_its_time),
                cmocka_unit_test(a_make_that_waits_for_its_other_jobs_is_known),
                cmocka_unit_test(the_remedy_names_the_package),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
