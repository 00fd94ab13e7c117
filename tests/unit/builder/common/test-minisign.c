/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "common/minisign.h"

static void key(SecretKey *ret) {
        put_keys();
        assert_int_equal(secret_key_read("key", NULL, ret), 0);
}

static int verify_text(const PublicKey *k, const char *text, const char *signature) {
        return minisign_verify(k, text, strlen(text), signature, strlen(signature), NULL, NULL);
}

static void test_a_signature_is_the_one_that_minisign_makes(void **state _unused_) {
        _cleanup_secret_key_ SecretKey k = {};
        _cleanup_free_ char *signature = NULL;

        key(&k);
        assert_int_equal(minisign_sign(&k, SIGNED_TEXT, strlen(SIGNED_TEXT), "a comment",
                                         &signature),
                        0);
        assert_string_equal(signature, SIGNATURE);
}

static void test_a_signature_of_minisign_holds(void **state _unused_) {
        _cleanup_free_ char *comment = NULL;
        unsigned char id[KEY_ID];
        char shown[2 * KEY_ID + 1];
        PublicKey k;

        put_keys();
        assert_int_equal(public_key_read("key.pub", &k), 0);
        assert_int_equal(minisign_verify(&k, SIGNED_TEXT, strlen(SIGNED_TEXT), SIGNATURE,
                                         strlen(SIGNATURE), id, &comment),
                        0);
        assert_string_equal(comment, "a comment");
        key_id_format(id, shown);
        assert_string_equal(shown, "3C26A48AB0804608");
}

static void test_another_key_is_told(void **state _unused_) {
        PublicKey k;

        put_keys();
        assert_int_equal(public_key_read("other.pub", &k), 0);
        assert_int_equal(verify_text(&k, SIGNED_TEXT, SIGNATURE), -ENOKEY);
}

static void test_a_key_that_only_calls_itself_so_is_found(void **state _unused_) {
        PublicKey k, other;

        put_keys();
        assert_int_equal(public_key_read("key.pub", &k), 0);
        assert_int_equal(public_key_read("other.pub", &other), 0);
        memcpy(other.id, k.id, KEY_ID);
        assert_int_equal(verify_text(&other, SIGNED_TEXT, SIGNATURE), -EKEYREJECTED);
}

static void test_no_bit_of_a_signature_may_change(void **state _unused_) {
        PublicKey k;

        put_keys();
        assert_int_equal(public_key_read("key.pub", &k), 0);
        for (size_t i = 0; i < strlen(SIGNATURE); i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        char changed[] = SIGNATURE;

                        changed[i] = (char) (changed[i] ^ (1 << bit));
                        if (minisign_verify(&k, SIGNED_TEXT, strlen(SIGNED_TEXT), changed,
                                            strlen(SIGNATURE), NULL, NULL) >= 0)
                                fail_msg("bit %u of byte %zu may change: %s", bit, i, changed);
                }
}

static void test_nothing_may_follow_a_signature(void **state _unused_) {
        PublicKey k;

        put_keys();
        assert_int_equal(public_key_read("key.pub", &k), 0);
        assert_int_equal(verify_text(&k, SIGNED_TEXT, SIGNATURE "\n"), -EBADMSG);
        assert_int_equal(minisign_verify(&k, SIGNED_TEXT, strlen(SIGNED_TEXT), SIGNATURE,
                                         sizeof(SIGNATURE), NULL, NULL),
                        -EBADMSG);
}

static void test_a_comment_is_one_line(void **state _unused_) {
        _cleanup_secret_key_ SecretKey k = {};
        _cleanup_free_ char *signature = NULL;

        key(&k);
        assert_int_equal(minisign_sign(&k, "x", 1, "two\nlines", &signature), -EINVAL);
}

static void test_a_public_key_may_be_given_without_its_comment(void **state _unused_) {
        PublicKey k;

        put_file("bare.pub", strchr(PUBLIC_KEY, '\n') + 1);
        assert_int_equal(public_key_read("bare.pub", &k), 0);
        assert_int_equal(verify_text(&k, SIGNED_TEXT, SIGNATURE), 0);
}

static void test_what_is_no_public_key_is_told(void **state) {
        PublicKey k;

        put_keys();
        assert_int_equal(public_key_read("key", &k), -EINVAL);
        assert_true(was_said(state, "key is no public key of minisign's"));
        assert_int_equal(public_key_read("nothing", &k), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(a_signature_is_the_one_that_minisign_makes),
                TEST(a_signature_of_minisign_holds),
                TEST(another_key_is_told),
                TEST(a_key_that_only_calls_itself_so_is_found),
                TEST(no_bit_of_a_signature_may_change),
                TEST(nothing_may_follow_a_signature),
                TEST(a_comment_is_one_line),
                TEST(a_public_key_may_be_given_without_its_comment),
                TEST(what_is_no_public_key_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
