/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/qemu.h"

#include "argv-fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const VmConfig plain = { .cpus = 2, .memory = UINT64_C(2) << 30, .console = "console.log" };

static void command_line_follows_the_configuration(void **state _unused_) {
        static const struct {
                const char *what;
                VmConfig config;
                const char *option, *value;
        } cases[] = {
                { "without KVM", { .cpus = 1, .memory = 1 << 30, .console = "c" }, "-accel",
                                "tcg,thread=multi" },
                { "all the CPU can quickly", { .cpus = 1, .memory = 1 << 30, .console = "c" },
                                "-cpu", "max,erms=off,fsrm=off,la57=off,smap=off" },
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

static void network_card_keeps_its_slot_with_any_disks(void **state _unused_) {
        static const VmConfig configs[] = {
                { .cpus = 1, .memory = 1 << 30, .console = "c" },
                { .cpus = 1, .memory = 1 << 30, .console = "c", .seed = true, .n_nvme = 4 },
        };

        for (size_t i = 0; i < ELEMENTSOF(configs); i++) {
                _cleanup_strv_free_ char **argv = NULL;

                assert_int_equal(vm_argv(&configs[i], &argv), 0);
                assert_true(has(argv, "-device",
                                "virtio-net-pci,netdev=net,romfile=,addr=0x1d,mac=52:54:00:12:34:56"));
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

static void console_that_can_be_joined_is_logged_all_the_same(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;
        VmConfig c = plain;

        c.console_socket = true;
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(has(argv, "-chardev",
                        "socket,id=console,path=/run/vm/console.sock,server=on,wait=off,logfile=/run/log/console.log"));
        assert_false(strv_contains(argv, "-smbios"));
}

static void console_login_is_a_matter_of_the_guests_systemd(void **state _unused_) {
        _cleanup_strv_free_ char **argv = NULL;
        VmConfig c = plain;

        c.console_login = true;
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(any_contains(argv, "credential.binary:agetty.autologin=cm9vdA=="));
        assert_true(any_contains(argv, "credential.binary:systemd.unit-dropin.emergency.service="));
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(command_line_follows_the_configuration),
                cmocka_unit_test(network_card_keeps_its_slot_with_any_disks),
                cmocka_unit_test(bios_has_no_pflash),
                cmocka_unit_test(without_a_journal_the_guest_gets_no_credentials),
                cmocka_unit_test(console_that_can_be_joined_is_logged_all_the_same),
                cmocka_unit_test(console_login_is_a_matter_of_the_guests_systemd),
                cmocka_unit_test(journal_comes_as_a_unit_of_the_guest),
                cmocka_unit_test(paused_only_on_demand),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
