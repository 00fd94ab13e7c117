/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/config-rules.h"
#include "shared/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Strings of each rule that are good, and that are not; each list ends with NULL. */
static const struct {
        const char *name;
        const char *(*rule)(const char *s);
        const char *good[6], *bad[12];
} rules[] = {
        { "absolute", check_absolute, { "/", "/a", "/a b", "/..a" },
                        { "", "a", "./a", "/a/../b", "/a/..", "//a", "/a\nb" } },
        { "mount point", check_mount_point, { "/a" }, { "/", "a" } },
        { "line", check_line, { "", "a b", "ä" }, { "a\nb", "\t", "\033[1m" } },
        { "host name", check_hostname, { "a", "a-1.example.org" },
                        { "", "-a", ".a", "a b", "a;b", "a_b", "a\n" } },
        { "time zone", check_timezone, { "Etc/UTC", "Europe/Berlin" },
                        { "", "/etc/passwd", "../x", "a\nb" } },
        { "LVM name", check_lvm_name, { "vg0", "a+b_c.d-e" },
                        { "", "-a", ".", "..", "a/b", "a b" } },
        { "VG UUID", check_vg_uuid, { "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg" },
                        { "", "aaaaaa", "aaaaaa-bbbb-cccc-dddd-eeee-ffff-ggggggg",
                                        "aaaaaa-bbbb-cccc-dddd-eeee-ffff-ggggg!" } },
        { "label", check_label, { "scratch", "a.b_c-d" }, { "", "thirteen-char", "a b", "a/b" } },
        { "options", check_options, { "", "noatime,vers=3" }, { "a b", "a\nb", "a\tb" } },
        { "what", check_what, { "s:/x", "[fe80::1]:/x" }, { "", "/x", "s:/x y", "s:/x\n" } },
        { "LDAP URI", check_ldap_uri, { "ldaps://a", "ldap://a:389" },
                        { "", "http://a", "ldap://a,b", "ldap://a b" } },
        { "URL", check_url, { "https://a/b", "http://a" },
                        { "", "ftp://a", "https://a b", "javascript:x" } },
        { "user", check_user, { "root", "slurm" }, { "", "-x", "a b", "a:b", "a\n" } },
        { "controller", check_controller, { "head", "head:6817", "head:65535" },
                        { "", ":1", "head:", "head:0", "head:65536", "head:x", "head:1x",
                                        "head: 80", "head:+80", "a b:1" } },
        { "word", check_word, { "a", "a=b" }, { "", "a b", "a'b", "a\"b", "a\\b", "a\nb" } },
        { "Xid", check_xid, { "79", "0" }, { "", "-1", "79x", "12345", " 7" } },
        { "GPU fact", check_gpu_fact, { "ecc", "clock_reasons" }, { "", "ECC", "uuid" } },
        { "CA hash", check_ca_hash,
                        { "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
                        { "", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                                        "sha256:0123", "sha1:0123456789abcdef" } },
        { "join token", check_join_token, { "abcdef.0123456789abcdef" },
                        { "", "abcdef0123456789abcdef0", "ABCDEF.0123456789abcdef",
                                        "abcdef.0123456789abcde", "abcdef.0123456789abcdeg!" } },
        { "node name", check_node_name, { "n1", "n1.example" }, { "", "N1", "n1-", "n_1", "-n" } },
};

static void what_is_good_passes_and_what_is_not_is_told(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(rules); i++) {
                for (size_t k = 0; k < ELEMENTSOF(rules[i].good) && rules[i].good[k]; k++)
                        if (rules[i].rule(rules[i].good[k]))
                                fail_msg("%s \"%s\": %s", rules[i].name, rules[i].good[k],
                                                rules[i].rule(rules[i].good[k]));
                for (size_t k = 0; k < ELEMENTSOF(rules[i].bad) && rules[i].bad[k]; k++)
                        if (!rules[i].rule(rules[i].bad[k]))
                                fail_msg("%s \"%s\" passes", rules[i].name, rules[i].bad[k]);
        }
}

static void a_node_labels_itself_outside_of_kubernetes_own_domains(void **state _unused_) {
        assert_null(check_node_label("example.org/rack", "r1"));
        assert_null(check_node_label("rack", ""));
        assert_null(check_node_label("topology.kubernetes.io/zone", "z"));
        assert_null(check_node_label("x.node.kubernetes.io/y", "z"));
        assert_non_null(check_node_label("node-role.kubernetes.io/control-plane", ""));
        assert_non_null(check_node_label("kubernetes.io/x", "y"));
        assert_non_null(check_node_label("x.k8s.io/y", "z"));
        assert_non_null(check_node_label("/x", "y"));
        assert_non_null(check_node_label("a b", "y"));
        assert_non_null(check_node_label("a", "b c"));
}

static void an_option_of_kubelets_is_one_word_and_not_firstboots(void **state _unused_) {
        assert_null(check_kubelet_arg("max-pods", "64"));
        assert_null(check_kubelet_arg("v", "2"));
        assert_non_null(check_kubelet_arg("--v", "2"));
        assert_non_null(check_kubelet_arg("hostname-override", "x"));
        assert_non_null(check_kubelet_arg("max-pods", "64 --v=2"));
        assert_non_null(check_kubelet_arg("max-pods", NULL));
        assert_non_null(check_kubelet_arg("", "x"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_good_passes_and_what_is_not_is_told),
                cmocka_unit_test(a_node_labels_itself_outside_of_kubernetes_own_domains),
                cmocka_unit_test(an_option_of_kubelets_is_one_word_and_not_firstboots),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
