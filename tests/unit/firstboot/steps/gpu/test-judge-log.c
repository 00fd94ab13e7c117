/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the kernel's log said of a GPU: Xids. */

#include "gpu-judge-fixture.h"

static void xids_belong_to_their_gpu(void **state) {
        (void) state;
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 48, pid=1, DBE");
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 48, pid=1, DBE again");
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 13, pid=1, an application's");
        assert_finding(GPU_CODE_XID, 2);
        assert_int_equal(findings.items[0].value, 48);
}

static void an_xid_of_a_gpu_that_is_gone_keeps_its_address(void **state) {
        (void) state;
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:99:00): 79, fallen off the bus");
        assert_finding(GPU_CODE_XID, -1);
        assert_string_equal(findings.items[0].pci, "0000:99:00");
}

static void a_reset_that_nvml_shows_ends_xids(void **state) {
        (void) state;
        facts->n_xids = 2;
        facts->xids[0] = (GpuXid) { .pci = "0000:1c:00", .xid = 119 };
        facts->xids[1] = (GpuXid) {
                .pci = "0000:1c:00", .xid = 154, .tells_recovery = true, .recovery = 1
        };
        assert_well(); /* the driver asks for nothing any more */
        set_error(1, GPU_RECOVERY_ACTION, NVML_ERROR_NOT_SUPPORTED);
        judge();
        assert_int_equal(findings.n, 2);
        set(1, GPU_RECOVERY_ACTION, 0);
        facts->xids[1].recovery = 2; /* a reboot */
        judge();
        assert_int_equal(findings.n, 2);
        facts->n_xids = 1; /* no reset was asked for, so none is known to have been */
        assert_finding(GPU_CODE_XID, 1);
        facts->xids[0].cured = true;
        assert_well();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                T(xids_belong_to_their_gpu),
                T(an_xid_of_a_gpu_that_is_gone_keeps_its_address),
                T(a_reset_that_nvml_shows_ends_xids),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
