/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apt_auth.conf(5), and that no login leaves TLS. */

#include "common/apt-auth.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char text[] = "# machine commented login x password x\n"
                           "machine example.org/private login one password p1\n"
                           "machine example.org:8443\n  login two\n  password p2\n"
                           "machine http://plain.org login three password p3\n"
                           "machine https://secure.org login four password p4\n"
                           "machine half.org login five\n";

static void assert_login(const AptLogin *l, const char *name) {
        assert_true(streq_ptr(l ? l->login : NULL, name));
}

static void the_first_that_fits_is_found(void **state _unused_) {
        _cleanup_apt_auth_ AptAuth a = {};

        assert_int_equal(apt_auth_parse(&a, text), 0);
        assert_login(apt_auth_for(&a, "https://example.org/private/x.deb"), "one");
        assert_login(apt_auth_for(&a, "https://EXAMPLE.org/private"), "one");
        assert_login(apt_auth_for(&a, "https://example.org:8443/x.deb"), "two");
        assert_login(apt_auth_for(&a, "https://secure.org/x"), "four");
}

static void others_get_none(void **state _unused_) {
        _cleanup_apt_auth_ AptAuth a = {};

        assert_int_equal(apt_auth_parse(&a, text), 0);
        assert_null(apt_auth_for(&a, "https://example.org/public"));
        assert_null(apt_auth_for(&a, "https://www.example.org/private/"));
        assert_null(apt_auth_for(&a, "https://example.org.evil.org/private/"));
        assert_null(apt_auth_for(&a, "https://half.org/"));
        assert_null(apt_auth_for(&a, "https://commented/"));
        assert_null(apt_auth_for(&a, "file:///private"));
}

static void none_is_for_plain_http(void **state _unused_) {
        _cleanup_apt_auth_ AptAuth a = {};

        assert_int_equal(apt_auth_parse(&a, text), 0);
        assert_null(apt_auth_for(&a, "http://plain.org/"));
        assert_null(apt_auth_for(&a, "https://plain.org/"));
        assert_null(apt_auth_for(&a, "http://secure.org/"));
        assert_null(apt_auth_for(&a, "http://example.org/private/x.deb"));
        assert_login(apt_auth_find(&a, "http://plain.org/"), "three");
}

static void apt_is_told_of_tls_alone(void **state _unused_) {
        _cleanup_apt_auth_ AptAuth a = {};
        _cleanup_apt_secret_ char *written = NULL;

        assert_int_equal(apt_auth_parse(&a, text), 0);
        assert_int_equal(apt_auth_text(&a, &written), 0);
        assert_string_equal(written, "machine https://example.org/private login one password p1\n"
                                     "machine https://example.org:8443 login two password p2\n"
                                     "machine https://secure.org login four password p4\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_that_fits_is_found),
                cmocka_unit_test(others_get_none),
                cmocka_unit_test(none_is_for_plain_http),
                cmocka_unit_test(apt_is_told_of_tls_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
