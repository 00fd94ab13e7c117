/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/jobs.h"

#define POD \
        "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-a.scope\n"

static void process(const char *pid, const char *comm, const char *cgroup, const char *device) {
        _cleanup_free_ char *fd = fb_pathf("/proc/%s/fd/7", pid);
        const struct {
                const char *name, *text;
        } files[] = { { "comm", comm }, { "cmdline", comm }, { "cgroup", cgroup },
                { "fd/.keep", "" } };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                char path[64];

                snprintf(path, sizeof(path), "/proc/%s/%s", pid, files[i].name);
                root_put(path, files[i].text);
        }
        if (device)
                assert_return_code(symlink(device, fd), 0);
}

static void a_pod_that_computes_is_work(void **state _unused_) {
        process("10", "python", POD, "/dev/nvidia-uvm");
        assert_true(jobs_run());
}

static void so_is_one_with_an_rdma_device(void **state _unused_) {
        process("10", "ib_write_bw", POD, "/dev/infiniband/uverbs0");
        assert_true(jobs_run());
}

/* Else no node of a cluster would ever come back: each has pods of the cluster's own. */
static void what_only_watches_is_none(void **state _unused_) {
        process("10", "dcgm-exporter", POD, "/dev/nvidia0");
        process("11", "kube-proxy", POD, NULL);
        process("12", "nvidia-persiste", "0::/system.slice/nvidia-persistenced.service\n",
                        "/dev/nvidia-uvm");
        assert_false(jobs_run());
}

static void a_job_of_slurms_is_work(void **state _unused_) {
        process("10", "slurmstepd", "0::/system.slice/slurmstepd.scope\n", NULL);
        root_put("/proc/10/cmdline", "slurmstepd: [7.batch]");
        assert_true(jobs_run());
}

/* Whoever has an account could keep the node out of service else. */
static void a_users_process_of_that_name_is_none(void **state _unused_) {
        process("10", "slurmstepd", "0::/user.slice\n", NULL);
        root_put("/proc/10/cmdline", "slurmstepd: [7.batch]");
        root_put("/proc/10/status",
                        "Name:\tslurmstepd\nUid:\t1000\t1000\t1000\t1000\nGid:\t0\t0\t0\t0\n");
        assert_false(jobs_run());
        root_put("/proc/10/status", "Name:\tslurmstepd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
        assert_true(jobs_run());
}

/* A user's own manager lets him make cgroups of any name below its own, and RDMA devices are
 * everybody's to open. */
static void a_users_cgroup_of_pods_name_is_none(void **state _unused_) {
        process("10", "sleep",
                        "0::/user.slice/user-1000.slice/user@1000.service/kubepods.slice/a.scope\n",
                        "/dev/infiniband/uverbs0");
        process("11", "sleep",
                        "0::/user.slice/user-1000.slice/user@1000.service/:/kubepods/a.scope\n",
                        "/dev/infiniband/uverbs0");
        assert_false(jobs_run());
}

static void pods_below_a_slice_of_the_machines_are_work(void **state _unused_) {
        process("10", "python", "0::/kubelet.slice/kubelet-kubepods.slice/a.scope\n",
                        "/dev/nvidia-uvm");
        assert_true(jobs_run());
}

static void pods_of_the_first_kind_of_cgroups_are_work(void **state _unused_) {
        process("10", "python",
                        "12:devices:/kubepods/besteffort/pod1/a\n1:name=systemd:/system.slice\n",
                        "/dev/nvidia-uvm");
        assert_true(jobs_run());
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_pod_that_computes_is_work, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                so_is_one_with_an_rdma_device, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                what_only_watches_is_none, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_users_cgroup_of_pods_name_is_none, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(pods_below_a_slice_of_the_machines_are_work,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(pods_of_the_first_kind_of_cgroups_are_work,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(a_job_of_slurms_is_work, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_users_process_of_that_name_is_none, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
