/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a boot says at its end: the verdict below the console, not above it. */

#include "boot/internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "log-fixture.h"

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
        log_begin();
        boot_report_end(b, code);
        log_end();
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

/* boot.json of a boot that waited for `until` and got this verdict of the node's. */
static json_object *result_of(const char *until, const char *unit, const char *verdict, int code) {
        BootOptions o = { .image = "x.raw", .until = until, .timeout = 600 };
        Context ctx = {};
        Boot b = { .ctx = &ctx, .o = &o, .console = (char *) "x.console" };
        _cleanup_free_ char *file = strf("/tmp/test-report-%d.json", getpid());
        json_object *result = NULL;

        assert_non_null(file);
        b.result = file;
        b.watch.unit = (char *) unit;
        b.watch.node.verdict = (char *) verdict;
        report(&b, BOOT_REACHED, code);
        assert_int_equal(json_load(file, 100000, &(JsonError) {}, &result), 0);
        unlink(file);
        return result;
}

static void a_degraded_node_is_not_called_reached(void **state _unused_) {
        _cleanup_json_ json_object *plain = result_of("ready", "node-ready.target", "degraded",
                                                   EXIT_OK),
                                   *strict = result_of("ready", "node-ready.target", "degraded",
                                                   BOOT_EXIT_DEGRADED);

        assert_string_equal(json_get_string(plain, "result"), "degraded");
        assert_string_equal(json_get_string(strict, "result"), "degraded");
        assert_true(place_of("The node is degraded") > place_of("ready reached after"));
}

static void a_node_that_is_ready_is_reached(void **state _unused_) {
        _cleanup_json_ json_object *o = result_of("ready", "node-ready.target", "ready", EXIT_OK);

        assert_string_equal(json_get_string(o, "result"), "reached");
}

static void a_verdict_that_nobody_waited_for_is_no_result(void **state _unused_) {
        _cleanup_json_ json_object *o =
                        result_of("multi-user", "multi-user.target", "degraded", EXIT_OK);

        assert_string_equal(json_get_string(o, "result"), "reached");
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
                cmocka_unit_test(a_degraded_node_is_not_called_reached),
                cmocka_unit_test(a_node_that_is_ready_is_reached),
                cmocka_unit_test(a_verdict_that_nobody_waited_for_is_no_result),
        };

        return cmocka_run_group_tests(tests, NULL, free_lines);
}
