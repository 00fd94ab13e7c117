/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* identity.*: each fault alone, in a tree that is otherwise right. The rule that is for it finds
 * it, and no other does. */

#include "check-fixture.h"

static void test_machine_id(void **state) {
        put("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert_found(*state, "identity.machine-id", "0123456789abcdef");
}

static void test_machine_id_missing(void **state) {
        assert_int_equal(unlink("etc/machine-id"), 0);
        assert_found(*state, "identity.machine-id", "is missing");
}

static void test_dbus_machine_id(void **state) {
        put("var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert_found(*state, "identity.machine-id", "var/lib/dbus/machine-id");
}

static void test_ssh_host_key(void **state) {
        put("etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAA\n");
        assert_found(*state, "identity.ssh-host-keys", "ssh_host_ed25519_key.pub");
}

static void test_random_seed(void **state) {
        put("var/lib/systemd/random-seed", "x");
        assert_found(*state, "identity.seed", "random-seed");
}

static void test_host_ids(void **state) {
        put("etc/nvme/hostnqn", "nqn.2014-08.org.nvmexpress:uuid:1\n");
        assert_found(*state, "identity.host-ids", "etc/nvme/hostnqn");
}

static void test_cloud_init_ran(void **state) {
        put_link("var/lib/cloud/instance", "/var/lib/cloud/instances/i-1");
        assert_found(*state, "identity.host-ids", "var/lib/cloud/instance");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_machine_id),
                TREE(test_machine_id_missing),
                TREE(test_dbus_machine_id),
                TREE(test_ssh_host_key),
                TREE(test_random_seed),
                TREE(test_host_ids),
                TREE(test_cloud_init_ran),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
