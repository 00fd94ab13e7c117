/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/deb-version.h"
#include "shared/macro.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* In their order. */
static const char *const versions[] = { "0~~", "0~", "0", "0.0~beta", "0.1", "0.9-1", "0.10-1",
        "1.0~rc1-1", "1.0", "1.0-0.1", "1.0-1~bpo12+1", "1.0-1~deb13u1", "1.0-1", "1.0-1+b1",
        "1.0-1+deb13u1", "1.0-1+deb13u2", "1.0-1+deb13u10", "1.0-1.1", "1.0-2", "1.0a-1", "1.0a",
        "1.0+dfsg-1", "1.0.0-1", "1.0.1-1", "1.0-rc-1", "2.12.7+dfsg+really2.9.14-2.1", "9.9",
        "10.0p1-7+deb13u2", "10.0p1-7+deb13u4", "20260101", "123456789012345678901234567890",
        "1:0.1", "1:1.0-1", "2:0" };

static int sign(int n) {
        return (n > 0) - (n < 0);
}

static void the_order_is_dpkg_s(void **state _unused_) {
        if (!program_find("dpkg", NULL))
                skip();
        for (size_t i = 0; i < ELEMENTSOF(versions); i++)
                for (size_t k = i; k < MIN(i + 3, ELEMENTSOF(versions)); k++) {
                        int ours = deb_version_compare(versions[i], versions[k]), status;
                        const char *how = ours < 0 ? "lt" : ours > 0 ? "gt" : "eq";

                        assert_int_equal(spawn_run(NULL,
                                                         ARGV("dpkg", "--compare-versions",
                                                                         versions[i], how,
                                                                         versions[k]),
                                                         &status),
                                        0);
                        if (status != 0)
                                fail_msg("dpkg says no to %s %s %s", versions[i], how, versions[k]);
                        assert_int_equal(sign(deb_version_compare(versions[k], versions[i])),
                                        -sign(ours));
                }
}

static void what_stands_for_the_same_is_equal(void **state _unused_) {
        assert_int_equal(deb_version_compare("1.0", "1.0-0"), 0);
        assert_int_equal(deb_version_compare("1.0", "0:1.0"), 0);
        assert_int_equal(deb_version_compare("1.00", "1.0"), 0);
        assert_int_equal(deb_version_compare("", ""), 0);
}

static void any_text_has_a_place(void **state _unused_) {
        assert_true(deb_version_compare("", "~") > 0);
        assert_true(deb_version_compare("-", ":") == 0);
        assert_true(deb_version_compare("\xff\xff", "1") != 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_order_is_dpkg_s),
                cmocka_unit_test(what_stands_for_the_same_is_equal),
                cmocka_unit_test(any_text_has_a_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
