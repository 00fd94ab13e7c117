/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/vm.h"

#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const VmConfig plain = { .cpus = 2, .memory = UINT64_C(2) << 30, .console = "console.log" };

/* Whether `option` is followed by `value` somewhere. */
static bool has(char *const *argv, const char *option, const char *value) {
        for (; argv[0] && argv[1]; argv++)
                if (streq(argv[0], option) && streq(argv[1], value))
                        return true;
        return false;
}

static bool any_contains(char *const *argv, const char *text) {
        STRV_FOREACH (s, argv)
                if (strstr(*s, text))
                        return true;
        return false;
}

static void command_line_follows_the_configuration(void **state _unused_) {
        static const struct {
                const char *what;
                VmConfig config;
                const char *option, *value;
        } cases[] = {
                { "without KVM", { .cpus = 1, .memory = 1 << 30, .console = "c" }, "-accel",
                                "tcg,thread=multi" },
                { "all the CPU can", { .cpus = 1, .memory = 1 << 30, .console = "c" }, "-cpu",
                                "max" },
                { "with KVM", { .kvm = true, .cpus = 1, .memory = 1 << 30, .console = "c" },
                                "-accel", "kvm" },
                { "the host's CPU", { .kvm = true, .cpus = 1, .memory = 1 << 30, .console = "c" },
                                "-cpu", "host" },
                { "memory in MiB", { .cpus = 1, .memory = UINT64_C(5) << 29, .console = "c" }, "-m",
                                "2560M" },
                { "processors", { .cpus = 7, .memory = 1 << 30, .console = "c" }, "-smp", "7" },
                { "UEFI", { .cpus = 1, .memory = 1 << 30, .console = "c" }, "-drive",
                                "if=pflash,unit=1,format=raw,file=/run/vm/vars.fd" },
                { "root on virtio", { .cpus = 1, .memory = 1 << 30, .console = "c" }, "-device",
                                "virtio-blk-pci,drive=root,serial=imgbuild-root,bootindex=0" },
                { "root on NVMe",
                                { .root_nvme = true, .cpus = 1, .memory = 1 << 30, .console = "c" },
                                "-device", "nvme,drive=root,serial=imgbuild-root,bootindex=0" },
                { "seed", { .seed = true, .cpus = 1, .memory = 1 << 30, .console = "c" }, "-device",
                                "virtio-blk-pci,drive=seed,serial=imgbuild-seed" },
                { "console", { .cpus = 1, .memory = 1 << 30, .console = "c.log" }, "-chardev",
                                "file,id=console,path=/run/log/c.log" },
                { "forwards on the loopback only",
                                { .cpus = 1,
                                                .memory = 1 << 30,
                                                .console = "c",
                                                .forwards = { { 2222, 22 }, { 80, 8080 } },
                                                .n_forwards = 2 },
                                "-netdev",
                                "user,id=net,hostfwd=tcp:127.0.0.1:2222-:22,hostfwd=tcp:127.0.0.1:80-:8080" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strv_free_ char **argv = NULL;

                assert_int_equal(vm_argv(&cases[i].config, &argv), 0);
                if (!has(argv, cases[i].option, cases[i].value))
                        fail_msg("%s: no %s %s", cases[i].what, cases[i].option, cases[i].value);
        }
}

static void bios_has_no_pflash(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;
        VmConfig c = plain;

        c.firmware = VM_BIOS;
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_false(any_contains(argv, "pflash"));
        assert_true(has(argv, "-machine", "q35,graphics=off"));
}

static void without_a_journal_the_guest_gets_no_credentials(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;

        assert_int_equal(vm_argv(&plain, &argv), 0);
        assert_false(strv_contains(argv, "-smbios"));
        assert_false(any_contains(argv, "virtserialport"));
}

static void journal_comes_as_a_unit_of_the_guest(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;
        VmConfig c = plain;

        c.journal = "j.export";
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(any_contains(
                        argv, "credential.binary:systemd.extra-unit.imgbuild-journal.service="));
        assert_true(has(argv, "-chardev", "file,id=journal,path=/run/log/j.export"));
}

static void paused_only_on_demand(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL, **paused = NULL;
        VmConfig c = plain;

        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_false(strv_contains(argv, "-S"));
        c.paused = true;
        assert_int_equal(vm_argv(&c, &paused), 0);
        assert_true(strv_contains(paused, "-S"));
}

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
                cmocka_unit_test(command_line_follows_the_configuration),
                cmocka_unit_test(bios_has_no_pflash),
                cmocka_unit_test(without_a_journal_the_guest_gets_no_credentials),
                cmocka_unit_test(journal_comes_as_a_unit_of_the_guest),
                cmocka_unit_test(paused_only_on_demand),
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
