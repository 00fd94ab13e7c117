/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/log.h"

static char last[200];
static int last_level;

static void keep(int level, const char *line, void *userdata _unused_) {
        last_level = level;
        snprintf(last, sizeof(last), "%s", line);
}

static int setup(void **state _unused_) {
        *last = '\0';
        log_set_writer(keep, NULL);
        return 0;
}

static int teardown(void **state _unused_) {
        log_set_writer(NULL, NULL);
        log_set_program(NULL);
        log_set_level(LOG_INFO);
        return 0;
}

static void an_error_is_marked_and_explained(void **state _unused_) {
        assert_int_equal(log_error_errno(-ENOENT, "Cannot open %s", "x"), -ENOENT);
        assert_string_equal(last, "error: Cannot open x: No such file or directory");
        assert_int_equal(last_level, LOG_ERR);
}

static void the_sign_of_the_error_does_not_matter(void **state _unused_) {
        assert_int_equal(log_warning_errno(ENOSPC, "Full"), -ENOSPC);
        assert_string_equal(last, "warning: Full: No space left on device");
}

static void information_is_plain(void **state _unused_) {
        log_set_program("imgbuild");
        assert_int_equal(log_info("done"), 0);
        assert_string_equal(last, "imgbuild: done");
}

static void what_is_below_the_level_is_not_written_but_still_returned(void **state _unused_) {
        assert_int_equal(log_debug("noise"), 0);
        assert_string_equal(last, "");
        log_set_level(LOG_ERR);
        assert_int_equal(log_warning_errno(EIO, "noise"), -EIO);
        assert_string_equal(last, "");
}

static void strangers_do_not_command_the_terminal(void **state _unused_) {
        log_error("%s", "a\033]0;title\007\tb\nc\177 \xc2\x9b"
                        "31m ä");
        assert_string_equal(last, "error: a?]0;title?\tb\nc? ??31m ä");
}

static void a_text_becomes_one_line(void **state _unused_) {
        char text[] = "a\tb\nc\033[m\177 \xc2\x9b"
                      "31m ä",
             plain[] = "ä line";

        assert_true(text_flatten(text));
        assert_string_equal(text, "a b c [m    31m ä");
        assert_false(text_flatten(plain));
        assert_string_equal(plain, "ä line");
}

static void half_a_character_is_its_end(void **state _unused_) {
        char text[] = "a\xc2\0\n";

        assert_false(text_flatten(text));
        assert_memory_equal(text, "a\xc2\0\n", sizeof(text));
}

static void errno_survives(void **state _unused_) {
        errno = EXDEV;
        log_error("x");
        assert_int_equal(errno, EXDEV);
}

static void a_relayed_line_is_of_one_kind(void **state _unused_) {
        log_set_program("imgbuild");
        log_relay(LOG_ERR, "node1", "error: Cannot open x");
        assert_string_equal(last, "imgbuild: error: node1: Cannot open x");
        log_relay(LOG_WARNING, "node1", "warning: slow");
        assert_string_equal(last, "imgbuild: warning: node1: slow");
        log_relay(LOG_INFO, "node1", "error: is only a word here");
        assert_string_equal(last, "imgbuild: node1: error: is only a word here");
        log_relay(LOG_WARNING, NULL, "warning: slow");
        assert_string_equal(last, "imgbuild: warning: slow");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_error_is_marked_and_explained, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                the_sign_of_the_error_does_not_matter, setup, teardown),
                cmocka_unit_test_setup_teardown(information_is_plain, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                what_is_below_the_level_is_not_written_but_still_returned, setup,
                                teardown),
                cmocka_unit_test_setup_teardown(
                                strangers_do_not_command_the_terminal, setup, teardown),
                cmocka_unit_test(a_text_becomes_one_line),
                cmocka_unit_test(half_a_character_is_its_end),
                cmocka_unit_test_setup_teardown(a_relayed_line_is_of_one_kind, setup, teardown),
                cmocka_unit_test_setup_teardown(errno_survives, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
