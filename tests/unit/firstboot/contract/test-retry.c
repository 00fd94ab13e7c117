/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/node-seed.h"
#include "contract/retry.h"

#define NODES 1000

static const RetryPlan plan = { .spread_usec = 1000,
        .delay_usec = 8,
        .delay_max_usec = 20,
        .retries = 2,
        .slow_usec = 1000000 };

/* How many of NODES numbers fall into the fullest tenth of the span. */
static unsigned fullest_tenth(uint64_t (*number)(uint64_t seed), uint64_t from, uint64_t span) {
        unsigned tenths[10] = {}, most = 0;

        for (uint64_t i = 0; i < NODES; i++) {
                uint64_t x = number(retry_seed(i, "identity"));

                assert_in_range(x, from, from + span - 1);
                tenths[(x - from) * 10 / span]++;
        }
        for (size_t i = 0; i < 10; i++)
                most = MAX(most, tenths[i]);
        return most;
}

static uint64_t first(uint64_t seed) {
        return retry_first(&plan, seed);
}

static uint64_t slow(uint64_t seed) {
        uint64_t pause = 0;

        assert_int_equal(retry_next(&plan, seed, 3, &pause), RETRY_SLOW);
        return pause;
}

static uint64_t slow_again(uint64_t seed) {
        uint64_t pause = 0;

        assert_int_equal(retry_next(&plan, seed, 9, &pause), RETRY_SLOW);
        return pause;
}

static void nodes_fall_apart_evenly(void **state) {
        (void) state;
        assert_in_range(fullest_tenth(first, 0, 1000), 100, 140);
        assert_in_range(fullest_tenth(slow, 250000, 1000000), 100, 140);
        assert_in_range(fullest_tenth(slow_again, 900000, 200000), 100, 140);
}

static void the_same_node_gets_the_same_pauses(void **state) {
        uint64_t a = 0, b = 0;

        (void) state;
        assert_int_equal(retry_next(&plan, 7, 1, &a), RETRY_FAST);
        assert_int_equal(retry_next(&plan, 7, 1, &b), RETRY_FAST);
        assert_int_equal(a, b);
}

static void attempts_and_steps_of_one_node_differ(void **state) {
        (void) state;
        assert_int_not_equal(
                        slow_again(retry_seed(1, "mounts")), slow_again(retry_seed(1, "slurm")));
        assert_int_not_equal(retry_random(1, 4, UINT64_MAX), retry_random(1, 5, UINT64_MAX));
}

static void fast_pauses_double_up_to_their_limit(void **state) {
        uint64_t pause = 0;

        (void) state;
        for (uint64_t seed = 0; seed < 50; seed++) {
                assert_int_equal(retry_next(&plan, seed, 1, &pause), RETRY_FAST);
                assert_in_range(pause, 4, 8);
                assert_int_equal(retry_next(&plan, seed, 2, &pause), RETRY_FAST);
                assert_in_range(pause, 8, 16);
        }
}

static void without_a_slow_period_there_is_an_end(void **state) {
        RetryPlan p = plan;
        uint64_t pause = 4711;

        (void) state;
        p.slow_usec = 0;
        assert_int_equal(retry_next(&p, 1, 3, &pause), RETRY_NEVER);
        assert_int_equal(pause, 4711);
}

static void nothing_is_no_trouble(void **state) {
        RetryPlan p = {};
        uint64_t pause = 1;

        (void) state;
        assert_int_equal(retry_first(&p, 3), 0);
        p.retries = 1;
        assert_int_equal(retry_next(&p, 3, 1, &pause), RETRY_FAST);
        assert_int_equal(pause, 0);
}

static void a_loop_ends_at_its_limit(void **state) {
        RetryLoop l = { .seed = 5, .pause_usec = 10, .pause_max_usec = 40, .deadline_usec = 100 };
        uint64_t now = 0, pause = 0;
        unsigned n = 0;

        (void) state;
        for (; retry_again(&l, now, &pause); now += pause, n++)
                assert_in_range(pause,
                                n == 0   ? 5
                                : n == 1 ? 10
                                         : 20,
                                n == 0   ? 10
                                : n == 1 ? 20
                                         : 40);
        assert_in_range(n, 3, 5);
        assert_true(now < 100);
}

static void copies_of_an_image_are_told_apart_by_their_network_cards(void **state) {
        uint64_t before, captured;

        (void) state;
        root_put("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        root_put("/sys/class/net/eth0/device/vendor", "0x15b3\n");
        root_put("/sys/class/net/eth0/address", "02:00:00:00:00:01\n");
        before = node_seed();
        assert_int_equal(before, node_seed());
        root_put("/sys/class/net/docker0/address", "02:42:00:00:00:01\n");
        assert_int_equal(before, node_seed());
        root_put("/sys/class/net/eth0/address", "02:00:00:00:00:02\n");
        captured = node_seed();
        assert_int_not_equal(before, captured);
        root_put("/sys/class/dmi/id/product_serial", "4711\n");
        assert_int_not_equal(captured, node_seed());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(nodes_fall_apart_evenly),
                TEST(the_same_node_gets_the_same_pauses),
                TEST(attempts_and_steps_of_one_node_differ),
                TEST(fast_pauses_double_up_to_their_limit),
                TEST(without_a_slow_period_there_is_an_end),
                TEST(nothing_is_no_trouble),
                TEST(a_loop_ends_at_its_limit),
                TEST(copies_of_an_image_are_told_apart_by_their_network_cards),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
