/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/rdma/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void all_ports_that_work_are_tried(void **state _unused_) {
        RdmaTally t = {};

        for (unsigned i = 0; i < 16; i++)
                assert_true(rdma_tally(&t, 0));
        assert_int_equal(t.result, 0);
}

static void the_first_failure_is_the_verdict_and_the_second_the_end(void **state _unused_) {
        RdmaTally t = {};

        assert_true(rdma_tally(&t, 0));
        assert_true(rdma_tally(&t, -EIO));
        assert_true(rdma_tally(&t, 0));
        assert_false(rdma_tally(&t, -EPROTO));
        assert_int_equal(t.result, -EIO);
}

static void a_step_that_ends_tries_no_more(void **state _unused_) {
        RdmaTally failed = {}, cancelled = {};

        assert_true(rdma_tally(&failed, -EIO));
        assert_false(rdma_tally(&failed, -ENOMEM));
        assert_int_equal(failed.result, -ENOMEM);
        assert_false(rdma_tally(&cancelled, -ECANCELED));
        assert_int_equal(cancelled.result, -ECANCELED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_ports_that_work_are_tried),
                cmocka_unit_test(the_first_failure_is_the_verdict_and_the_second_the_end),
                cmocka_unit_test(a_step_that_ends_tries_no_more),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
