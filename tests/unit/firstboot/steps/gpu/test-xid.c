/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Xids and SXids in lines of the kernel log. */

#include "steps/gpu/xid.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void an_xid_is_taken_apart(void **state) {
        GpuXid x;

        (void) state;
        assert_true(gpu_xid_parse(
                        "NVRM: Xid (PCI:0000:3B:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
                        &x));
        assert_string_equal(x.pci, "0000:3b:00");
        assert_int_equal(x.xid, 79);
        assert_string_equal(x.text, "pid=1234, name=python3, GPU has fallen off the bus.");
        assert_false(x.is_switch);
}

static void the_old_form_has_no_pci_before_the_address(void **state) {
        GpuXid x;

        (void) state;
        assert_true(gpu_xid_parse("NVRM: Xid (0000:03:00): 14, Channel 00000001", &x));
        assert_string_equal(x.pci, "0000:03:00");
        assert_int_equal(x.xid, 14);
}

static void an_xid_may_stand_alone(void **state) {
        GpuXid x;

        (void) state;
        assert_true(gpu_xid_parse("NVRM: Xid (PCI:0000:03:00): 48", &x));
        assert_int_equal(x.xid, 48);
        assert_string_equal(x.text, "");
}

static void a_switch_tells_whether_it_is_fatal(void **state) {
        GpuXid x;

        (void) state;
        assert_true(gpu_xid_parse(
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 60 LTSSM Fault Up",
                        &x));
        assert_true(x.is_switch);
        assert_true(x.fatal);
        assert_int_equal(x.xid, 20034);
        assert_true(gpu_xid_parse(
                        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 11012, Non-fatal, Link 35",
                        &x));
        assert_false(x.fatal);
}

static void other_messages_are_none(void **state) {
        static const char *const others[] = {
                "", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
                "systemd[1]: NVRM: Xid (PCI:0000:03:00): 79",
                "NVRM: Xid (PCI:0000:03:00): ", "NVRM: Xid (PCI:0000:03:00): seventy",
                "NVRM: Xid (PCI:0000:03:00", "NVRM: Xid (): 79", "NVRM: Xid (PCI:0000:03:00): -5",
                "NVRM: Xid (PCI:0000:03:00): 99999999999999999999",
                /* of a process that calls itself so, with a file of such a name */
                "NVRM: Xid (0000[12]: segfault at 0 ip 0 sp 0 error 4 in a): 79, b[400000+1000]",
                "NVRM: Xid (PCI:[12]: segfault at 0 ip 0 sp 0 error 4 in a): 79, b[400000+1000]",
                "nvidia-nvswitch[12]: segfault at 0 ip 0 sp 0 error 4 in a: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link[400000+1000]"
        };
        GpuXid x;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (gpu_xid_parse(others[i], &x))
                        fail_msg("\"%s\" is taken for an Xid", others[i]);
}

static void long_texts_are_cut(void **state) {
        char message[4096] = "NVRM: Xid (PCI:0000:03:00:000000000000000000000000000000000): 79, ";
        GpuXid x;

        (void) state;
        memset(message + strlen(message), 'x', 3000);
        assert_true(gpu_xid_parse(message, &x));
        assert_int_equal(strlen(x.text), sizeof(x.text) - 1);
        assert_int_equal(strlen(x.pci), sizeof(x.pci) - 1);
}

static void the_catalog_says_what_to_do(void **state) {
        (void) state;
        assert_int_equal(gpu_xid_action(&(GpuXid) { .xid = 48 }), GPU_ACTION_RESET);
        assert_int_equal(gpu_xid_action(&(GpuXid) { .xid = 151 }), GPU_ACTION_REBOOT);
        assert_int_equal(gpu_xid_action(&(GpuXid) { .xid = 79 }), GPU_ACTION_REBOOT);
        assert_int_equal(gpu_xid_action(&(GpuXid) { .xid = 999 }), GPU_ACTION_RESET);
}

static char folder[] = "/tmp/test-gpu-xid.XXXXXX";

static void put_log(const char *text) {
        _cleanup_free_ char *path = path_join(folder, "dev/kmsg");

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static int setup(void **state) {
        (void) state;
        if (!mkdtemp(folder))
                return -1;
        return setenv("FIRSTBOOT_ROOT", folder, 1);
}

static int teardown(void **state) {
        (void) state;
        return rm_rf(folder);
}

static void the_log_is_read_to_its_end(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();
        _cleanup_free_ char *text = malloc(200000);
        char *p = text;

        (void) state;
        p += sprintf(p, "5,0,0,-;Linux version 6.12\n");
        for (unsigned i = 1; i <= 1000; i++)
                p += sprintf(p,
                                "6,%u,%u,-;some driver says something or other of no interest here\n"
                                " SUBSYSTEM=pci\n DEVICE=+pci:0000:00:01.0\n",
                                i, i);
        sprintf(p, "3,1001,1,-;NVRM: Xid (PCI:0000:03:00): 79, last\n");
        put_log(text);
        gpu_read_kernel_log(f);
        assert_true(f->log_read);
        assert_false(f->log_lost);
        assert_int_equal(f->n_xids, 1);
        assert_string_equal(f->xids[0].text, "last");
}

static void a_log_without_its_beginning_is_lost(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        put_log("6,5,100,-;later\n");
        gpu_read_kernel_log(f);
        assert_true(f->log_read);
        assert_true(f->log_lost);
}

static void programs_do_not_speak_for_the_kernel(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        put_log("5,0,0,-;Linux\n12,1,1,-;NVRM: Xid (PCI:0000:03:00): 79, from a program\n");
        gpu_read_kernel_log(f);
        assert_int_equal(f->n_xids, 0);
}

static void more_xids_than_are_kept_are_counted(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        for (unsigned i = 0; i < GPU_XIDS_MAX + 10; i++)
                gpu_xid_message(f, "NVRM: Xid (PCI:0000:03:00): 79, again");
        assert_int_equal(f->n_xids, GPU_XIDS_MAX + 10);
}

#define XID(text) "NVRM: Xid (PCI:0000:03:00): " text
#define ASKS_FOR_RESET \
        XID("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")

static unsigned uncured(const GpuFacts *f) {
        unsigned n = 0;

        for (unsigned i = 0; i < f->n_xids; i++)
                n += !f->xids[i].cured;
        return n;
}

static void a_reset_ends_the_xids_that_it_cures(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_xid_message(f, XID("48, DBE"));
        gpu_xid_message(f, "NVRM: Xid (PCI:0000:04:00): 48, DBE");
        gpu_xid_message(f, XID("79, GPU has fallen off the bus."));
        gpu_xid_message(f, "nvidia 0000:03:00.0: resetting");
        assert_int_equal(uncured(f), 3);
        gpu_xid_message(f, "nvidia 0000:03:00.0: reset done");
        assert_int_equal(uncured(f), 2); /* the other GPU's, and the one that wants a reboot */
        gpu_xid_message(f, XID("48, DBE"));
        assert_int_equal(uncured(f), 3); /* again, after the reset */
}

static void what_is_no_reset_of_a_gpu_ends_nothing(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();
        static const char *const lines[] = { "nvidia 0000:03:00.1x: reset done",
                "nvme 0000:03:00.0: reset done", "nvidia 0000:03:00.0: reset failed",
                "nvidia : reset done", "nvidia 0000:03:00.0 reset done" };

        (void) state;
        gpu_xid_message(f, XID("48, DBE"));
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                gpu_xid_message(f, lines[i]);
        assert_int_equal(uncured(f), 1);
}

static void xid_154_is_what_it_asks_for(void **state) {
        GpuXid x;

        (void) state;
        assert_true(gpu_xid_parse(ASKS_FOR_RESET, &x));
        assert_int_equal(gpu_xid_action(&x), GPU_ACTION_RESET);
        assert_true(gpu_xid_parse(
                        XID("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
                        &x));
        assert_int_equal(gpu_xid_action(&x), GPU_ACTION_REBOOT);
        assert_true(gpu_xid_parse(
                        XID("154, GPU recovery action changed from 0x0 (None) to 0x77 (?)"), &x));
        assert_int_equal(gpu_xid_action(&x), GPU_ACTION_REBOOT);
        assert_true(gpu_xid_parse(XID("154"), &x));
        assert_false(x.tells_recovery);
}

static void xid_154_that_takes_a_reset_back_ends_what_it_cures(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_xid_message(f, XID("119, Timeout waiting for RPC from GSP"));
        gpu_xid_message(f, ASKS_FOR_RESET);
        assert_int_equal(uncured(f), 2);
        gpu_xid_message(f,
                        XID("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"));
        assert_int_equal(uncured(f), 0);
        gpu_xid_message(f, XID("119, Timeout waiting for RPC from GSP"));
        gpu_xid_message(f,
                        XID("154, GPU recovery action changed from 0x3 (Drain P2P) to 0x0 (None)"));
        assert_int_equal(uncured(f), 1); /* that was no reset */
}

static void the_newest_xid_154_counts(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_xid_message(f, ASKS_FOR_RESET);
        gpu_xid_message(f,
                        XID("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot Required)"));
        gpu_xid_message(f, "nvidia 0000:03:00.0: reset done");
        assert_int_equal(uncured(f), 1);
}

static void those_that_are_cured_make_room(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        for (unsigned i = 0; i < GPU_XIDS_MAX; i++)
                gpu_xid_message(f, XID("48, DBE"));
        gpu_xid_message(f, "nvidia 0000:03:00.0: reset done");
        gpu_xid_message(f, XID("79, GPU has fallen off the bus."));
        assert_int_equal(f->n_xids, 1);
        assert_int_equal(f->xids[0].xid, 79);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_xid_is_taken_apart),
                cmocka_unit_test(the_old_form_has_no_pci_before_the_address),
                cmocka_unit_test(an_xid_may_stand_alone),
                cmocka_unit_test(a_switch_tells_whether_it_is_fatal),
                cmocka_unit_test(other_messages_are_none),
                cmocka_unit_test(long_texts_are_cut),
                cmocka_unit_test(the_catalog_says_what_to_do),
                cmocka_unit_test(the_log_is_read_to_its_end),
                cmocka_unit_test(a_log_without_its_beginning_is_lost),
                cmocka_unit_test(programs_do_not_speak_for_the_kernel),
                cmocka_unit_test(more_xids_than_are_kept_are_counted),
                cmocka_unit_test(a_reset_ends_the_xids_that_it_cures),
                cmocka_unit_test(what_is_no_reset_of_a_gpu_ends_nothing),
                cmocka_unit_test(xid_154_is_what_it_asks_for),
                cmocka_unit_test(xid_154_that_takes_a_reset_back_ends_what_it_cures),
                cmocka_unit_test(the_newest_xid_154_counts),
                cmocka_unit_test(those_that_are_cured_make_room),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
