/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files that steps write, and the proof that a folder can be written to. */

#include "root-fixture.h"
#include "steps/common/own-file.h"

static void only_what_differs_is_written(void **state) {
        _cleanup_free_ char *path = fb_path("/etc/x/y.conf"), *text = NULL;

        (void) state;
        assert_int_equal(own_file_put("/etc/x/y.conf", "a\n", 0644, true), 1);
        assert_int_equal(own_file_put("/etc/x/y.conf", "a\n", 0644, true), 0);
        assert_int_equal(own_file_put("/etc/x/y.conf", "b\n", 0644, false), 1);
        assert_int_equal(read_file(path, 100, &text, NULL), 0);
        assert_string_equal(text, "b\n");
}

static void a_proved_folder_keeps_no_trace(void **state) {
        _cleanup_free_ char *folder = fb_path("/mnt");

        (void) state;
        assert_int_equal(folder_prove_writable(folder), -ENOENT);
        assert_int_equal(mkdir_p(folder, 0755), 0);
        assert_int_equal(folder_prove_writable(folder), 0);
        assert_int_equal(rmdir(folder), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                only_what_differs_is_written, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_proved_folder_keeps_no_trace, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
