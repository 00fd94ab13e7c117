/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/options.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Parses "-b 8 -e 1G"; *ret_error may be NULL. */
static int parse(const char *line, Options *ret) {
        static char **kept; /* Options borrows from it until the next call */
        _cleanup_free_ char *error = NULL;
        int argc, r;

        strv_free(kept);
        kept = strv_split(line, " ");
        char *argv[32] = { (char *) "ncclbench" };
        for (argc = 1; kept && kept[argc - 1]; argc++)
                argv[argc] = kept[argc - 1];
        r = options_parse(argc, argv, ret, &error);
        assert_true(r == 0 || error);
        if (isempty(line)) {
                strv_free(kept);
                kept = NULL;
        }
        return r;
}

static void defaults_are_nccl_tests(void **state _unused_) {
        Options o;

        assert_int_equal(parse("", &o), 0);
        assert_string_equal(o.collective->name, "all_reduce");
        assert_int_equal(o.min_bytes, 32 << 20);
        assert_int_equal(o.max_bytes, 32 << 20);
        assert_int_equal(o.iterations, 20);
        assert_int_equal(o.warmup, 1);
        assert_int_equal(o.checks, 1);
        assert_int_equal(o.type, TYPE_FLOAT);
        assert_int_equal(o.op, OP_SUM);
}

static void reads_nccl_tests_options(void **state _unused_) {
        Options o;

        assert_int_equal(
                        parse("alltoall -b 8 -e 8G -f 2 -n 5 -w 3 -g 4 -c 0 -o max -d bfloat16 -r 1",
                                        &o),
                        0);
        assert_string_equal(o.collective->name, "alltoall");
        assert_int_equal(o.min_bytes, 8);
        assert_int_equal(o.max_bytes, (size_t) 8 << 30);
        assert_int_equal(o.step_factor, 2);
        assert_int_equal(o.gpus, 4);
        assert_int_equal(o.checks, 0);
        assert_int_equal(o.op, OP_MAX);
        assert_int_equal(o.type, TYPE_BFLOAT16);
        assert_int_equal(o.root, 1);
}

static void takes_underscores_in_long_options(void **state _unused_) {
        Options o;

        assert_int_equal(parse("--warmup_iters=7 --minbytes=64K", &o), 0);
        assert_int_equal(o.warmup, 7);
        assert_int_equal(o.min_bytes, 65536);
}

static void expectation_needs_a_measured_size(void **state _unused_) {
        Options o;

        assert_int_equal(parse("-b 1M -e 1G -f 2 --expect 1G:440", &o), 0);
        assert_int_equal(o.n_expect, 1);
        assert_true(o.expect[0].busbw == 440);
        assert_int_equal(parse("-b 1M -e 1G -f 2 --expect 3M:440", &o), -EINVAL);
        assert_int_equal(parse("-b 1M -e 1G -f 2 --expect 2G:440", &o), -EINVAL);
        assert_int_equal(parse("-b 1M -e 4M -i 1M --expect 3M:440", &o), 0);
}

static void an_expectation_of_nothing_is_refused(void **state _unused_) {
        Options o;

        assert_int_equal(parse("--expect 32M:0", &o), -EINVAL);
        assert_int_equal(parse("--expect 32M:nan", &o), -EINVAL);
        assert_int_equal(parse("--expect 32M", &o), -EINVAL);
}

static void devices_are_a_list_without_repetition(void **state _unused_) {
        Options o;

        assert_int_equal(parse("--devices 3,1,0", &o), 0);
        assert_int_equal(o.n_devices, 3);
        assert_int_equal(o.devices[0], 3);
        assert_int_equal(parse("--devices 1,1", &o), -EINVAL);
        assert_int_equal(parse("--devices 1,x", &o), -EINVAL);
        assert_int_equal(parse("--devices 1,2 -g 3", &o), -EINVAL);
}

static void contradictions_are_refused(void **state _unused_) {
        Options o;

        assert_int_equal(parse("-b 2G -e 1G", &o), -EINVAL);
        assert_int_equal(parse("-b 0 -e 8 -f 2", &o), -EINVAL);
        assert_int_equal(parse("-i 0", &o), -EINVAL);
        assert_int_equal(parse("-f 1", &o), 0); /* nccl-tests' word for fixed steps */
        assert_int_equal(parse("-n 0", &o), -EINVAL);
        assert_int_equal(parse("--corrupt 0:1 -c 0", &o), -EINVAL);
        assert_int_equal(parse("all_reduce all_gather", &o), -EINVAL);
        assert_int_equal(parse("allreduce", &o), -EINVAL);
        assert_int_equal(parse("--nonsense", &o), -EINVAL);
        assert_int_equal(parse("-b", &o), -EINVAL);
}

static void pairs_measures_one_size(void **state _unused_) {
        Options o;

        assert_int_equal(parse("pairs", &o), 0);
        assert_true(o.pairs);
        assert_int_equal(o.min_bytes, o.max_bytes);
        assert_int_equal(parse("pairs -b 1M -e 2M", &o), -EINVAL);
        assert_int_equal(parse("pairs -d all", &o), -EINVAL);
}

static void all_means_every_type_and_reduction(void **state _unused_) {
        Options o;

        assert_int_equal(parse("all -d all -o all", &o), 0);
        assert_null(o.collective);
        assert_int_equal(o.type, -1);
        assert_int_equal(o.op, -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(defaults_are_nccl_tests),
                cmocka_unit_test(reads_nccl_tests_options),
                cmocka_unit_test(takes_underscores_in_long_options),
                cmocka_unit_test(expectation_needs_a_measured_size),
                cmocka_unit_test(an_expectation_of_nothing_is_refused),
                cmocka_unit_test(devices_are_a_list_without_repetition),
                cmocka_unit_test(contradictions_are_refused),
                cmocka_unit_test(pairs_measures_one_size),
                cmocka_unit_test(all_means_every_type_and_reduction),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);
        Options o;

        parse("", &o); /* frees what the last test kept */
        return failed;
}
