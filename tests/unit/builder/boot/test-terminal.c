/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/terminal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>

typedef struct Setup {
        int keyboard, terminal; /* both sides of a terminal */
        int machine, console;   /* both sides of a console */
        int screen[2];          /* a pipe */
        unsigned looks;
} Setup;

static int begin(void **state) {
        static Setup s;
        int sockets[2];

        s = (Setup) {};
        if (openpty(&s.keyboard, &s.terminal, NULL, NULL, NULL) < 0 || pipe(s.screen) < 0 ||
                        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
                return -1;
        s.machine = sockets[0];
        s.console = sockets[1];
        *state = &s;
        return 0;
}

static int end(void **state) {
        const Setup *s = *state;
        const int fds[] = { s->keyboard, s->terminal, s->machine, s->console, s->screen[0],
                s->screen[1] };

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                close(fds[i]);
        return 0;
}

static void type(const Setup *s, const char *keys) {
        assert_int_equal(write(s->keyboard, keys, strlen(keys)), strlen(keys));
}

static void nothing(void *userdata _unused_) {
}

/* The terminal would hold a line back, and make a signal of Ctrl-C, were it as it is for a
 * shell. */
static void type_the_way_out(void *userdata) {
        Setup *s = userdata;

        if (s->looks++ == 0)
                type(s, "ls\r\x03\x1d");
}

static void keys_go_to_the_machine_up_to_the_way_out(void **state) {
        Setup *s = *state;
        char text[64] = "";
        ssize_t n;

        s->looks = 0;
        assert_int_equal(write(s->machine, "prompt", 6), 6); /* so that it looks once */
        assert_int_equal(terminal_join(s->console, s->terminal, s->screen[1], type_the_way_out, s),
                        1);
        n = recv(s->machine, text, sizeof(text) - 1, MSG_DONTWAIT);
        assert_int_equal(n, 4);
        assert_string_equal(text, "ls\r\x03");
}

static void what_the_machine_says_is_shown_and_its_end_ends(void **state) {
        Setup *s = *state;
        char text[64] = "";

        assert_int_equal(write(s->machine, "login: ", 7), 7);
        assert_int_equal(shutdown(s->machine, SHUT_WR), 0);
        assert_int_equal(terminal_join(s->console, s->terminal, s->screen[1], nothing, NULL), 0);
        assert_int_equal(read(s->screen[0], text, sizeof(text) - 1), 7);
        assert_string_equal(text, "login: ");
}

static void the_terminal_is_then_as_it_was(void **state) {
        Setup *s = *state;
        struct termios before, after;

        assert_int_equal(tcgetattr(s->terminal, &before), 0);
        assert_int_equal(shutdown(s->machine, SHUT_WR), 0);
        assert_int_equal(terminal_join(s->console, s->terminal, s->screen[1], nothing, NULL), 0);
        assert_int_equal(tcgetattr(s->terminal, &after), 0);
        assert_int_equal(before.c_lflag, after.c_lflag);
        assert_int_equal(before.c_iflag, after.c_iflag);
        assert_true(after.c_lflag & ISIG);
}

/* More than a socket holds: keys are lost, and the way out is there. */
static void a_machine_that_does_not_read_is_left_all_the_same(void **state) {
        Setup *s = *state;
        char keys[4096];

        memset(keys, 'x', sizeof(keys));
        while (send(s->console, keys, sizeof(keys), MSG_DONTWAIT) > 0)
                ;
        s->looks = 0;
        assert_int_equal(write(s->machine, "x", 1), 1);
        assert_int_equal(terminal_join(s->console, s->terminal, s->screen[1], type_the_way_out, s),
                        1);
}

static void what_is_no_terminal_is_told(void **state) {
        Setup *s = *state;

        assert_int_equal(terminal_join(s->console, s->screen[0], s->screen[1], nothing, NULL),
                        -ENOTTY);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                keys_go_to_the_machine_up_to_the_way_out, begin, end),
                cmocka_unit_test_setup_teardown(
                                what_the_machine_says_is_shown_and_its_end_ends, begin, end),
                cmocka_unit_test_setup_teardown(the_terminal_is_then_as_it_was, begin, end),
                cmocka_unit_test_setup_teardown(
                                a_machine_that_does_not_read_is_left_all_the_same, begin, end),
                cmocka_unit_test_setup_teardown(what_is_no_terminal_is_told, begin, end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
