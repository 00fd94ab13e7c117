/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "common/secret.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cmocka.h>

#define FILE_NAME "test-secret.token"

static int put(const char *text) {
        assert_int_equal(write_file_atomic(FILE_NAME, text, strlen(text), 0600), 0);
        return 0;
}

static void add(Secrets *s, const char *text) {
        put(text);
        assert_int_equal(secrets_add(s, "token=" FILE_NAME), 0);
}

static int teardown(void **state _unused_) {
        (void) unlink(FILE_NAME);
        return 0;
}

static bool is_in(const Secrets *s, const char *text) {
        return secret_is_in(s->secrets, text, strlen(text));
}

static void it_is_noticed_without_its_last_newline(void **state _unused_) {
        _cleanup_secrets_ Secrets s = {};

        add(&s, "canary-8d1f\n");
        assert_int_equal(s.secrets[0].size, strlen("canary-8d1f\n"));
        assert_true(is_in(&s, "curl -H 'Token: canary-8d1f' …"));
        assert_false(is_in(&s, "canary-8d1"));
}

static void it_is_noticed_in_base64_behind_whatever(void **state _unused_) {
        _cleanup_secrets_ Secrets s = {};

        add(&s, "canary-8d1f");
        /* Of "canary-8d1f", "a:canary-8d1f", "me:canary-8d1f!" */
        assert_true(is_in(&s, "Y2FuYXJ5LThkMWY="));
        assert_true(is_in(&s, "{\"auth\": \"YTpjYW5hcnktOGQxZg==\"}"));
        assert_true(is_in(&s, "Basic bWU6Y2FuYXJ5LThkMWYh"));
        assert_false(is_in(&s, "Basic bWU6Y2FuYXJ5LTdkMWYh"));
}

static void a_long_line_of_several_is_noticed(void **state _unused_) {
        _cleanup_secrets_ Secrets s = {};

        add(&s, "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIE\nabc\n-----END PRIVATE KEY-----\n");
        assert_true(is_in(&s, "+ echo MC4CAQAwBQYDK2VwBCIE"));
        assert_false(is_in(&s, "-----BEGIN PRIVATE KEY-----"));
        assert_false(is_in(&s, "abc"));
}

static void traces_are_masked(void **state _unused_) {
        _cleanup_free_ char *masked = NULL, *plain = NULL;
        _cleanup_secrets_ Secrets s = {};

        add(&s, "canary-8d1f\n");
        const Secret *const list[] = { s.secrets, NULL };

        masked = secrets_mask(list, "a canary-8d1fcanary-8d1f Y2FuYXJ5LThkMWY= z");
        assert_string_equal(masked, "a [secret token][secret token] [secret token]Y= z");
        plain = secrets_mask(list, "canary");
        assert_string_equal(plain, "canary");
}

static void what_cannot_be_one_is_refused(void **state _unused_) {
        _cleanup_secrets_ Secrets s = {};

        log_set_level(LOG_CRIT);
        put("short\n\n\n\n\n");
        assert_int_equal(secrets_add(&s, "token=" FILE_NAME), -EINVAL);
        assert_int_equal(secrets_add(&s, "token=missing"), -EINVAL);
        assert_int_equal(secrets_add(&s, "token"), -EINVAL);
        assert_int_equal(secrets_add(&s, "token="), -EINVAL);
        assert_int_equal(secrets_add(&s, "=x"), -EINVAL);
        add(&s, "long enough");
        assert_int_equal(secrets_add(&s, "token=" FILE_NAME), -EINVAL);
        log_set_level(LOG_INFO);
        assert_int_equal(s.n, 1);
        assert_non_null(secrets_find(&s, "token"));
        assert_null(secrets_find(&s, "toke"));
}

static void no_core_is_left_from_then_on(void **state _unused_) {
        _cleanup_secrets_ Secrets s = {};
        struct rlimit limit;

        add(&s, "long enough");
        assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
        assert_int_equal(limit.rlim_cur, 0);
        assert_int_equal(limit.rlim_max, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
                TEST(it_is_noticed_without_its_last_newline),
                TEST(it_is_noticed_in_base64_behind_whatever),
                TEST(a_long_line_of_several_is_noticed),
                TEST(traces_are_masked),
                TEST(what_cannot_be_one_is_refused),
                TEST(no_core_is_left_from_then_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
