/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* leftovers.*: each fault alone, in a tree that is otherwise right. The rule that is for it finds
 * it, and no other does. */

#include "check-fixture.h"

static void test_apt_lists(void **state) {
        put("var/lib/apt/lists/deb.example_dists_trixie_InRelease", "x");
        assert_found(*state, "leftovers.apt-lists", "InRelease");
}

static void test_caches(void **state) {
        put("var/cache/apt/archives/x_1_amd64.deb", "x");
        assert_found(*state, "leftovers.caches", "x_1_amd64.deb");
}

static void test_logs(void **state) {
        put("var/log/apt/history.log", "x");
        assert_found(*state, "leftovers.logs", "var/log/apt/history.log");
}

static void test_resolv_conf(void **state) {
        assert_int_equal(unlink("etc/resolv.conf"), 0);
        put("etc/resolv.conf", "# host's\nnameserver 192.0.2.1\n");
        assert_found(*state, "leftovers.resolv-conf", "nameserver 192.0.2.1");
}

static void test_history(void **state) {
        put("root/.bash_history", "ls\n");
        assert_found(*state, "leftovers.history", "root/.bash_history");
}

static void test_temporary(void **state) {
        put("var/tmp/x", "x");
        assert_found(*state, "leftovers.temporary", "var/tmp/x");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_apt_lists),
                TREE(test_caches),
                TREE(test_logs),
                TREE(test_resolv_conf),
                TREE(test_history),
                TREE(test_temporary),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
