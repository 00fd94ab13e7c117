/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a boot says at its end: the verdict below the console, not above it. */

#include "boot/internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char **lines;

static void keep_line(int level _unused_, const char *line, void *userdata _unused_) {
        assert_int_equal(strv_extend(&lines, line), 0);
}

/* The place of the first line that has the words, -1: there is none. */
static int place_of(const char *words) {
        for (int i = 0; lines && lines[i]; i++)
                if (strstr(lines[i], words))
                        return i;
        return -1;
}

static void ignore(ConsoleEvent event _unused_, const char *line _unused_,
                const char *detail _unused_, void *userdata _unused_) {
}

static void report(Boot *b, BootVerdict verdict, int code) {
        static const char console[] = "first line\nlast line\n";

        b->watch.verdict = verdict;
        b->started = 1;
        b->watch.verdict_at = 125 * USEC_PER_SEC + 1;
        b->ended = b->watch.verdict_at;
        console_feed(&b->watch.console, console, strlen(console), ignore, NULL);
        lines = strv_free(lines);
        log_set_writer(keep_line, NULL);
        boot_report_end(b, code);
        log_set_writer(NULL, NULL);
        console_done(&b->watch.console);
}

static void a_failure_comes_below_the_console(void **state _unused_) {
        BootOptions o = { .image = "x.raw", .until = "multi-user", .timeout = 600 };
        Context ctx = {};
        Boot b = { .ctx = &ctx, .o = &o, .console = (char *) "x.console" };

        b.watch.why = (char *) "kernel panic";
        report(&b, BOOT_FAILED, EXIT_FAILED);
        assert_true(place_of("| last line") >= 0);
        assert_true(place_of("did not reach multi-user: kernel panic (after 2 min 5 s") >
                        place_of("| last line"));
}

static void a_timeout_comes_below_the_console(void **state _unused_) {
        BootOptions o = { .image = "x.raw", .until = "multi-user", .timeout = 600 };
        Context ctx = {};
        Boot b = { .ctx = &ctx, .o = &o, .console = (char *) "x.console" };

        report(&b, BOOT_WAITING, EXIT_TIMED_OUT);
        assert_true(place_of("did not reach multi-user within 10 min") > place_of("| last line"));
}

static void a_success_shows_no_console(void **state _unused_) {
        BootOptions o = { .image = "x.raw", .until = "multi-user", .timeout = 600 };
        Context ctx = {};
        Boot b = { .ctx = &ctx, .o = &o, .console = (char *) "x.console" };

        report(&b, BOOT_REACHED, EXIT_OK);
        assert_int_equal(place_of("| last line"), -1);
        assert_true(place_of("multi-user reached after 2 min 5 s") >= 0);
}

static int free_lines(void **state _unused_) {
        lines = strv_free(lines);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_failure_comes_below_the_console),
                cmocka_unit_test(a_timeout_comes_below_the_console),
                cmocka_unit_test(a_success_shows_no_console),
        };

        return cmocka_run_group_tests(tests, NULL, free_lines);
}
