/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GPUs and switches on PCI, and versions in what others print. */

#include "steps/gpu/pci.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *folder;
static GpuFacts *facts;

static void put(const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static void device(const char *address, const char *vendor, const char *class, const char *driver) {
        _cleanup_free_ char *v = strf("sys/bus/pci/devices/%s/vendor", address),
                            *c = strf("sys/bus/pci/devices/%s/class", address),
                            *d = strf("sys/bus/pci/devices/%s/device", address),
                            *link = strf("%s/sys/bus/pci/devices/%s/driver", folder, address),
                            *target = driver ? strf("../../../../bus/pci/drivers/%s", driver)
                                             : NULL;

        put(v, vendor);
        put(c, class);
        put(d, "0x2330\n");
        if (target)
                assert_return_code(symlink(target, link), errno);
}

static int setup(void **state) {
        char template[] = "/tmp/test-gpu-pci.XXXXXX";

        (void) state;
        assert_non_null(mkdtemp(template));
        folder = strdup(template);
        setenv("FIRSTBOOT_ROOT", folder, 1);
        facts = gpu_facts_new();
        return facts ? 0 : -1;
}

static int teardown(void **state) {
        (void) state;
        facts = gpu_facts_free(facts);
        rm_rf(folder);
        free(folder);
        return 0;
}

static void gpus_are_found_by_vendor_and_class(void **state) {
        (void) state;
        device("0000:3b:00.0", "0x10de\n", "0x030200\n", "nvidia");
        device("0000:1b:00.0", "0x10de\n", "0x030000\n", NULL);
        device("0000:05:00.0", "0x1a03\n", "0x030000\n", "ast"); /* the board's own VGA */
        device("0000:3b:00.1", "0x10de\n", "0x040300\n", "snd_hda_intel");
        gpu_read_pci(facts);
        assert_int_equal(facts->pci_error, 0);
        assert_int_equal(facts->n_pci, 2);
        assert_string_equal(facts->pci[0].address, "0000:1b:00.0");
        assert_string_equal(facts->pci[0].driver, "");
        assert_string_equal(facts->pci[1].address, "0000:3b:00.0");
        assert_string_equal(facts->pci[1].driver, "nvidia");
        assert_int_equal(facts->pci[1].device, 0x2330);
}

static void switches_are_counted(void **state) {
        (void) state;
        device("0000:c1:00.0", "0x10de\n", "0x068000\n", "nvidia-nvswitch");
        device("0000:c2:00.0", "0x15b3\n", "0x068000\n", NULL);
        gpu_read_pci(facts);
        assert_int_equal(facts->n_pci, 0);
        assert_int_equal(facts->n_switches, 1);
}

static void virtual_functions_are_no_gpus_of_their_own(void **state) {
        (void) state;
        device("0000:3b:00.0", "0x10de\n", "0x030200\n", "nvidia");
        device("0000:3b:00.4", "0x10de\n", "0x030200\n", "nvidia");
        put("sys/bus/pci/devices/0000:3b:00.4/physfn", "");
        gpu_read_pci(facts);
        assert_int_equal(facts->n_pci, 1);
}

static void a_machine_without_pci_has_none(void **state) {
        (void) state;
        gpu_read_pci(facts);
        assert_int_equal(facts->pci_error, 0);
        assert_int_equal(facts->n_pci, 0);
}

static void a_folder_that_cannot_be_read_is_an_error(void **state) {
        (void) state;
        put("sys/bus/pci/devices", "no folder");
        gpu_read_pci(facts);
        assert_int_equal(facts->pci_error, ENOTDIR);
}

static void the_module_tells_its_version(void **state) {
        (void) state;
        put("sys/module/nvidia/version", "550.54.15\n");
        gpu_read_pci(facts);
        assert_string_equal(facts->module_version, "550.54.15");
}

static void proc_tells_it_too(void **state) {
        (void) state;
        put("proc/driver/nvidia/version",
                        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 "
                        "22:23:56 UTC 2024\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
        gpu_read_pci(facts);
        assert_string_equal(facts->module_version, "550.54.15");
}

static void versions_are_found_in_text(void **state) {
        static const struct {
                const char *text, *version;
        } cases[] = {
                { "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5",
                                "550.54.15" },
                { "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release "
                  "Build  (dvs-builder@U22)  Sun Jul 27",
                                "580.65.06" },
                { "NVRM version: NVIDIA UNIX Kernel Module\nGCC version: 12.2.0", NULL },
                { "something else 1.2.3", NULL },
                { "", NULL },
        };
        char version[64];

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                int r = gpu_version_from_proc(cases[i].text, version, sizeof(version));

                if (!cases[i].version)
                        assert_int_equal(r, -EINVAL);
                else {
                        assert_return_code(r, 0);
                        assert_string_equal(version, cases[i].version);
                }
        }
}

static void the_fabric_manager_tells_its_version(void **state) {
        char version[64], tiny[4];

        (void) state;
        assert_return_code(
                        gpu_version_from_fabric_manager("Fabric Manager version is : 550.54.15\n",
                                        version, sizeof(version)),
                        0);
        assert_string_equal(version, "550.54.15");
        assert_int_equal(gpu_version_from_fabric_manager("usage: …", version, sizeof(version)),
                        -EINVAL);
        assert_int_equal(gpu_version_from_fabric_manager("Fabric Manager version is : 550.54.15",
                                         tiny, sizeof(tiny)),
                        -EINVAL);
}

static void nvmls_version_has_the_drivers_inside(void **state) {
        (void) state;
        assert_string_equal(gpu_version_of_nvml("13.580.65.06"), "580.65.06");
        assert_string_equal(gpu_version_of_nvml("nonsense"), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                gpus_are_found_by_vendor_and_class, setup, teardown),
                cmocka_unit_test_setup_teardown(switches_are_counted, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                virtual_functions_are_no_gpus_of_their_own, setup, teardown),
                cmocka_unit_test_setup_teardown(a_machine_without_pci_has_none, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_folder_that_cannot_be_read_is_an_error, setup, teardown),
                cmocka_unit_test_setup_teardown(the_module_tells_its_version, setup, teardown),
                cmocka_unit_test_setup_teardown(proc_tells_it_too, setup, teardown),
                cmocka_unit_test(versions_are_found_in_text),
                cmocka_unit_test(the_fabric_manager_tells_its_version),
                cmocka_unit_test(nvmls_version_has_the_drivers_inside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
