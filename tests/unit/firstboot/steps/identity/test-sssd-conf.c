/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What sssd.conf and nsswitch.conf say for a configuration. */

#include "steps/identity/sssd-conf.h"
#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *render(const char *text) {
        _cleanup_json_ json_object *o = json_tokener_parse(text);

        assert_non_null(o);
        return sssd_conf(o, false);
}

static void servers_and_base_are_there(void **state) {
        _cleanup_free_ char *text = render(
                        "{\"uri\":[\"ldaps://a\",\"ldaps://b\"],\"base\":\"dc=x\",\"ca_file\":\"/ca\"}");

        (void) state;
        assert_non_null(strstr(text, "ldap_uri = ldaps://a, ldaps://b\n"));
        assert_non_null(strstr(text, "ldap_search_base = dc=x\n"));
        assert_non_null(strstr(text, "ldap_tls_cacert = /ca\n"));
        assert_non_null(strstr(text, "ldap_tls_reqcert = demand\n"));
}

static void plain_authentication_is_never_switched_on_by_itself(void **state) {
        _cleanup_free_ char *
                        a = render("{\"uri\":[\"ldap://a\"],\"base\":\"x\",\"starttls\":true,\"allow_plain\":true}"),
                       *b = render("{\"uri\":[\"ldap://a\"],\"base\":\"x\",\"starttls\":false,\"allow_plain\":true}");

        (void) state;
        assert_null(strstr(a, "never_use_in_production"));
        assert_non_null(strstr(b, "never_use_in_production"));
}

static void a_password_needs_a_name(void **state) {
        _cleanup_free_ char *
                        a = render("{\"uri\":[],\"base\":\"x\",\"bind_password\":\"p\"}"),
                       *b = render("{\"uri\":[],\"base\":\"x\",\"bind_password\":\"p\",\"bind_dn\":\"cn=a\"}");

        (void) state;
        assert_null(strstr(a, "authtok"));
        assert_non_null(strstr(b, "ldap_default_authtok = p\n"));
}

static void responders_started_by_sockets_are_not_listed(void **state) {
        _cleanup_json_ json_object *o =
                        json_tokener_parse("{\"uri\":[\"ldaps://a\"],\"base\":\"x\"}");
        _cleanup_free_ char *a = sssd_conf(o, true), *b = sssd_conf(o, false);

        (void) state;
        assert_null(strstr(a, "services ="));
        assert_non_null(strstr(b, "services = nss, pam, ssh\n"));
}

static void nsswitch_gets_sss_once_and_only_where_needed(void **state) {
        _cleanup_free_ char *
                        a = nsswitch_with_sss(
                                       "# c\npasswd:         files systemd  \ngroup: files sss\nshadow:files\nhosts: files dns\n"),
                       *b = nsswitch_with_sss(a);

        (void) state;
        assert_string_equal(a,
                        "# c\npasswd:         files systemd sss\ngroup: files sss\nshadow:files sss\nhosts: files dns\n");
        assert_string_equal(a, b);
}

static void a_server_that_was_away_is_asked_again_soon(void **state) {
        _cleanup_free_ char *text = render("{\"uri\":[\"ldaps://a\"],\"base\":\"x\"}");

        (void) state;
        assert_non_null(strstr(text, "offline_timeout = 10\n"));
        assert_non_null(strstr(text, "offline_timeout_max = 60\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(servers_and_base_are_there),
                cmocka_unit_test(plain_authentication_is_never_switched_on_by_itself),
                cmocka_unit_test(a_password_needs_a_name),
                cmocka_unit_test(responders_started_by_sockets_are_not_listed),
                cmocka_unit_test(a_server_that_was_away_is_asked_again_soon),
                cmocka_unit_test(nsswitch_gets_sss_once_and_only_where_needed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
