/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* nvidia.modules, nvidia.vermagic, nvidia.depmod, nvidia.version, nvidia.firmware: each fault
 * alone, in a tree that is otherwise right. The rule that is for it finds it, and no other does. */

#include "check-fixture.h"

static void test_module_missing(void **state) {
        assert_int_equal(unlink(MODULES "updates/nvidia/nvidia-uvm.ko"), 0);
        assert_found(*state, "nvidia.modules", "no module nvidia_uvm");
}

static void test_second_kernel_without_modules(void **state) {
        put("boot/vmlinuz-6.13.0-other", "x");
        put_initramfs("boot/initrd.img-6.13.0-other", (const char *const[]) { "init", NULL },
                        ARCHIVE_FILTER_NONE);
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

static void test_versions(void **state _unused_) {
        assert_int_equal(version_compare("550.163.01", "550.54.14"), 1);
        assert_int_equal(version_compare("12.4", "12.10"), -1);
        assert_int_equal(version_compare("570.26", "570.26.00"), 0);
        assert_int_equal(version_compare("13.0", "12.9"), 1);
        assert_string_equal(soname_version("/usr/lib/libcuda.so.550.163.01"), "550.163.01");
        assert_null(soname_version("/usr/lib/libcuda.so"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
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
                cmocka_unit_test(test_versions),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
