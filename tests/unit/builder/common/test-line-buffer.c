/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/line-buffer.h"
#include "shared/macro.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <unistd.h>

typedef struct Fixture {
        LineBuffer lines;
        int pipe[2];
        char **told;
} Fixture;

static int setup(void **state) {
        Fixture *f = *state = calloc(1, sizeof(*f));

        return f && pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK) >= 0 ? 0 : -1;
}

static int teardown(void **state) {
        Fixture *f = *state;

        close(f->pipe[0]);
        close(f->pipe[1]);
        strv_free(f->told);
        free(f);
        return 0;
}

static void keep(const char *line, size_t size, void *userdata) {
        Fixture *f = userdata;

        assert_int_equal(strlen(line), size);
        assert_int_equal(strv_extend(&f->told, line), 0);
}

static void say(Fixture *f, const char *text) {
        assert_int_equal(write(f->pipe[1], text, strlen(text)), strlen(text));
        line_buffer_read(&f->lines, f->pipe[0], keep, f);
}

static void lines_come_whole(void **state) {
        Fixture *f = *state;

        say(f, "one\ntw");
        assert_int_equal(strv_length(f->told), 1);
        say(f, "o\n\nthree\n");
        assert_int_equal(strv_length(f->told), 4);
        assert_string_equal(f->told[0], "one");
        assert_string_equal(f->told[1], "two");
        assert_string_equal(f->told[2], "");
        assert_string_equal(f->told[3], "three");
}

static void nothing_to_read_is_no_line(void **state) {
        Fixture *f = *state;

        line_buffer_read(&f->lines, f->pipe[0], keep, f);
        line_buffer_read(&f->lines, -EBADF, keep, f);
        assert_null(f->told);
}

static void a_line_that_is_too_long_is_left_out_whole(void **state) {
        static char piece[4097];
        Fixture *f = *state;

        memset(piece, 'x', sizeof(piece) - 1);
        for (size_t i = 0; i < LINE_BUFFER_MAX / (sizeof(piece) - 1); i++)
                say(f, piece);
        say(f, "its end\nthe next\n");
        assert_int_equal(strv_length(f->told), 1);
        assert_string_equal(f->told[0], "the next");
}

static void the_longest_line_is_taken(void **state) {
        static char piece[LINE_BUFFER_MAX / 16 + 1];
        Fixture *f = *state;

        memset(piece, 'x', sizeof(piece) - 1);
        for (size_t i = 0; i < 15; i++)
                say(f, piece);
        piece[sizeof(piece) - 2] = '\n';
        say(f, piece);
        assert_int_equal(strv_length(f->told), 1);
        assert_int_equal(strlen(f->told[0]), LINE_BUFFER_MAX - 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(lines_come_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_to_read_is_no_line, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_line_that_is_too_long_is_left_out_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(the_longest_line_is_taken, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
