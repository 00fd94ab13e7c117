/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "steps/common/process.h"

static void a_program_that_runs_is_found(void **state _unused_) {
        root_put("/proc/10/comm", "slurmd\n");
        assert_true(process_exists("slurmd"));
        assert_false(process_exists("kubelet"));
}

/* Anybody may call a process so, and a dead slurmd would pass for one that runs. */
static void a_users_process_of_its_name_is_not_it(void **state _unused_) {
        root_put("/proc/10/comm", "slurmd\n");
        root_put("/proc/10/status",
                        "Name:\tslurmd\nUid:\t1000\t1000\t1000\t1000\nGid:\t0\t0\t0\t0\n");
        assert_false(process_exists("slurmd"));
        root_put("/proc/11/comm", "slurmd\n");
        root_put("/proc/11/status", "Name:\tslurmd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
        assert_true(process_exists("slurmd"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_program_that_runs_is_found, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_users_process_of_its_name_is_not_it, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
