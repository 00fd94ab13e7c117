/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* secrets.*: each fault alone, in a tree that is otherwise right. The rule that is for it finds it,
 * and no other does. */

#include "check-fixture.h"

#define PRIVATE_KEY \
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n"

static void test_password_hash(void **state) {
        put("etc/shadow", "root:$y$j9T$abc$def:20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"root\" has a password");
}

static void test_locked_hash(void **state) {
        put("etc/shadow", "root:*:1::::::\nuser:!$6$abc$def:20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"user\" has a password");
}

static void test_empty_password(void **state) {
        put("etc/shadow", "root::20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"root\" has an empty password");
}

static void test_hash_in_passwd(void **state) {
        put("etc/passwd", "root:x:0:0::/:/bin/sh\nold:abJnggxhB/yWI:1:1::/:/bin/sh\n");
        assert_found(*state, "secrets.password", "/etc/passwd: \"old\"");
}

static void test_hash_in_backup(void **state) {
        put("etc/shadow-", "root:$1$x$y:1::::::");
        assert_found(*state, "secrets.password", "/etc/shadow-");
}

static void test_group_password(void **state) {
        put("etc/gshadow", "root:$6$x$y::\n");
        assert_found(*state, "secrets.password", "/etc/gshadow");
}

static void test_private_keys(void **state) {
        static const char *const places[] = { "root/.ssh/id_ed25519", "etc/ssl/private/host.pem",
                "home/a/key", "opt/x/server.key", "usr/local/etc/key", "var/lib/x/key" };

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                put(places[i], PRIVATE_KEY);
                assert_found(*state, "secrets.private-key", places[i]);
                assert_int_equal(unlink(places[i]), 0);
        }
}

static void test_private_key_behind_a_certificate(void **state) {
        put("etc/x/bundle.pem",
                        "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\nx\n");
        assert_found(*state, "secrets.private-key", "etc/x/bundle.pem");
}

static void test_pgp_and_putty_keys(void **state) {
        put("root/a.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n");
        assert_found(*state, "secrets.private-key", "root/a.asc");
        assert_int_equal(unlink("root/a.asc"), 0);
        put("root/a.ppk", "PuTTY-User-Key-File-3: ssh-ed25519\n");
        assert_found(*state, "secrets.private-key", "root/a.ppk");
}

static void test_munge_key(void **state) {
        put("etc/munge/munge.key", "\x01\x02\x03");
        assert_found(*state, "secrets.private-key", "munge.key");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_password_hash),
                TREE(test_locked_hash),
                TREE(test_empty_password),
                TREE(test_hash_in_passwd),
                TREE(test_hash_in_backup),
                TREE(test_group_password),
                TREE(test_private_keys),
                TREE(test_private_key_behind_a_certificate),
                TREE(test_pgp_and_putty_keys),
                TREE(test_munge_key),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
