/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/deadline.h"
#include "shared/log.h"
#include "ncclbench/report.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static Options options;
static const Launch alone = { .world = 1, .by = "alone", .name = "host" };

static const char row[] =
                "{\"event\":\"row\",\"collective\":\"all_reduce\",\"nominal\":1048576,\"size\":1048576,"
                "\"count\":262144,\"type\":\"float\",\"redop\":\"sum\",\"root\":-1,"
                "\"out_of_place\":{\"time_us\":10.0,\"algbw\":104.86,\"busbw\":183.5,\"wrong\":0},"
                "\"in_place\":{\"time_us\":12345.6,\"algbw\":84.9,\"busbw\":148.6}}";
static const char wrong_row[] =
                "{\"event\":\"row\",\"collective\":\"all_reduce\",\"nominal\":1048576,\"size\":1048576,"
                "\"count\":262144,\"type\":\"float\",\"redop\":\"sum\",\"root\":-1,"
                "\"out_of_place\":{\"time_us\":10,\"algbw\":1,\"busbw\":1,\"wrong\":3,"
                "\"detail\":\"rank 2, element 17\"},\"in_place\":{\"wrong\":0}}";
static const char end_event[] = "{\"event\":\"end\"}";
static const char phase[] =
                "{\"event\":\"phase\",\"text\":\"measuring\",\"if_stuck\":\"nccl.timeout\",\"seconds\":2}";

static char text[65536];
static FILE *out;

static Report *feed(const char *const *lines) {
        uint64_t deadline = UINT64_MAX;
        Report *r;

        memset(text, 0, sizeof(text));
        out = fmemopen(text, sizeof(text) - 1, "w");
        r = report_new(&options, &alone, out);
        assert_non_null(r);
        for (; *lines; lines++)
                report_line(r, *lines, &deadline);
        return r;
}

static Reason verdict(const char *const *lines, ChildEnd end, int status) {
        _cleanup_report_ Report *r = feed(lines);
        int rc = report_finish(r, end, status);

        fclose(out);
        assert_int_equal(rc, report_failure(r)->reason == REASON_NONE ? 0 : 1);
        assert_string_equal(json_get_string(json_get(report_document(r), "verdict"), "reason"),
                        reason_table[report_failure(r)->reason].code);
        return report_failure(r)->reason;
}

static int setup(void **state _unused_) {
        options = (Options) {
                .min_bytes = 1 << 20, .max_bytes = 1 << 20, .iterations = 20, .timeout = 10
        };
        return 0;
}

static void a_row_has_nccl_tests_columns(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { row, end_event, NULL }, CHILD_EXITED, 0),
                        REASON_NONE);
        assert_non_null(strstr(text,
                        "     1048576        262144     float     sum      -1    10.00  104.86  183.50       0"
                        "  12345.6   84.90  148.60     N/A\n"));
        assert_non_null(strstr(
                        text, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 166.05\n"));
        assert_non_null(strstr(text, "# Verdict: pass\n"));
}

static void wrong_elements_fail_and_are_named(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { row, wrong_row, end_event, NULL }, CHILD_EXITED,
                                         0),
                        REASON_NCCL_WRONG_RESULT);
        assert_non_null(strstr(text, "rank 2, element 17"));
        assert_non_null(strstr(text, "# Out of bounds values : 3 FAILED\n"));
}

static void a_named_size_below_its_bandwidth_is_slow(void **state _unused_) {
        options.n_expect = 1;
        options.expect[0] = (Expectation) { 1 << 20, 200 };
        assert_int_equal(verdict((const char *[]) { row, end_event, NULL }, CHILD_EXITED, 0),
                        REASON_NCCL_SLOW);
        assert_non_null(strstr(text, "busbw 183.50 GB/s, must be 200.00"));
}

static void a_named_size_at_its_bandwidth_passes(void **state _unused_) {
        options.n_expect = 1;
        options.expect[0] = (Expectation) { 1 << 20, 183.5 };
        assert_int_equal(verdict((const char *[]) { row, end_event, NULL }, CHILD_EXITED, 0),
                        REASON_NONE);
}

static void an_expected_row_that_never_came_fails(void **state _unused_) {
        options.n_expect = 1;
        options.expect[0] = (Expectation) { 1 << 21, 1 };
        assert_int_equal(verdict((const char *[]) { row, end_event, NULL }, CHILD_EXITED, 0),
                        REASON_NCCL_SLOW);
}

static void an_exit_without_an_end_is_a_death(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { row, NULL }, CHILD_EXITED, 0),
                        REASON_WORKER_DIED);
        assert_int_equal(verdict((const char *[]) { row, end_event, NULL }, CHILD_EXITED, 1),
                        REASON_WORKER_DIED);
}

static void a_signal_is_a_death_with_its_name(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { phase, NULL }, CHILD_SIGNALED, 11),
                        REASON_WORKER_DIED);
        assert_non_null(strstr(text, "Segmentation fault) while measuring"));
}

static void a_killed_child_gets_the_reason_of_its_phase(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { phase, NULL }, CHILD_TIMEOUT, 0),
                        REASON_NCCL_TIMEOUT);
        assert_int_equal(verdict((const char *[]) { NULL }, CHILD_TIMEOUT, 0), REASON_CUDA_TIMEOUT);
        assert_int_equal(verdict((const char *[]) { phase, NULL }, CHILD_STUCK, 0),
                        REASON_WORKER_STUCK);
        assert_int_equal(verdict((const char *[]) { phase, NULL }, CHILD_INTERRUPTED, 0),
                        REASON_INTERRUPTED);
}

static void the_childs_own_reason_comes_first(void **state _unused_) {
        static const char failure[] =
                        "{\"event\":\"failure\",\"reason\":\"cuda.no-device\",\"text\":\"none\"}";

        assert_int_equal(verdict((const char *[]) { failure, NULL }, CHILD_TIMEOUT, 0),
                        REASON_CUDA_NO_DEVICE);
}

static void a_phase_sets_the_deadline(void **state _unused_) {
        _cleanup_report_ Report *r = feed((const char *[]) { NULL });
        uint64_t deadline = UINT64_MAX;

        report_line(r, phase, &deadline);
        fclose(out);
        assert_in_range((deadline - now_usec()) / USEC_PER_MSEC, 6000,
                        7000); /* 2 s and 5 s of grace */
}

static void no_phase_outlives_the_whole_run(void **state _unused_) {
        static const char forever[] =
                        "{\"event\":\"phase\",\"text\":\"x\",\"if_stuck\":\"nccl.timeout\",\"seconds\":1e9}";
        _cleanup_report_ Report *r = feed((const char *[]) { NULL });
        uint64_t deadline = UINT64_MAX;

        report_line(r, forever, &deadline);
        fclose(out);
        assert_in_range((deadline - now_usec()) / USEC_PER_MSEC, 14000, 15000);
}

static void noise_is_no_event(void **state _unused_) {
        assert_int_equal(verdict((const char *[]) { "NCCL INFO hello", "{\"event\":", "[]", row,
                                                 end_event, NULL },
                                         CHILD_EXITED, 0),
                        REASON_NONE);
}

static void every_reason_has_code_summary_and_advice(void **state _unused_) {
        for (Reason r = 0; r < _REASON_MAX; r++) {
                assert_non_null(reason_table[r].code);
                assert_non_null(reason_table[r].summary);
                assert_non_null(reason_table[r].advice);
                assert_true(r == REASON_NONE || strlen(reason_table[r].advice) > 0);
                assert_int_equal(reason_from_code(reason_table[r].code), r);
        }
}

static void cuda_errors_have_their_reasons(void **state _unused_) {
        assert_int_equal(reason_from_cuda(802), REASON_CUDA_FABRIC_NOT_READY);
        assert_int_equal(reason_from_cuda(803), REASON_DRIVER_LIBRARY_MISMATCH);
        assert_int_equal(reason_from_cuda(804), REASON_DRIVER_LIBRARY_MISMATCH);
        assert_int_equal(reason_from_cuda(100), REASON_CUDA_NO_DEVICE);
        assert_int_equal(reason_from_cuda(2), REASON_CUDA_OUT_OF_MEMORY);
        assert_int_equal(reason_from_cuda(999), REASON_CUDA_ERROR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(a_row_has_nccl_tests_columns, setup),
                cmocka_unit_test_setup(wrong_elements_fail_and_are_named, setup),
                cmocka_unit_test_setup(a_named_size_below_its_bandwidth_is_slow, setup),
                cmocka_unit_test_setup(a_named_size_at_its_bandwidth_passes, setup),
                cmocka_unit_test_setup(an_expected_row_that_never_came_fails, setup),
                cmocka_unit_test_setup(an_exit_without_an_end_is_a_death, setup),
                cmocka_unit_test_setup(a_signal_is_a_death_with_its_name, setup),
                cmocka_unit_test_setup(a_killed_child_gets_the_reason_of_its_phase, setup),
                cmocka_unit_test_setup(the_childs_own_reason_comes_first, setup),
                cmocka_unit_test_setup(a_phase_sets_the_deadline, setup),
                cmocka_unit_test_setup(no_phase_outlives_the_whole_run, setup),
                cmocka_unit_test_setup(noise_is_no_event, setup),
                cmocka_unit_test_setup(every_reason_has_code_summary_and_advice, setup),
                cmocka_unit_test_setup(cuda_errors_have_their_reasons, setup),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
