/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A failure of a program or a unit is a sentence that says something, whatever they said
 * themselves. */

#include "steps/common/unit.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_program_that_failed_is_told_by_its_words_or_its_end(void **state _unused_) {
        static const struct {
                int r;
                const char *last, *text;
        } table[] = {
                { -ENOENT, "No such file or directory", "growpart is not installed" },
                { -ETIMEDOUT, "Connection timed out",
                                "growpart did not end in time and was killed" },
                { -EACCES, "Permission denied", "growpart cannot be run: Permission denied" },
                { 2, "FAILED: no disk", "growpart: FAILED: no disk" },
                { 3, "", "growpart ended with exit code 3 and said nothing" },
                { 3, NULL, "growpart ended with exit code 3 and said nothing" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *text =
                                step_command_failure("growpart", table[i].r, table[i].last);

                assert_string_equal(text, table[i].text);
        }
}

static void what_was_run_is_told_by_that(void **state _unused_) {
        _cleanup_free_ char *last = NULL, *text = NULL;
        int r = step_command(ARGV("sh", "-c", "exit 7"), 10 * USEC_PER_SEC, &last);

        text = step_command_failure("sh", r, last);
        assert_string_equal(text, "sh ended with exit code 7 and said nothing");
}

static void a_job_s_result_is_a_word_of_systemd_s(void **state _unused_) {
        assert_string_equal(unit_job_words(-EIO, "failed"), "the unit failed");
        assert_string_equal(unit_job_words(-EIO, "dependency"), "a unit that it needs failed");
        assert_string_equal(unit_job_words(-ENOENT, "Unit x.service not found."),
                        "Unit x.service not found.");
        assert_string_equal(unit_job_words(-ENOTCONN, NULL), strerror(ENOTCONN));
        assert_string_equal(unit_job_words(-ENOTCONN, ""), strerror(ENOTCONN));
}

static void a_bus_that_is_away_has_its_own_remedy(void **state _unused_) {
        _cleanup_json_ json_object *result = json_object_new_object();
        StepContext c = { .name = "host", .result = result };

        assert_int_equal(unit_fail_no_bus(&c, "host.hostname", -ECONNREFUSED), -EAGAIN);
        assert_string_equal(json_get_string(result, "code"), "host.hostname");
        assert_non_null(strstr(json_get_string(result, "message"), strerror(ECONNREFUSED)));
        assert_non_null(strstr(json_get_string(result, "remedy"), "systemctl status dbus.socket"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_program_that_failed_is_told_by_its_words_or_its_end),
                cmocka_unit_test(what_was_run_is_told_by_that),
                cmocka_unit_test(a_job_s_result_is_a_word_of_systemd_s),
                cmocka_unit_test(a_bus_that_is_away_has_its_own_remedy),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
