/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "common/minisign.h"

static void test_a_passphrase_opens_the_same_key(void **state _unused_) {
        _cleanup_secret_key_ SecretKey open = {}, locked = {};

        put_keys();
        assert_int_equal(secret_key_read("key", NULL, &open), 0);
        assert_int_equal(secret_key_read("locked-key", "passphrase", &locked), 0);
        assert_memory_equal(&open, &locked, sizeof(open));
}

static void test_a_wrong_passphrase_is_told_and_not_shown(void **state) {
        SecretKey k;

        put_keys();
        put_file("passphrase", "open barley\n");
        assert_int_equal(secret_key_read("locked-key", "passphrase", &k), -EINVAL);
        assert_true(was_said(state, "locked-key: the passphrase is wrong"));
        assert_false(was_said(state, "barley"));
}

static void test_a_missing_passphrase_names_the_option(void **state) {
        SecretKey k;

        put_keys();
        assert_int_equal(secret_key_read("locked-key", NULL, &k), -EINVAL);
        assert_true(was_said(state, "--passphrase=FILE"));
}

static void test_a_damaged_key_is_told(void **state) {
        char text[] = SECRET_KEY;
        SecretKey k;

        text[strlen(text) - 80] ^= 1;
        put_file("key", text);
        assert_int_equal(secret_key_read("key", NULL, &k), -EINVAL);
        assert_true(was_said(state, "key: the key is damaged"));
}

static void test_what_is_no_secret_key_is_told(void **state) {
        SecretKey k;

        put_keys();
        assert_int_equal(secret_key_read("key.pub", NULL, &k), -EINVAL);
        assert_true(was_said(state, "key.pub is no secret key of minisign's"));
        put_file("empty", "");
        assert_int_equal(secret_key_read("empty", NULL, &k), -EINVAL);
        assert_int_equal(secret_key_read("nothing", NULL, &k), -EINVAL);
}

static void test_a_key_that_others_can_read_is_warned_of(void **state) {
        _cleanup_secret_key_ SecretKey k = {};

        put_keys();
        assert_int_equal(secret_key_read("key", NULL, &k), 0);
        assert_false(was_said(state, "open to others"));
        assert_int_equal(chmod("key", 0644), 0);
        assert_int_equal(secret_key_read("key", NULL, &k), 0);
        assert_true(was_said(state, "key is open to others: chmod 600 key"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(a_passphrase_opens_the_same_key),
                TEST(a_wrong_passphrase_is_told_and_not_shown),
                TEST(a_missing_passphrase_names_the_option),
                TEST(a_damaged_key_is_told),
                TEST(what_is_no_secret_key_is_told),
                TEST(a_key_that_others_can_read_is_warned_of),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
