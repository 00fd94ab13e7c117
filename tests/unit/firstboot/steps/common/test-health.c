/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is made of firstbootctl check's words, which come from a shell program here. */

#include "root-fixture.h"
#include "steps/common/health.h"

#include <sys/stat.h>

static const HealthCodes own = { "t.failed", "t.unavailable" };

static int look(const char *program, char **ret_code, char **ret_text) {
        _cleanup_free_ char *path = fb_path("/usr/bin/firstbootctl"), *text = NULL;

        text = strf("#!/bin/sh\n%s\n", program);
        root_put("/usr/bin/firstbootctl", text);
        assert_return_code(chmod(path, 0755), 0);
        return health_check(&own, ret_code, ret_text);
}

static void assert_finds(const char *program, const char *code, const char *text) {
        _cleanup_free_ char *found = NULL, *said = NULL;

        assert_int_equal(look(program, &found, &said), HEALTH_BAD);
        assert_string_equal(found, code);
        assert_string_equal(said, text);
}

static void a_check_that_passes_is_good(void **state _unused_) {
        _cleanup_free_ char *code = NULL, *text = NULL;

        assert_int_equal(look("exit 0", &code, &text), HEALTH_GOOD);
        assert_int_equal(look("echo 'a.b: x (let pass)' >&2", &code, &text), HEALTH_GOOD);
}

static void the_first_finding_is_the_reason(void **state _unused_) {
        assert_finds("echo 'mounts.lost: /home'; echo 'gpu.xid: 79'; exit 1", "mounts.lost",
                        "/home");
}

/* It is on standard error, which comes first. */
static void what_is_let_pass_is_no_reason(void **state _unused_) {
        assert_finds("echo 'host.sysctl: a differs (let pass)' >&2; echo 'mounts.lost: /home'; exit 1",
                        "mounts.lost", "/home");
}

static void a_sites_own_code_is_one(void **state _unused_) {
        assert_finds("echo 'space.low: 3 MiB are free'; exit 1", "space.low", "3 MiB are free");
}

static void what_is_no_code_is_none(void **state _unused_) {
        assert_finds("echo 'note: well'; echo '/etc/x.json: no'; echo ': y'; exit 1", "t.failed",
                        "firstbootctl check names no code");
}

static void silence_is_a_failure_too(void **state _unused_) {
        assert_finds("exit 1", "t.failed", "firstbootctl check names no code");
}

static void a_check_that_cannot_look_is_no_pass(void **state _unused_) {
        _cleanup_free_ char *code = NULL, *text = NULL;

        assert_int_equal(look("echo 'no bus' >&2; exit 3", &code, &text), HEALTH_UNKNOWN);
        assert_string_equal(code, "t.unavailable");
        assert_string_equal(text, "firstbootctl check ended with 3: no bus");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_check_that_passes_is_good),
                TEST(the_first_finding_is_the_reason),
                TEST(what_is_let_pass_is_no_reason),
                TEST(a_sites_own_code_is_one),
                TEST(what_is_no_code_is_none),
                TEST(silence_is_a_failure_too),
                TEST(a_check_that_cannot_look_is_no_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
