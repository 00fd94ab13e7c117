/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What QEMU, which a guest may have taken over, can reach of the host. */

#include "boot/process.h"
#include "boot/qemu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const VmFolders folders = {
        .folder = "/scratch/vm",
        .image = "/images/x",
        .console = "/logs/1-console.log",
        .journal = "/logs/1-journal.export",
};

static void of_logs_it_has_its_own_files(void **state _unused_) {
        SandboxBind binds[VM_BINDS_MAX];
        size_t n = 0, logs = 0;

        assert_int_equal(vm_binds(&folders, binds, &n), 0);
        assert_int_equal(n, 4);
        for (size_t i = 0; i < n; i++) {
                assert_string_not_equal(binds[i].source, "/logs");
                if (startswith(binds[i].target, VM_LOG_FOLDER "/1-")) {
                        assert_true(startswith(binds[i].source, "/logs/1-") && binds[i].writable);
                        free((char *) binds[i].target);
                        logs++;
                }
        }
        assert_int_equal(logs, 2);
}

static void the_image_is_not_written_to(void **state _unused_) {
        const VmFolders f = { .folder = "/scratch/vm", .image = "/images/x", .kvm = true };
        SandboxBind binds[VM_BINDS_MAX];
        size_t n = 0;

        assert_int_equal(vm_binds(&f, binds, &n), 0);
        assert_int_equal(n, 3);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(binds[i].writable, strcmp(binds[i].source, "/scratch/vm") == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(of_logs_it_has_its_own_files),
                cmocka_unit_test(the_image_is_not_written_to),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
