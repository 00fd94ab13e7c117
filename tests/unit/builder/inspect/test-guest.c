/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void problems_are_texts(void **state _unused_) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *problems = NULL;

        assert_int_equal(json_add_array(o, "problems", &problems), 0);
        assert_int_equal(inspect_problem(o, "/dev/sda1", "wrong fs type"), 0);
        assert_int_equal(inspect_problem(o, "packages", NULL), 0);
        assert_string_equal(
                        json_object_to_json_string_ext(problems,
                                        JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                        "[\"/dev/sda1: wrong fs type\",\"packages: cannot be read\"]");
}

static void what_is_written_by_path_is_read_by_descriptor(void **state _unused_) {
        char path[64], text[8] = {};
        _cleanup_close_ int fd = guest_memory_file(path);
        FILE *f;

        assert_true(fd >= 0);
        f = fopen(path, "we");
        assert_non_null(f);
        fputs("abc", f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(read(fd, text, sizeof(text)), 3);
        assert_string_equal(text, "abc");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(problems_are_texts),
                cmocka_unit_test(what_is_written_by_path_is_read_by_descriptor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
