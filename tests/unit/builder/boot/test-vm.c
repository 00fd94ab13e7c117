/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/qemu.h"

#include "argv-fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const VmConfig plain = { .cpus = 2, .memory = UINT64_C(2) << 30, .console = "console.log" };

static void nvme_by_number(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_nvme(&c, "4", &problem), 0);
        assert_int_equal(c.n_nvme, 4);
        assert_string_equal(c.nvme[3].serial, "imgbuild3");
        assert_int_equal(c.nvme[3].size, UINT64_C(4) << 30);
        assert_null(c.nvme[3].model);
}

static void nvme_to_order(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        _cleanup_strv_free_ char **argv = NULL;
        const char *problem;

        assert_int_equal(vm_add_nvme(&c, "serial=AB,size=1G,model=Some Vendor SSD,count=2",
                                         &problem),
                        0);
        assert_int_equal(c.n_nvme, 2);
        assert_string_equal(c.nvme[1].serial, "AB-1");
        assert_string_equal(c.nvme[1].model, "Some Vendor SSD");
        assert_int_equal(c.nvme[0].size, 1 << 30);
        c.cpus = 1;
        c.memory = 1 << 30;
        c.console = "c";
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(has(argv, "-device", "nvme,drive=nvme1,serial=AB-1"));
}

static void bad_nvme_is_refused(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "17",
                "4x",
                "-1",
                "size=",
                "size=0",
                "size=1000",
                "size=4Q",
                "serial=",
                "serial=123456789012345678901",
                "model=",
                "model=12345678901234567890123456789012345678901",
                "count=0",
                "count=17",
                "count=x",
                "colour=red",
                "size=1G serial=x,",
                "serial= x",
                "99999999999999999999",
                "serial=A\nB",
                "serial=12345678901234567890,count=2",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_vm_config_ VmConfig c = {};
                const char *problem = NULL;

                if (vm_add_nvme(&c, bad[i], &problem) != -EINVAL)
                        fail_msg("accepted: '%s'", bad[i]);
                assert_non_null(problem);
                assert_int_equal(c.n_nvme, 0);
        }
}

static void two_disks_of_one_serial_are_refused(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_nvme(&c, "serial=A", &problem), 0);
        assert_int_equal(vm_add_nvme(&c, "serial=A", &problem), -EINVAL);
        assert_int_equal(c.n_nvme, 1);
}

static void no_disks_is_a_number_too(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_nvme(&c, "0", &problem), 0);
        assert_int_equal(c.n_nvme, 0);
}

static void forwards(void **state _unused_) {
        static const struct {
                const char *text;
                int result, host, guest;
        } cases[] = {
                { "2222:22", 0, 2222, 22 },
                { "0:22", 0, 0, 22 },
                { "65535:65535", 0, 65535, 65535 },
                { "22", -EINVAL, 0, 0 },
                { ":22", -EINVAL, 0, 0 },
                { "22:", -EINVAL, 0, 0 },
                { "22:0", -EINVAL, 0, 0 },
                { "65536:1", -EINVAL, 0, 0 },
                { "a:b", -EINVAL, 0, 0 },
                { "1:2:3", -EINVAL, 0, 0 },
                { "-1:22", -EINVAL, 0, 0 },
                { "1:22,hostfwd=x", -EINVAL, 0, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                VmConfig c = {};
                const char *problem;

                assert_int_equal(vm_add_forward(&c, cases[i].text, &problem), cases[i].result);
                if (cases[i].result == 0) {
                        assert_int_equal(c.forwards[0].host, cases[i].host);
                        assert_int_equal(c.forwards[0].guest, cases[i].guest);
                }
        }
}

static void a_credential_is_read_and_handed_over(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;
        char path[] = "/tmp/test-vm-XXXXXX";
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = mkstemp(path);
        _cleanup_vm_config_ VmConfig c = plain;
        const char *problem;

        assert_true(fd >= 0 && write(fd, "secret\n", 7) == 7);
        assert_non_null(text = strf("firstboot.slurm.munge_key:%s", path));
        assert_int_equal(vm_load_credential(&c, text, &problem), 0);
        unlink(path);
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(has(argv, "-smbios",
                        "type=11,value=io.systemd.credential.binary:firstboot.slurm.munge_key=c2VjcmV0Cg=="));
}

static void bad_credentials(void **state _unused_) {
        static const struct {
                const char *text, *problem;
                int result;
        } cases[] = {
                { "name", "NAME:FILE", -EINVAL },
                { ":/dev/null", "NAME:FILE", -EINVAL },
                { "name:", "NAME:FILE", -EINVAL },
                { "na,me:/dev/null", "NAME:FILE", -EINVAL },
                { "../name:/dev/null", "NAME:FILE", -EINVAL },
                { "name:/nowhere/at/all", "/nowhere/at/all", -ENOENT },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_vm_config_ VmConfig c = plain;
                const char *problem = "";

                assert_int_equal(vm_load_credential(&c, cases[i].text, &problem), cases[i].result);
                assert_non_null(strstr(problem, cases[i].problem));
                assert_null(c.credentials);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nvme_by_number),
                cmocka_unit_test(nvme_to_order),
                cmocka_unit_test(bad_nvme_is_refused),
                cmocka_unit_test(two_disks_of_one_serial_are_refused),
                cmocka_unit_test(no_disks_is_a_number_too),
                cmocka_unit_test(forwards),
                cmocka_unit_test(a_credential_is_read_and_handed_over),
                cmocka_unit_test(bad_credentials),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
