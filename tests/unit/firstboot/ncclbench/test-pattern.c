/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/pattern-host.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static PatternJob job_for(unsigned type, unsigned op, unsigned ranks) {
        PatternJob job = { .count = 64,
                .type = type,
                .op = op,
                .ranks = ranks,
                .seed = 7,
                .reduced = op != OP_NONE };

        assert_int_equal(pattern_prepare(&job), 0);
        return job;
}

/* Bits from the standards' own tables, not from our encoder. */
static void encodes_known_values(void **state _unused_) {
        static const struct {
                unsigned type;
                double value;
                uint64_t bits;
        } known[] = {
                { TYPE_HALF, 1, 0x3c00 },
                { TYPE_HALF, -2, 0xc000 },
                { TYPE_HALF, 65504, 0x7bff },
                { TYPE_HALF, 0x1p-24, 1 },
                { TYPE_HALF, 0x1p-14, 0x0400 },
                { TYPE_BFLOAT16, 1, 0x3f80 },
                { TYPE_BFLOAT16, 256, 0x4380 },
                { TYPE_BFLOAT16, -3, 0xc040 },
                { TYPE_F8E4M3, 1, 0x38 },
                { TYPE_F8E4M3, 448, 0x7e },
                { TYPE_F8E4M3, 0x1p-9, 1 },
                { TYPE_F8E4M3, -16, 0xd8 },
                { TYPE_F8E5M2, 1, 0x3c },
                { TYPE_F8E5M2, 57344, 0x7b },
                { TYPE_F8E5M2, 0x1p-16, 1 },
                { TYPE_FLOAT, 1, 0x3f800000 },
                { TYPE_FLOAT, -0.15625, 0xbe200000 },
                { TYPE_DOUBLE, 1, 0x3ff0000000000000 },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                assert_int_equal(pattern_encode(known[i].type, known[i].value), known[i].bits);
                assert_true(pattern_decode(known[i].type, known[i].bits) == known[i].value);
        }
}

static void encodes_float_as_the_compiler_does(void **state _unused_) {
        for (int i = -70000; i < 70000; i += 13) {
                float f = (float) i * 0x1p-7f;
                uint32_t bits;

                memcpy(&bits, &f, sizeof(bits));
                assert_int_equal(pattern_encode(TYPE_FLOAT, f), bits);
        }
}

static void decodes_every_half_as_it_encodes_it(void **state _unused_) {
        for (unsigned bits = 0; bits < 0x10000; bits++)
                if ((bits >> 10 & 31) != 31) /* infinities and NaN have no number */
                        assert_int_equal(pattern_encode(TYPE_HALF, pattern_decode(TYPE_HALF, bits)),
                                        bits);
}

static void nan_is_never_a_match(void **state _unused_) {
        static const struct {
                unsigned type;
                uint64_t nan;
        } nans[] = { { TYPE_HALF, 0x7e00 }, { TYPE_BFLOAT16, 0x7fc0 }, { TYPE_F8E4M3, 0x7f },
                { TYPE_F8E5M2, 0x7e }, { TYPE_FLOAT, 0x7fc00000 },
                { TYPE_DOUBLE, 0x7ff8000000000000 } };

        for (size_t i = 0; i < ELEMENTSOF(nans); i++) {
                PatternJob exact = job_for(nans[i].type, OP_SUM, 4),
                           inexact = job_for(nans[i].type, OP_AVG, 3);

                assert_false(pattern_matches(&exact, &nans[i].nan, 0));
                assert_false(pattern_matches(&inexact, &nans[i].nan, 0));
        }
}

static void every_rank_sends_something_else(void **state _unused_) {
        for (unsigned type = 0; type < TYPE_COUNT; type++) {
                PatternJob job = job_for(type, OP_NONE, 8);
                unsigned equal = 0;

                for (uint64_t i = 0; i < 4096; i++)
                        equal += pattern_narrow(type, pattern_value(&job, 2, i)) ==
                                 pattern_narrow(type, pattern_value(&job, 5, i));
                /* Of bytes one in 256 agrees by chance. */
                assert_in_range(equal, 0, type_table[type].size == 1 ? 40 : 3);
        }
}

static bool is_exact(unsigned type, double v) {
        return pattern_decode(type, pattern_encode(type, v)) == v;
}

/* Values, all partial sums and the total must be exact in the type: no order of adding may
 * round. */
static void assert_sum_is_exact(const PatternJob *job, unsigned ranks, uint64_t i) {
        double up = 0, down = 0;

        for (unsigned r = 0; r < ranks; r++) {
                double v = (double) pattern_small(job, r, i);

                *(v > 0 ? &up : &down) += v;
                assert_true(is_exact(job->type, v));
                assert_true(is_exact(job->type, up));
                assert_true(is_exact(job->type, down));
        }
}

static void sums_of_floats_are_exact(void **state _unused_) {
        for (unsigned type = TYPE_HALF; type < TYPE_COUNT; type++)
                for (unsigned ranks = 1; ranks <= 2000; ranks = ranks * 3 + 1) {
                        PatternJob job = job_for(type, OP_SUM, ranks);

                        for (uint64_t i = 0; i < 50; i++)
                                assert_sum_is_exact(&job, ranks, i);
                }
}

static void products_of_floats_are_exact(void **state _unused_) {
        for (unsigned type = TYPE_HALF; type < TYPE_COUNT; type++)
                for (unsigned ranks = 1; ranks <= 2000; ranks = ranks * 3 + 1) {
                        PatternJob job = job_for(type, OP_PROD, ranks);
                        double magnitude;

                        for (uint64_t i = 0; i < 50; i++) {
                                double v = pattern_reduce_floats(&job, i, &magnitude);

                                assert_true(v != 0 && v <= 64 && v >= -64);
                                assert_true(is_exact(type, v));
                        }
                }
}

/* Takes one rank out of each reduction and looks whether the check would see it. */
static double caught_without_rank(const PatternJob *full, unsigned missing) {
        unsigned caught = 0, n = 2000;

        for (uint64_t i = 0; i < n; i++) {
                uint64_t bits = 0;
                double magnitude;

                if (pattern_is_float(full->type)) {
                        double v = (double) pattern_small(full, missing, i);
                        double all = pattern_reduce_floats(full, i, &magnitude);

                        bits = pattern_encode(full->type, full->op == OP_PROD ? all / v : all - v);
                } else {
                        uint64_t all = pattern_reduce_ints(full, i);
                        bits = all - pattern_narrow(full->type, pattern_value(full, missing, i));
                }
                PatternJob one = *full;
                one.count = 1;
                one.index_base = i;
                uint8_t data[8];
                pattern_store(data, pattern_size(full->type), 0, bits);
                caught += !pattern_matches(&one, data, 0);
        }
        return (double) caught / n;
}

static void a_missing_rank_is_seen_in_every_type(void **state _unused_) {
        for (unsigned type = 0; type < TYPE_COUNT; type++)
                for (unsigned ranks = 2; ranks <= 16; ranks *= 2) {
                        PatternJob job = job_for(type, OP_SUM, ranks);

                        /* Of 8-bit floats over 16 ranks a third contributes 0. */
                        assert_true(caught_without_rank(&job, ranks - 1) > 0.3);
                        assert_true(caught_without_rank(&job, 0) > 0.3);
                }
}

static void a_missing_rank_is_seen_among_a_thousand(void **state _unused_) {
        PatternJob job = job_for(TYPE_BFLOAT16, OP_SUM, 1024);

        /* One rank in four takes part in each element, and its value may be 0. */
        assert_true(caught_without_rank(&job, 0) > 0.1);
        assert_true(caught_without_rank(&job, 777) > 0.1);
}

static void a_missing_factor_is_seen(void **state _unused_) {
        PatternJob job = job_for(TYPE_HALF, OP_PROD, 8);

        assert_true(caught_without_rank(&job, 3) > 0.4);
}

static void chunks_follow_the_ranks(void **state _unused_) {
        PatternJob job = job_for(TYPE_INT32, OP_NONE, 4);
        uint32_t rank;
        uint64_t index;

        job.chunk = 10;
        job.index_base = 100;
        pattern_locate(&job, 37, &rank, &index);
        assert_int_equal(rank, 3);
        assert_int_equal(index, 107);
}

static void average_over_three_tolerates_rounding_alone(void **state _unused_) {
        PatternJob job = job_for(TYPE_HALF, OP_AVG, 3);
        double magnitude;

        assert_true(job.inexact);
        for (uint64_t i = 0; i < 200; i++) {
                double want = pattern_reduce_floats(&job, i, &magnitude);
                uint16_t near, far;

                job.index_base = i;
                near = (uint16_t) pattern_encode(TYPE_HALF, want); /* cut, not rounded */
                far = (uint16_t) pattern_encode(TYPE_HALF, want + magnitude * 0.02 + 1e-3);
                assert_true(pattern_matches(&job, &near, 0));
                assert_false(pattern_matches(&job, &far, 0));
        }
}

static void average_over_eight_is_exact(void **state _unused_) {
        PatternJob job = job_for(TYPE_BFLOAT16, OP_AVG, 8);

        assert_false(job.inexact);
}

static void average_of_bytes_over_too_many_ranks_is_refused(void **state _unused_) {
        PatternJob job = { .type = TYPE_INT8, .op = OP_AVG, .ranks = 128 };

        assert_int_equal(pattern_prepare(&job), -EDOM);
}

static void average_of_integers_neither_wraps_nor_vanishes(void **state _unused_) {
        for (unsigned type = 0; type < TYPE_HALF; type++) {
                PatternJob job = job_for(type, OP_AVG, 100);
                uint64_t seen = 0;

                for (uint64_t i = 0; i < 50; i++) {
                        __int128 sum = 0;

                        for (unsigned r = 0; r < 100; r++)
                                sum += (__int128) pattern_value(&job, r, i);
                        seen += (uint64_t) (sum / 100);
                        assert_int_equal(pattern_reduce_ints(&job, i), (uint64_t) (sum / 100));
                }
                if (type != TYPE_INT8)
                        assert_true(seen > 0);
        }
}

static void either_zero_is_a_right_zero(void **state _unused_) {
        PatternJob job = job_for(TYPE_F8E4M3, OP_SUM, 2);
        uint8_t plus = 0, minus = 0x80;
        double magnitude;

        for (uint64_t i = 0; i < 1000; i++)
                if (pattern_reduce_floats(&job, i, &magnitude) == 0) {
                        job.index_base = i;
                        assert_true(pattern_matches(&job, &plus, 0));
                        assert_true(pattern_matches(&job, &minus, 0));
                        return;
                }
        fail_msg("no sum is zero");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(encodes_known_values),
                cmocka_unit_test(encodes_float_as_the_compiler_does),
                cmocka_unit_test(decodes_every_half_as_it_encodes_it),
                cmocka_unit_test(nan_is_never_a_match),
                cmocka_unit_test(every_rank_sends_something_else),
                cmocka_unit_test(sums_of_floats_are_exact),
                cmocka_unit_test(products_of_floats_are_exact),
                cmocka_unit_test(a_missing_rank_is_seen_in_every_type),
                cmocka_unit_test(a_missing_rank_is_seen_among_a_thousand),
                cmocka_unit_test(a_missing_factor_is_seen),
                cmocka_unit_test(chunks_follow_the_ranks),
                cmocka_unit_test(average_over_three_tolerates_rounding_alone),
                cmocka_unit_test(average_over_eight_is_exact),
                cmocka_unit_test(average_of_bytes_over_too_many_ranks_is_refused),
                cmocka_unit_test(average_of_integers_neither_wraps_nor_vanishes),
                cmocka_unit_test(either_zero_is_a_right_zero),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
