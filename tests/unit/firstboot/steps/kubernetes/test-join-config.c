/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/kubernetes/join-config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void what_stands_in_the_configuration_cannot_break_out(void **state _unused_) {
        _cleanup_json_ json_object *
                        section = json_tokener_parse(
                                       "{\"endpoint\":\"api\",\"ca_hashes\":[\"sha256:ab\"],"
                                       "\"cri_socket\":\"unix:///a\\nb: c\",\"labels\":{\"x\":\"y\",\"z\":1}}"),
                       *back = NULL;
        _cleanup_free_ char *text = join_configuration(section, "n", "t", "v1.30.1");
        json_object *registration;

        back = json_tokener_parse(text);
        registration = json_get(back, "nodeRegistration");
        assert_string_equal(json_get_string(back, "apiVersion"), "kubeadm.k8s.io/v1beta3");
        assert_string_equal(json_get_string(registration, "criSocket"), "unix:///a\nb: c");
        assert_string_equal(
                        json_get_string(json_get(registration, "kubeletExtraArgs"), "node-labels"),
                        "x=y,z=1");
        assert_string_equal(json_get_string(json_get(json_get(back, "discovery"), "bootstrapToken"),
                                            "apiServerEndpoint"),
                        "api:6443");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_stands_in_the_configuration_cannot_break_out),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
