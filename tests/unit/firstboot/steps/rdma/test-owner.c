/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pod in a process' cgroup, as kubelet's drivers write it and as others may. */

#include "steps/rdma/owner.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ID "75208fa4379f75208fa4379f75208fa4379f75208fa4379f75208fa4379f7520"
#define UID "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
#define UID_ "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0"

static void test_cgroups(void **state _unused_) {
        static const struct {
                const char *text, *uid, *container;
        } cases[] = {
                /* systemd's driver, each class of pods */
                { "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
                  ".slice/cri-containerd-" ID ".scope\n",
                                UID, ID },
                { "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
                  ".slice/crio-" ID ".scope\n",
                                UID, ID },
                { "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope\n",
                                UID, ID },
                { "0::/kubepods.slice/kubepods-pod" UID_ ".slice\n", UID, NULL },
                /* cgroupfs, and the old hierarchies */
                { "0::/kubepods/burstable/pod" UID "/" ID "\n", UID, ID },
                { "0::/kubepods/pod" UID "/" ID "\n", UID, ID },
                { "12:cpu,cpuacct:/\n11:memory:/kubepods/besteffort/pod" UID "/" ID "\n0::/\n", UID,
                                ID },
                /* a static pod, by the digest of its file */
                { "0::/kubepods/burstable/pod3f7a9c0d1e2b4a5c6d7e8f9012345678/" ID "\n",
                                "3f7a9c0d1e2b4a5c6d7e8f9012345678", ID },
                /* systemd in the container, and a pod that a container plays */
                { "0::/kubepods/pod" UID "/" ID "/init.scope\n", UID, ID },
                { "0::/kubepods/pod" UID "/" ID
                  "/kubepods/podffffffff-ffff-ffff-ffff-ffffffffffff/" ID "\n",
                                UID, ID },
                { "0::/kubepods/pod" UID "/not-an-id\n", UID, NULL },
                { "0::/kubepods/pod" UID "/" ID "00\n", UID, NULL },
                /* nobody's */
                { "0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod" UID "/" ID "\n",
                                NULL, NULL },
                { "0::/system.slice/containerd.service\n", NULL, NULL },
                { "0::/kubepods.slice\n", NULL, NULL },
                { "0::/kubepods/burstable/pod\n", NULL, NULL },
                { "0::/kubepods/podsomething-else/" ID "\n", NULL, NULL },
                { "0::/kubepods.slice/kubepods-pod.slice\n", NULL, NULL },
                { "0::/kubepods.slice/kubepods.slice\n", NULL, NULL },
                { "0::/../../kubepods/pod" UID "\n", NULL, NULL },
                { "nonsense\n::\n:\n", NULL, NULL },
                { "", NULL, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *uid = NULL, *container = NULL;
                int r = pod_of_cgroup(cases[i].text, &uid, &container);

                if (r != (cases[i].uid != NULL) || !streq_ptr(uid, cases[i].uid) ||
                                !streq_ptr(container, cases[i].container))
                        fail_msg("%s: %d, %s, %s", cases[i].text, r, strempty(uid),
                                        strempty(container));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cgroups),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
