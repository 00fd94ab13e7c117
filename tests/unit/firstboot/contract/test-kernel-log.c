/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "contract/kernel-log.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_a_record_is_read(void **state) {
        KernelRecord r;

        (void) state;
        assert_true(kernel_record_parse(
                        "3,812,7654321,-,caller=T1;NVRM: Xid (PCI:0000:3b:00): 79", &r));
        assert_int_equal(r.sequence, 812);
        assert_int_equal(r.usec, 7654321);
        assert_string_equal(r.message, "NVRM: Xid (PCI:0000:3b:00): 79");
}

static void test_what_is_no_record_of_the_kernel_is_passed_over(void **state) {
        static const char *const lines[] = { "", ";", " SUBSYSTEM=pci", "3,812,7654321,-",
                "x,1,2,-;m", "3,1;m,2", "3;1,2",
                "14,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, written by a program",
                "99999999999999999999999,1,2,-;m" };
        KernelRecord r;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                assert_false(kernel_record_parse(lines[i], &r));
}

static void expect(const char *message, int kind) {
        KernelEventKind k = _KERNEL_EVENT_KINDS;
        bool any = kernel_event_of(message, &k);

        if (any != (kind >= 0) || (any && (int) k != kind))
                fail_msg("%s: %d", message, any ? (int) k : -1);
}

static void test_each_trouble_has_its_kind(void **state) {
        (void) state;
        expect("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", KERNEL_XID);
        expect("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 60", KERNEL_XID);
        expect("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2362)", KERNEL_NVRM);
        expect("pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0",
                        KERNEL_AER);
        expect("pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:3b:00.0",
                        KERNEL_AER);
        expect("nvme 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer",
                        KERNEL_AER);
        expect("pcieport 0000:00:01.0: AER: Corrected error message received from 0000:3b:00.0",
                        KERNEL_AER_CORRECTED);
        expect("nvme 0000:3b:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer",
                        KERNEL_AER_CORRECTED);
        expect("mlx5_core 0000:3b:00.0: poll_health:801:(pid 0): device's health compromised - reached miss count",
                        KERNEL_MLX5);
        expect("mlx5_core 0000:3b:00.0 eth2: Link down", KERNEL_LINK);
        expect("efa 0000:00:06.0: Failed to process command", KERNEL_EFA);
        expect("nvme nvme0: I/O 12 QID 3 timeout, reset controller", KERNEL_NVME_RESET);
        expect("nvme nvme0: controller is down; will reset: CSTS=0xffffffff", KERNEL_NVME_RESET);
        expect("nvme nvme0: Removing after probe failure status: -19", KERNEL_NVME_LOST);
        expect("I/O error, dev nvme0n1, sector 2048 op 0x1:(WRITE)", KERNEL_NVME_LOST);
        expect("XFS (dm-0): Filesystem has been shut down due to log error (0x2).",
                        KERNEL_FILESYSTEM);
}

/* What every healthy boot has. */
static void test_mere_news_is_none(void **state) {
        (void) state;
        expect("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15", -1);
        expect("pcieport 0000:00:01.0: AER: enabled with IRQ 24", -1);
        expect("mlx5_core 0000:3b:00.0 eth2: Link up", -1);
        expect("mlx5_core 0000:3b:00.0: firmware version: 28.39.1002", -1);
        expect("nvme nvme0: 16/0/0 default/read/poll queues", -1);
        expect("efa 0000:00:06.0: Setup irq:24 name:efa-mgmnt@pci:0000:00:06.0", -1);
        expect("XFS (dm-0): Mounting V5 Filesystem", -1);
        expect("I/O error, dev sda, sector 0", -1);
        expect("", -1);
}

/* The kernel's reports of what a process does begin with the name that it gave itself, of at most
 * 15 characters, and may end with that of its file: whoever has an account could take the node out
 * of service with them. The first two are Linux 6.18's own words. */
static void test_what_a_process_is_called_is_no_trouble(void **state) {
        (void) state;
        expect("AER: Uncorrect[4888]: segfault at 8 ip 00007fec59785ad8 sp 00007ffc420b5ba8 error 4 in libc.so.6[167ad8,7fec59644000+156000] likely on CPU 1 (core 1, socket 0)",
                        -1);
        expect("efa reset[5304]: segfault at 8 ip 00007fdd6f585ad8 sp 00007ffdf8399748 error 4 in libc.so.6[167ad8,7fdd6f444000+156000]",
                        -1);
        expect("efa reset invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
                        -1);
        expect("efa 0000:00:06.[9]: segfault at 0 ip 0 sp 0 error 4 in reset[400000+1000]", -1);
        expect("a[12]: segfault at 0 ip 0 sp 0 error 4 in I/O error, dev nvme[400000+1000]", -1);
        expect("a[12]: segfault at 0 ip 0 sp 0 error 4 in PCIe Bus Error: severity=Uncorrect[400000+1000]",
                        -1);
        expect("traps: a[12] trap invalid opcode ip:40 sp:7f error:0 in critical medium error, dev nvme[400000+1000]",
                        -1);
        expect("traps: a[12] trap invalid opcode ip:40 sp:7f error:0 in x 0000:3b:00.0: AER: Uncorrect[400000+1000]",
                        -1);
        expect("mlx5_core a[12]: segfault at 0 ip 0 sp 0 error 4 in health compromised[400000+1000]",
                        -1);
        expect("nvme nvme0: a[12]: segfault at 0 ip 0 sp 0 error 4 in Device not ready[400000+1000]",
                        -1);
        expect("nvidia-nvswitch[12]: segfault at 0 ip 0 sp 0 error 4 in a: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link[400000+1000]",
                        -1);
        expect("NVRM: Xid (0000[12]: segfault at 0 ip 0 sp 0 error 4 in a): 79, b[400000+1000]",
                        -1);
}

static void test_the_block_layers_words_of_each_kernel_are_known(void **state) {
        (void) state;
        expect("blk_update_request: I/O error, dev nvme0n1, sector 2048", KERNEL_NVME_LOST);
        expect("print_req_error: critical medium error, dev nvme0n1, sector 2048",
                        KERNEL_NVME_LOST);
        expect("critical medium error, dev nvme0n1, sector 2048", KERNEL_NVME_LOST);
        expect("pcieport 10000:00:01.0: AER: Uncorrectable (Fatal) error message received from 10000:01:00.0",
                        KERNEL_AER);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_record_is_read),
                cmocka_unit_test(test_what_is_no_record_of_the_kernel_is_passed_over),
                cmocka_unit_test(test_each_trouble_has_its_kind),
                cmocka_unit_test(test_mere_news_is_none),
                cmocka_unit_test(test_what_a_process_is_called_is_no_trouble),
                cmocka_unit_test(test_the_block_layers_words_of_each_kernel_are_known),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
