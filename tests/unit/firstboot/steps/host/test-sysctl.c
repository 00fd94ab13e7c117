/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"

#include "steps/host/sysctl.h"

static void assert_path(const char *name, const char *path) {
        _cleanup_free_ char *is = host_sysctl_path(name), *should = fb_path(path);

        assert_string_equal(is, should);
}

/* As sysctl(8) and sysctl.d(5) have it. */
static void the_first_separator_says_which_one_it_is(void **state _unused_) {
        assert_path("kernel.panic", "/proc/sys/kernel/panic");
        assert_path("kernel/panic", "/proc/sys/kernel/panic");
        assert_path("net.ipv4.conf.eth0/100.forwarding",
                        "/proc/sys/net/ipv4/conf/eth0.100/forwarding");
        assert_path("net/ipv4/conf/eth0.100/forwarding",
                        "/proc/sys/net/ipv4/conf/eth0.100/forwarding");
        assert_path("plain", "/proc/sys/plain");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_first_separator_says_which_one_it_is,
                                root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
