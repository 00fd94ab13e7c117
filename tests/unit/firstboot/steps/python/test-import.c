/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one line that the importing process leaves, and what becomes of one that leaves none. */

#include "steps/python/import.h"
#include "root-fixture.h"

#include <sys/stat.h>

#define MARK "firstboot-python: "

static void test_a_good_import(void **state) {
        _cleanup_(import_done) Import i = { .end = IMPORT_DIED };

        (void) state;
        assert_true(import_parse(MARK
                        "{\"seconds\": 1.5, \"version\": \"2.6.0\", \"torch\": 8, \"nvml\": 7}",
                        &i));
        assert_int_equal(i.end, IMPORT_OK);
        assert_string_equal(i.version, "2.6.0");
        assert_true(i.seconds > 1.4 && i.seconds < 1.6);
        assert_int_equal(i.torch_devices, 8);
        assert_int_equal(i.nvml_devices, 7);
        assert_null(i.gpu_text);
}

static void test_an_error_is_kept(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        assert_true(import_parse(MARK "{\"error\": \"ImportError: libmpi.so.40\"}", &i));
        assert_int_equal(i.end, IMPORT_FAILED);
        assert_string_equal(i.text, "ImportError: libmpi.so.40");
        assert_int_equal(i.torch_devices, -1);
}

/* A module that prints what looks like our line must not be believed over the one that comes
 * last. */
static void test_the_last_line_counts(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        assert_true(import_parse(MARK "{\"version\": \"9\", \"torch\": 8}", &i));
        assert_true(import_parse(MARK "{\"error\": \"no\"}", &i));
        assert_int_equal(i.end, IMPORT_FAILED);
        assert_null(i.version);
        assert_int_equal(i.torch_devices, -1);
}

static void test_other_lines_are_none(void **state) {
        _cleanup_(import_done) Import i = { .end = IMPORT_DIED };

        (void) state;
        assert_false(import_parse("", &i));
        assert_false(import_parse(MARK, &i));
        assert_false(import_parse(MARK "{\"version\": ", &i));
        assert_false(import_parse("x " MARK "{}", &i));
        assert_int_equal(i.end, IMPORT_DIED);
}

/* A program in the place of an environment's Python. */
static void put_python(const char *text) {
        _cleanup_free_ char *path = fb_path("/opt/e/bin/python");

        root_put("/opt/e/bin/python", text);
        assert_return_code(chmod(path, 0755), errno);
}

static void test_no_python(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        assert_return_code(python_import("/opt/e", "torch", false, 0, &i), 0);
        assert_int_equal(i.end, IMPORT_NO_PYTHON);
        assert_string_equal(i.text, "/opt/e/bin/python: No such file or directory");
}

static void test_a_process_without_a_word(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        put_python("#!/bin/sh\nexit 3\n");
        assert_return_code(python_import("/opt/e", "torch", false, 0, &i), 0);
        assert_int_equal(i.end, IMPORT_DIED);
        assert_string_equal(i.text, "its process ended with exit code 3 and no word");
}

/* What it said before it was killed is no proof. */
static void test_killed_after_its_word(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        put_python("#!/bin/sh\necho '" MARK "{\"seconds\": 1, \"version\": \"1\"}'\nkill -9 $$\n");
        assert_return_code(python_import("/opt/e", "torch", false, 0, &i), 0);
        assert_int_equal(i.end, IMPORT_DIED);
        assert_null(i.version);
        assert_non_null(strstr(i.text, "signal 9"));
}

/* Isolated, without byte-code, the module as an argument: no name becomes code. */
static void test_how_python_is_called(void **state) {
        _cleanup_(import_done) Import i = {};

        (void) state;
        put_python("#!/bin/sh\necho '" MARK "{\"version\": \"'\"$1 $2 $3 $5 $6\"'\"}'\n");
        assert_return_code(python_import("/opt/e", "torch", true, 0, &i), 0);
        assert_string_equal(i.version, "-I -B -c torch gpus");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_good_import),
                cmocka_unit_test(test_an_error_is_kept),
                cmocka_unit_test(test_the_last_line_counts),
                cmocka_unit_test(test_other_lines_are_none),
                cmocka_unit_test_setup_teardown(test_no_python, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_a_process_without_a_word, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_killed_after_its_word, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_how_python_is_called, root_setup, root_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
