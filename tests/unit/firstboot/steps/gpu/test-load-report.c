/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "steps/gpu/load.h"

static GpuLoad load;

static int parse(unsigned n_gpus, const char *output) {
        load = (GpuLoad) {};
        return gpu_load_parse(&load, n_gpus, output);
}

static void the_report_is_found_among_other_lines(void **state) {
        (void) state;
        assert_int_equal(parse(2, "warning: x\n{\"devices\": [{\"index\": 1, \"hbm_gbs\": 3000.5, "
                                  "\"gemm_tflops\": 600}]}\n"),
                        0);
        assert_true(load.hbm_gbps[1] == 3000.5);
        assert_true(load.gemm_tflops[1] == 600);
        assert_true(load.hbm_gbps[0] == 0);
        assert_int_equal(load.state, GPU_PHASE_NONE);
}

static void pairs_come_with_their_rate(void **state) {
        (void) state;
        assert_int_equal(
                        parse(2, "{\"devices\": [], \"p2p\": [{\"from\": 1, \"to\": 0, \"gbs\": 300}]}"),
                        0);
        assert_int_equal(load.n_pairs, 1);
        assert_int_equal(load.pairs[0].from, 1);
        assert_int_equal(load.pairs[0].to, 0);
        assert_true(load.pairs[0].gbps == 300);
}

static void wrong_results_fail_it(void **state) {
        (void) state;
        assert_int_equal(parse(1, "{\"devices\": [{\"index\": 0, \"wrong\": 3}]}"), 0);
        assert_int_equal(load.state, GPU_PHASE_FAILED);
        assert_string_equal(load.text, "GPU 0: 3 results are wrong");
}

static void a_gpu_that_is_not_there_is_refused(void **state) {
        (void) state;
        assert_int_equal(parse(1, "{\"devices\": [{\"index\": 1}]}"), -EINVAL);
        assert_int_equal(parse(1, "{\"devices\": [{\"index\": -1}]}"), -EINVAL);
        assert_int_equal(parse(1, "{\"devices\": [], \"p2p\": [{\"from\": 0, \"to\": 0}]}"),
                        -EINVAL);
}

static void what_is_no_report_is_refused(void **state) {
        (void) state;
        assert_int_equal(parse(1, ""), -EINVAL);
        assert_int_equal(parse(1, "}{"), -EINVAL);
        assert_int_equal(parse(1, "{\"devices\": 7}"), -EINVAL);
        assert_int_equal(parse(1, "{\"devices\": [], \"p2p\": {}}"), -EINVAL);
}

static void a_rate_beyond_reason_counts_as_none(void **state) {
        (void) state;
        assert_int_equal(
                        parse(1, "{\"devices\": [{\"index\": 0, \"hbm_gbs\": 1e300, \"gemm_tflops\": -1}]}"),
                        0);
        assert_true(load.hbm_gbps[0] == 0);
        assert_true(load.gemm_tflops[0] == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_report_is_found_among_other_lines),
                cmocka_unit_test(pairs_come_with_their_rate),
                cmocka_unit_test(wrong_results_fail_it),
                cmocka_unit_test(a_gpu_that_is_not_there_is_refused),
                cmocka_unit_test(what_is_no_report_is_refused),
                cmocka_unit_test(a_rate_beyond_reason_counts_as_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
