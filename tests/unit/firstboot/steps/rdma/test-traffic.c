/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the programs that carry data over a port say. */

#include "steps/rdma/growth.h"
#include "steps/rdma/traffic.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define S(text) ((char *) (text))

static void test_bandwidth(void **state) {
        (void) state;
        assert_float_equal(rdma_traffic_bandwidth("97.240000\n"), 97.24, 1e-9);
        assert_float_equal(rdma_traffic_bandwidth(" WARNING: BW peak won't be measured\n 380.1 \n"),
                        380.1, 1e-9);
        assert_float_equal(rdma_traffic_bandwidth("0.500000"), 0.5, 1e-9);
        assert_float_equal(rdma_traffic_bandwidth("1\n2\nend\n"), 2, 1e-9);
}

static void test_no_bandwidth(void **state) {
        (void) state;
        assert_true(rdma_traffic_bandwidth("") < 0);
        assert_true(rdma_traffic_bandwidth("Failed to create MR\n") < 0);
        assert_true(rdma_traffic_bandwidth("65536 5000 97.2 97.1\n") < 0);
        assert_true(rdma_traffic_bandwidth("-nan\ninf\n-5\n") < 0);
        assert_true(rdma_traffic_bandwidth("....\n") < 0);
}

static void test_answered(void **state) {
        static const char table[] = "bytes   #sent   #ack     total       time     MB/sec\n"
                                    "1m      20      =20      40m        0.01s   4000.00\n";

        (void) state;
        assert_true(rdma_traffic_answered(table, 20));
        assert_false(rdma_traffic_answered(table, 100));
        assert_false(rdma_traffic_answered("1m      20      19      40m\n", 20));
        assert_false(rdma_traffic_answered("1m 20", 20));
        assert_false(rdma_traffic_answered("", 20));
}

static void test_growth(void **state) {
        RdmaCounter before[] = { { S("counters/symbol_error"), true, 7 },
                { S("counters/link_downed"), true, 1 } };
        RdmaCounter after[] = { { S("counters/symbol_error"), true, 7 },
                { S("counters/link_downed"), true, 2 } };
        RdmaPort a = { .counters = before, .n_counters = 2 },
                 b = { .counters = after, .n_counters = 2 };
        _cleanup_free_ char *none = rdma_growth(&a, &a), *growth = rdma_growth(&a, &b),
                            *less = rdma_growth(&b, &a);

        (void) state;
        assert_null(none);
        assert_null(less); /* the driver was loaded anew */
        assert_string_equal(growth, "counters/link_downed grew from 1 to 2");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bandwidth),
                cmocka_unit_test(test_no_bandwidth),
                cmocka_unit_test(test_answered),
                cmocka_unit_test(test_growth),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
