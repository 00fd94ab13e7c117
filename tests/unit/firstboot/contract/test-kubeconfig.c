/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void kubelets_own_is_read(void **state _unused_) {
        _cleanup_kubeconfig_ Kubeconfig k = {};

        assert_int_equal(
                        kubeconfig_parse(
                                        "apiVersion: v1\nclusters:\n- cluster:\n"
                                        "    certificate-authority-data: QUJD\n"
                                        "    server: https://10.0.0.1:6443\n  name: default-cluster\n"
                                        "users:\n- name: default-auth\n  user:\n"
                                        "    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n"
                                        "    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem",
                                        &k),
                        0);
        assert_string_equal(k.server, "https://10.0.0.1:6443");
        assert_string_equal(k.ca_data, "QUJD");
        assert_null(k.ca_file);
        assert_string_equal(k.cert_file, "/var/lib/kubelet/pki/kubelet-client-current.pem");
        assert_null(k.cert_data);
        assert_string_equal(k.key_file, k.cert_file);
}

static void quotes_and_line_ends_are_no_part_of_a_value(void **state _unused_) {
        _cleanup_kubeconfig_ Kubeconfig k = {};

        assert_int_equal(kubeconfig_parse("- cluster: {}\r\n  - server: \"https://a:1\" \r\n"
                                          "client-key-data: 'a'\r\nclient-certificate-data:\r\n",
                                         &k),
                        0);
        assert_string_equal(k.server, "https://a:1");
        assert_string_equal(k.key_data, "a");
        assert_null(k.cert_data);
}

static void what_names_two_clusters_is_refused(void **state _unused_) {
        Kubeconfig k = {};

        assert_int_equal(kubeconfig_parse("server: https://a\nserver: https://b\n", &k), -ENOTUNIQ);
        assert_int_equal(kubeconfig_parse("server: https://a\nserver: https://a\n", &k), 0);
        kubeconfig_done(&k);
}

static void what_is_none_is_refused(void **state _unused_) {
        static const char *const texts[] = { "", "\n\n", "{\"a\":1}", "serverless: a", "server",
                "server:", "server: ", ":", "-", "a: b: c" };
        Kubeconfig k = {};

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_int_equal(kubeconfig_parse(texts[i], &k), -EBADMSG);
        assert_null(k.server);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kubelets_own_is_read),
                cmocka_unit_test(quotes_and_line_ends_are_no_part_of_a_value),
                cmocka_unit_test(what_names_two_clusters_is_refused),
                cmocka_unit_test(what_is_none_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
