/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each fault alone, in a tree that is otherwise right: the rule that is for it finds it, and no
 * other does. */

#include "check-fixture.h"

#define PRIVATE_KEY \
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n"

static void test_right_tree(void **state) {
        assert_found(*state, NULL, NULL);
}

static void test_right_gpu_tree(void **state) {
        CheckFixture *f = *state;

        assert_found(f, NULL, NULL);
        assert_string_equal(json_get_string(f->findings.versions, "driver"), DRIVER);
        assert_string_equal(json_get_string(f->findings.versions, "kernel"), KERNEL);
        assert_string_equal(json_get_string(f->findings.versions, "cuda"), "12.4.127");
        assert_string_equal(json_get_string(f->findings.versions, "nccl"), "2.22.3+cuda12.1");
        assert_string_equal(json_get_string(f->findings.versions, "systemd"), "257.1-1");
}

static void test_tree_that_is_not_there(void **state) {
        CheckFixture *f = *state;
        assert_int_equal(rules_run("/nonexistent", NULL, &f->findings, NULL), -ENOENT);
}

/* A rule that cannot look must not pass. */
static void test_unreadable_is_an_error(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(unlink("etc/shadow"), 0);
        assert_int_equal(mkdir("etc/shadow", 0755), 0);
        assert_true(rules_run(f->folder, NULL, &f->findings, NULL) < 0);
        assert_non_null(strstr(f->lines[0], "secrets.password could not run"));
}

static void test_link_out_of_the_tree(void **state) {
        put(LIBRARIES "libcuda.so.1.new", "");
        put_link(LIBRARIES "libcuda.so.1", "../../../../../../../../../../bin/sh");
        assert_found(*state, "nvidia.version", "libcuda.so.1 is missing");
}

/* kernel.* */

static void test_no_kernel(void **state) {
        rm_rf("usr/lib/modules");
        assert_found(*state, "kernel.present", "no kernel");
}

static void test_kernel_image_missing(void **state) {
        assert_int_equal(unlink("boot/vmlinuz-" KERNEL), 0);
        assert_found(*state, "kernel.present", "boot/vmlinuz-" KERNEL);
}

static void test_modules_dep_missing(void **state) {
        assert_int_equal(unlink(MODULES "modules.dep"), 0);
        assert_found(*state, "kernel.present", "modules.dep is missing");
}

static void test_initramfs_missing(void **state) {
        assert_int_equal(unlink("boot/initrd.img-" KERNEL), 0);
        assert_found(*state, "kernel.initramfs", KERNEL);
}

static void test_initramfs_empty(void **state) {
        put("boot/initrd.img-" KERNEL, "");
        assert_found(*state, "kernel.initramfs", KERNEL);
}

/* nvidia.* */

static void test_module_missing(void **state) {
        assert_int_equal(unlink(MODULES "updates/nvidia/nvidia-uvm.ko"), 0);
        assert_found(*state, "nvidia.modules", "no module nvidia_uvm");
}

static void test_second_kernel_without_modules(void **state) {
        put("boot/vmlinuz-6.13.0-other", "x");
        put("boot/initrd.img-6.13.0-other", "x");
        put("usr/lib/modules/6.13.0-other/modules.dep", "");
        assert_found(*state, "nvidia.modules", "kernel 6.13.0-other has no module nvidia");
}

static void test_damaged_module(void **state) {
        put(MODULES "updates/nvidia/nvidia-uvm.ko", "not a module at all");
        assert_found(*state, "nvidia.modules", "not a whole kernel module");
}

static void test_modules_under_dkms_names(void **state) {
        put(MODULES "modules.dep",
                        "updates/dkms/nvidia-current.ko.xz:\nupdates/dkms/nvidia-current-uvm.ko.xz:\n");
        assert_int_equal(mkdir_p(MODULES "updates/dkms", 0755), 0);
        compress_file(MODULES "updates/nvidia/nvidia.ko",
                        MODULES "updates/dkms/nvidia-current.ko.xz", ARCHIVE_FILTER_XZ);
        compress_file(MODULES "updates/nvidia/nvidia-uvm.ko",
                        MODULES "updates/dkms/nvidia-current-uvm.ko.xz", ARCHIVE_FILTER_XZ);
        rm_rf(MODULES "updates/nvidia");
        assert_found(*state, NULL, NULL);
}

static void test_vermagic_of_another_kernel(void **state) {
        put_module(MODULES "updates/nvidia/nvidia-uvm.ko", "nvidia_uvm", DRIVER,
                        "6.12.2-test SMP preempt mod_unload modversions ");
        assert_found(*state, "nvidia.vermagic", "built for \"6.12.2-test SMP");
}

static void test_vermagic_of_other_options(void **state) {
        put_module(MODULES "updates/nvidia/nvidia-uvm.ko", "nvidia_uvm", DRIVER,
                        KERNEL " SMP preempt mod_unload ");
        assert_found(*state, "nvidia.vermagic", "the kernel wants \"" MAGIC "\"");
}

static void test_vermagic_without_reference(void **state) {
        rm_rf(MODULES "kernel");
        put_module(MODULES "updates/nvidia/nvidia-uvm.ko", "nvidia_uvm", DRIVER,
                        "6.12.1-testing SMP ");
        assert_found(*state, "nvidia.vermagic", "6.12.1-testing");
}

static void test_depmod_not_run(void **state) {
        put(MODULES "modules.dep", "kernel/drivers/dummy.ko:\nupdates/nvidia/nvidia.ko:\n");
        assert_found(*state, "nvidia.depmod", "nvidia-uvm.ko");
}

static void test_modules_of_two_versions(void **state) {
        put_module(MODULES "updates/nvidia/nvidia-uvm.ko", "nvidia_uvm", "550.127.08", MAGIC);
        assert_found(*state, "nvidia.version", "nvidia-uvm.ko is 550.127.08");
}

static void test_libcuda_of_another_version(void **state) {
        put(LIBRARIES "nvidia/current/libcuda.so.555.42.06", "x");
        put_link(LIBRARIES "libcuda.so.1", "nvidia/current/libcuda.so.555.42.06");
        assert_found(*state, "nvidia.version", "libcuda.so.1 is 555.42.06");
}

static void test_nvml_missing(void **state) {
        assert_int_equal(unlink(LIBRARIES "libnvidia-ml.so.1"), 0);
        assert_found(*state, "nvidia.version", "libnvidia-ml.so.1 is missing");
}

static void test_smi_of_another_version(void **state) {
        static const char data[] = "\0"
                                   "550.163.010\0"
                                   "550.127.08\0";
        put_elf("usr/bin/nvidia-smi", ".rodata", data, sizeof(data));
        assert_found(*state, "nvidia.version", "nvidia-smi is of another version");
}

static void test_smi_is_no_program(void **state) {
        put("usr/bin/nvidia-smi", "#!/bin/sh\n# " DRIVER "\n");
        assert_found(*state, "nvidia.version", "nvidia-smi is of another version");
}

static void test_module_without_version(void **state) {
        put_module(MODULES "updates/nvidia/nvidia.ko", "nvidia", NULL, MAGIC);
        assert_found(*state, "nvidia.version", "no nvidia module tells its version");
}

static void test_firmware_of_another_version(void **state) {
        rm_rf("usr/lib/firmware/nvidia/" DRIVER);
        put("usr/lib/firmware/nvidia/555.42.06/gsp_ga10x.bin", "x");
        assert_found(*state, "nvidia.firmware", DRIVER);
}

static void test_nouveau_not_blocked(void **state) {
        put("etc/modprobe.d/nvidia.conf", "# blacklist nouveau\nblacklist nouveaux\n");
        put("etc/modprobe.d/disabled.conf.off", "blacklist nouveau\n");
        assert_found(*state, "nvidia.nouveau", "nouveau");
}

static void test_nouveau_blocked_by_install(void **state) {
        assert_int_equal(unlink("etc/modprobe.d/nvidia.conf"), 0);
        put("usr/lib/modprobe.d/a.conf", "install nouveau /bin/false\n");
        assert_found(*state, NULL, NULL);
}

static void test_kernel_not_held(void **state) {
        put_package("linux-image-amd64", "6.12.1-1", "install");
        assert_found(*state, "nvidia.held", "linux-image-amd64");
}

static void test_no_package_database(void **state) {
        assert_int_equal(unlink("var/lib/dpkg/status"), 0);
        assert_found(*state, "nvidia.held", "names no package");
}

static void test_build_tools(void **state) {
        static const char *const packages[] = { "dkms", "linux-headers-6.12.1-test",
                "nvidia-kernel-source", "gcc-14" };
        CheckFixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(packages); i++)
                put_package(packages[i], "1", "install");
        put_package("gcc-14-base", "1", "install");
        assert_found(f, "nvidia.build-tools", "dkms");
        assert_int_equal(f->findings.n, ELEMENTSOF(packages));
}

/* cuda.*, nccl.* */

static void test_runtime_too_new(void **state) {
        put(LIBRARIES "libcudart.so.12.8.90", "x");
        assert_found(*state, "cuda.runtime",
                        "is for CUDA 12.8, driver " DRIVER " supports CUDA 12.4");
}

static void test_runtime_of_a_toolkit(void **state) {
        put("usr/local/cuda-13.0/lib64/libcudart.so.13.0.48", "x");
        assert_found(*state, "cuda.runtime", "usr/local/cuda-13.0/lib64/libcudart.so.13.0.48");
}

static void test_nccl_too_new(void **state) {
        static const char data[] = "\0NCCL version 2.27.7+cuda12.9\0";
        put_elf(LIBRARIES "libnccl.so.2.27.7", ".rodata", data, sizeof(data));
        assert_found(*state, "nccl.version", "NCCL 2.27.7");
}

static void test_nccl_without_version(void **state) {
        put(LIBRARIES "libnccl.so.2.22.3", "damaged");
        assert_found(*state, "nccl.version", "tells no version");
}

/* identity.* */

static void test_machine_id(void **state) {
        put("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert_found(*state, "identity.machine-id", "0123456789abcdef");
}

static void test_machine_id_missing(void **state) {
        assert_int_equal(unlink("etc/machine-id"), 0);
        assert_found(*state, "identity.machine-id", "is missing");
}

static void test_dbus_machine_id(void **state) {
        put("var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdef\n");
        assert_found(*state, "identity.machine-id", "var/lib/dbus/machine-id");
}

static void test_ssh_host_key(void **state) {
        put("etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAA\n");
        assert_found(*state, "identity.ssh-host-keys", "ssh_host_ed25519_key.pub");
}

static void test_random_seed(void **state) {
        put("var/lib/systemd/random-seed", "x");
        assert_found(*state, "identity.seed", "random-seed");
}

static void test_host_ids(void **state) {
        put("etc/nvme/hostnqn", "nqn.2014-08.org.nvmexpress:uuid:1\n");
        assert_found(*state, "identity.host-ids", "etc/nvme/hostnqn");
}

static void test_cloud_init_ran(void **state) {
        put_link("var/lib/cloud/instance", "/var/lib/cloud/instances/i-1");
        assert_found(*state, "identity.host-ids", "var/lib/cloud/instance");
}

/* secrets.* */

static void test_password_hash(void **state) {
        put("etc/shadow", "root:$y$j9T$abc$def:20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"root\" has a password");
}

static void test_locked_hash(void **state) {
        put("etc/shadow", "root:*:1::::::\nuser:!$6$abc$def:20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"user\" has a password");
}

static void test_empty_password(void **state) {
        put("etc/shadow", "root::20000:0:99999:7:::\n");
        assert_found(*state, "secrets.password", "\"root\" has an empty password");
}

static void test_hash_in_passwd(void **state) {
        put("etc/passwd", "root:x:0:0::/:/bin/sh\nold:abJnggxhB/yWI:1:1::/:/bin/sh\n");
        assert_found(*state, "secrets.password", "/etc/passwd: \"old\"");
}

static void test_hash_in_backup(void **state) {
        put("etc/shadow-", "root:$1$x$y:1::::::");
        assert_found(*state, "secrets.password", "/etc/shadow-");
}

static void test_group_password(void **state) {
        put("etc/gshadow", "root:$6$x$y::\n");
        assert_found(*state, "secrets.password", "/etc/gshadow");
}

static void test_private_keys(void **state) {
        static const char *const places[] = { "root/.ssh/id_ed25519", "etc/ssl/private/host.pem",
                "home/a/key", "opt/x/server.key", "usr/local/etc/key", "var/lib/x/key" };

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                put(places[i], PRIVATE_KEY);
                assert_found(*state, "secrets.private-key", places[i]);
                assert_int_equal(unlink(places[i]), 0);
        }
}

static void test_private_key_behind_a_certificate(void **state) {
        put("etc/x/bundle.pem",
                        "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\nx\n");
        assert_found(*state, "secrets.private-key", "etc/x/bundle.pem");
}

static void test_pgp_and_putty_keys(void **state) {
        put("root/a.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n");
        assert_found(*state, "secrets.private-key", "root/a.asc");
        assert_int_equal(unlink("root/a.asc"), 0);
        put("root/a.ppk", "PuTTY-User-Key-File-3: ssh-ed25519\n");
        assert_found(*state, "secrets.private-key", "root/a.ppk");
}

static void test_munge_key(void **state) {
        put("etc/munge/munge.key", "\x01\x02\x03");
        assert_found(*state, "secrets.private-key", "munge.key");
}

/* leftovers.* */

static void test_apt_lists(void **state) {
        put("var/lib/apt/lists/deb.example_dists_trixie_InRelease", "x");
        assert_found(*state, "leftovers.apt-lists", "InRelease");
}

static void test_caches(void **state) {
        put("var/cache/apt/archives/x_1_amd64.deb", "x");
        assert_found(*state, "leftovers.caches", "x_1_amd64.deb");
}

static void test_logs(void **state) {
        put("var/log/apt/history.log", "x");
        assert_found(*state, "leftovers.logs", "var/log/apt/history.log");
}

static void test_resolv_conf(void **state) {
        assert_int_equal(unlink("etc/resolv.conf"), 0);
        put("etc/resolv.conf", "# host's\nnameserver 192.0.2.1\n");
        assert_found(*state, "leftovers.resolv-conf", "nameserver 192.0.2.1");
}

static void test_history(void **state) {
        put("root/.bash_history", "ls\n");
        assert_found(*state, "leftovers.history", "root/.bash_history");
}

static void test_temporary(void **state) {
        put("var/tmp/x", "x");
        assert_found(*state, "leftovers.temporary", "var/tmp/x");
}

/* services.* */

static void test_dangling_service(void **state) {
        put_link("etc/systemd/system/multi-user.target.wants/gone.service",
                        "/usr/lib/systemd/system/gone.service");
        assert_found(*state, "services.enabled", "gone.service is enabled");
}

static void test_enabled_units(void **state) {
        CheckFixture *f = *state;
        _cleanup_strv_free_ char **units = NULL;
        Tree t;

        put_link("etc/systemd/system/multi-user.target.wants/gone.service",
                        "/usr/lib/systemd/system/gone.service");
        put_link("etc/systemd/system/x.service.requires/ssh.service",
                        "/usr/lib/systemd/system/ssh.service");
        put_link("etc/systemd/system/ssh.service.d/ssh.service",
                        "/usr/lib/systemd/system/ssh.service");
        assert_int_equal(tree_open(f->folder, NULL, &t), 0);
        assert_int_equal(enabled_units(&t, &units), 0);
        tree_done(&t);
        assert_int_equal(strv_length(units), 1);
        assert_string_equal(units[0], "ssh.service");
}

static void test_verify_output(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(
                        verify_findings("services.verify",
                                        "/etc/systemd/system/bad.service:3: Unknown key 'Bogus' in section [Unit], ignoring.\n"
                                        "bad.service: Command /usr/bin/x is not executable: No such file or directory\n"
                                        "other.service: Failed to create other.service/start: Unit gone.service not found.\n",
                                        1, &f->findings),
                        0);
        assert_int_equal(f->findings.n, 2);
        assert_non_null(strstr(f->findings.findings[0].remedy, "correct bad.service"));
        assert_non_null(strstr(f->findings.findings[1].found, "gone.service not found"));
}

static void test_verify_without_output(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(verify_findings("services.verify", "", 127, &f->findings), 0);
        assert_int_equal(f->findings.n, 1);
        assert_non_null(strstr(f->findings.findings[0].found, "exit code 127"));
}

static void test_verify_passes(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(verify_findings("services.verify", "some remark\n", 0, &f->findings), 0);
        assert_int_equal(f->findings.n, 0);
}

static void test_versions(void **state _unused_) {
        assert_int_equal(version_compare("550.163.01", "550.54.14"), 1);
        assert_int_equal(version_compare("12.4", "12.10"), -1);
        assert_int_equal(version_compare("570.26", "570.26.00"), 0);
        assert_int_equal(version_compare("13.0", "12.9"), 1);
        assert_string_equal(soname_version("/usr/lib/libcuda.so.550.163.01"), "550.163.01");
        assert_null(soname_version("/usr/lib/libcuda.so"));
}

#define TREE(f) cmocka_unit_test_setup_teardown(f, check_setup, check_teardown)
#define GPU(f) cmocka_unit_test_setup_teardown(f, gpu_setup, check_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_right_tree),
                GPU(test_right_gpu_tree),
                TREE(test_tree_that_is_not_there),
                TREE(test_unreadable_is_an_error),
                GPU(test_link_out_of_the_tree),
                TREE(test_no_kernel),
                TREE(test_kernel_image_missing),
                TREE(test_modules_dep_missing),
                TREE(test_initramfs_missing),
                TREE(test_initramfs_empty),
                GPU(test_module_missing),
                GPU(test_second_kernel_without_modules),
                GPU(test_damaged_module),
                GPU(test_modules_under_dkms_names),
                GPU(test_vermagic_of_another_kernel),
                GPU(test_vermagic_of_other_options),
                GPU(test_vermagic_without_reference),
                GPU(test_depmod_not_run),
                GPU(test_modules_of_two_versions),
                GPU(test_libcuda_of_another_version),
                GPU(test_nvml_missing),
                GPU(test_smi_of_another_version),
                GPU(test_smi_is_no_program),
                GPU(test_module_without_version),
                GPU(test_firmware_of_another_version),
                GPU(test_nouveau_not_blocked),
                GPU(test_nouveau_blocked_by_install),
                GPU(test_kernel_not_held),
                GPU(test_no_package_database),
                GPU(test_build_tools),
                GPU(test_runtime_too_new),
                GPU(test_runtime_of_a_toolkit),
                GPU(test_nccl_too_new),
                GPU(test_nccl_without_version),
                TREE(test_machine_id),
                TREE(test_machine_id_missing),
                TREE(test_dbus_machine_id),
                TREE(test_ssh_host_key),
                TREE(test_random_seed),
                TREE(test_host_ids),
                TREE(test_cloud_init_ran),
                TREE(test_password_hash),
                TREE(test_locked_hash),
                TREE(test_empty_password),
                TREE(test_hash_in_passwd),
                TREE(test_hash_in_backup),
                TREE(test_group_password),
                TREE(test_private_keys),
                TREE(test_private_key_behind_a_certificate),
                TREE(test_pgp_and_putty_keys),
                TREE(test_munge_key),
                TREE(test_apt_lists),
                TREE(test_caches),
                TREE(test_logs),
                TREE(test_resolv_conf),
                TREE(test_history),
                TREE(test_temporary),
                TREE(test_dangling_service),
                TREE(test_enabled_units),
                TREE(test_verify_output),
                TREE(test_verify_without_output),
                TREE(test_verify_passes),
                cmocka_unit_test(test_versions),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
