/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/pairs-plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void partners_are_mutual_in_every_round(void **state _unused_) {
        int partner[33];

        for (int n = 2; n <= 33; n++)
                for (unsigned round = 0; round < 40; round++) {
                        int idle = 0;

                        plan_round(n, round, partner);
                        for (int i = 0; i < n; i++) {
                                assert_int_not_equal(partner[i], i);
                                if (partner[i] < 0)
                                        idle++;
                                else
                                        assert_int_equal(partner[partner[i]], i);
                        }
                        assert_int_equal(idle, n % 2);
                }
}

static void everybody_meets_everybody(void **state _unused_) {
        for (int n = 2; n <= 17; n++) {
                bool met[17][17] = {};
                int partner[17];

                for (unsigned round = 0; round < (unsigned) (n - 1 + n % 2); round++) {
                        plan_round(n, round, partner);
                        for (int i = 0; i < n; i++)
                                if (partner[i] >= 0) {
                                        assert_false(met[i][partner[i]]);
                                        met[i][partner[i]] = true;
                                }
                }
                for (int i = 0; i < n; i++)
                        for (int j = 0; j < n; j++)
                                assert_true(i == j || met[i][j]);
        }
}

/* A cluster: a pair is as fast as the slower of its nodes; speed 0 is a node that hangs, negative
 * one that dies. */
static void play(NodeState *states, const double *speed, int n, unsigned rounds) {
        PairResult results[64];
        int partner[64];
        double reference = 0;
        unsigned waves = 0;

        memset(states, 0, sizeof(*states) * (size_t) n);
        for (unsigned round = 0;; round++) {
                bool retest = round >= rounds;

                if (!retest)
                        plan_round(n, round, partner);
                else if (plan_retest(states, n, partner) == 0)
                        return;
                assert_true(waves++ < 200);
                for (int i = 0; i < n; i++) {
                        int p = partner[i];
                        double pair = p < 0 ? 0 : MIN(speed[i], speed[p]);

                        results[i] = (PairResult) { .present = speed[i] >= 0,
                                .partner = p,
                                .well = pair > 0,
                                .busbw = p > i ? MAX(pair, 0.0) : 0 };
                }
                if (!retest)
                        reference = MAX(reference, plan_reference(results, n));
                double least[64];
                for (int i = 0; i < n; i++)
                        least[i] = 0.85 * reference;
                plan_apply(states, results, n, least, retest);
        }
}

static void all_well(void **state _unused_) {
        double speed[] = { 48, 47, 48, 46, 48 };
        NodeState states[5];

        play(states, speed, 5, 1);
        for (int i = 0; i < 4; i++)
                assert_true(states[i] == NODE_PASSED || states[i] == NODE_CLEARED);
}

static void the_slow_node_is_named_and_its_partner_cleared(void **state _unused_) {
        for (int bad = 0; bad < 8; bad++) {
                double speed[] = { 48, 47, 48, 46, 48, 47, 48, 48 };
                NodeState states[8];

                speed[bad] = 20;
                play(states, speed, 8, 1);
                for (int i = 0; i < 8; i++)
                        if (i == bad)
                                assert_int_equal(states[i], NODE_BAD);
                        else
                                assert_true(states[i] == NODE_PASSED || states[i] == NODE_CLEARED);
        }
}

static void a_node_that_hangs_is_named(void **state _unused_) {
        double speed[] = { 48, 0, 48, 46, 48 };
        NodeState states[5];

        play(states, speed, 5, 1);
        for (int i = 0; i < 5; i++)
                if (i == 1)
                        assert_int_equal(states[i], NODE_BAD);
                else
                        assert_true(states[i] == NODE_PASSED || states[i] == NODE_CLEARED);
}

static void a_node_that_dies_is_gone_and_its_partner_cleared(void **state _unused_) {
        double speed[] = { 48, 48, -1, 48, 48, 48 };
        NodeState states[6];

        play(states, speed, 6, 2);
        for (int i = 0; i < 6; i++)
                if (i == 2)
                        assert_int_equal(states[i], NODE_GONE);
                else
                        assert_true(states[i] == NODE_PASSED || states[i] == NODE_CLEARED);
}

static void more_suspects_than_references_take_turns(void **state _unused_) {
        double speed[16];
        NodeState states[16];
        int partner[16];

        /* One good pair, and one bad node in each of the seven others. */
        plan_round(16, 0, partner);
        for (int i = 0; i < 16; i++)
                speed[i] = i < partner[i] && i != 0 ? 0 : 48;
        play(states, speed, 16, 1);
        for (int i = 0; i < 16; i++)
                if (speed[i] == 0)
                        assert_int_equal(states[i], NODE_BAD);
                else
                        assert_true(states[i] == NODE_PASSED || states[i] == NODE_CLEARED);
}

static void without_a_reference_nothing_is_proven(void **state _unused_) {
        double speed[] = { 48, 0 };
        NodeState states[2];

        play(states, speed, 2, 1);
        assert_int_equal(states[0], NODE_UNPROVEN);
        assert_int_equal(states[1], NODE_UNPROVEN);
}

static void the_odd_node_out_is_measured_too(void **state _unused_) {
        double speed[] = { 48, 48, 20 };
        NodeState states[3];
        int partner[3];

        plan_round(3, 0, partner);
        for (int i = 0; i < 3; i++)
                speed[i] = partner[i] < 0 ? 20 : 48;
        play(states, speed, 3, 1);
        for (int i = 0; i < 3; i++)
                assert_int_equal(states[i], partner[i] < 0 && i >= 0
                                                            ? (speed[i] == 20 ? NODE_BAD : 0)
                                                            : NODE_PASSED);
}

static void reference_is_the_upper_median_of_what_was_measured(void **state _unused_) {
        const PairResult results[] = {
                { true, 1, true, 40 },
                { true, 0, true, 0 },
                { true, 3, true, 50 },
                { true, 2, true, 0 },
                { true, 5, false, 99 },
                { true, 4, true, 0 },
        };

        assert_true(plan_reference(results, 6) == 50);
        assert_true(plan_reference(results, 2) == 40);
        assert_true(plan_reference(results + 4, 0) == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(partners_are_mutual_in_every_round),
                cmocka_unit_test(everybody_meets_everybody),
                cmocka_unit_test(all_well),
                cmocka_unit_test(the_slow_node_is_named_and_its_partner_cleared),
                cmocka_unit_test(a_node_that_hangs_is_named),
                cmocka_unit_test(a_node_that_dies_is_gone_and_its_partner_cleared),
                cmocka_unit_test(more_suspects_than_references_take_turns),
                cmocka_unit_test(without_a_reference_nothing_is_proven),
                cmocka_unit_test(the_odd_node_out_is_measured_too),
                cmocka_unit_test(reference_is_the_upper_median_of_what_was_measured),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
