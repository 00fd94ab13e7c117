/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/kubernetes/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* As kubeadm 1.20 and 1.28 print it. */
static void kubeadms_words_are_understood(void **state _unused_) {
        static const struct {
                const char *line, *code;
        } lines[] = {
                { "error execution phase preflight: couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID \"abcdef\"",
                                "kubernetes.token-expired" },
                { "error execution phase preflight: couldn't validate the identity of the API Server: token id \"abcdef\" is invalid for this cluster or it has expired. Use \"kubeadm token create\" on the control-plane node to create a new valid token",
                                "kubernetes.token-expired" },
                { "couldn't validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is invalid: none of the public keys \"sha256:ab\" are pinned",
                                "kubernetes.wrong-ca" },
                { "couldn't validate the identity of the API Server: Get \"https://10.0.0.1:6443/\": dial tcp 10.0.0.1:6443: connect: connection refused",
                                "kubernetes.unreachable" },
                { "Get \"https://10.0.0.1:6443/\": x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2024-01-01T00:00:00Z",
                                "kubernetes.clock-skew" },
                { "Get \"https://10.0.0.1:6443/\": x509: certificate signed by unknown authority",
                                "kubernetes.certificate" },
                { "error execution phase preflight: unable to fetch the kubeadm-config ConfigMap: failed to get config map: Unauthorized",
                                "kubernetes.token-refused" },
                { "a Node with name \"gpu0\" and status \"Ready\" already exists in the cluster. You must delete the existing Node or change the name of this new joining Node",
                                "kubernetes.name-taken" },
                { "[kubelet-check] It seems like the kubelet isn't running or healthy.",
                                "kubernetes.kubelet" },
                { "[preflight] Running pre-flight checks", NULL },
                /* Of this machine, and not of the API server. */
                { "\t[WARNING Hostname]: hostname \"n1\": lookup n1 on 127.0.0.53:53: read udp 127.0.0.1:41234->127.0.0.53:53: read: connection refused",
                                NULL },
                { "\t[ERROR CRI]: container runtime is not running: output: rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"",
                                NULL },
                { "", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                const char *code = join_judge(lines[i].line);

                if (lines[i].code)
                        assert_string_equal(code, lines[i].code);
                else
                        assert_null(code);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kubeadms_words_are_understood),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
