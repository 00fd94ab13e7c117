/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/rdma/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define _cleanup_samples_ _cleanup_(samples_done)

static size_t metric(Samples *s, const char *name) {
        size_t m;

        assert_int_equal(samples_add_metric(s, "counter", strdup(name), strdup("help"), &m), 0);
        return m;
}

static void add(Samples *s, size_t m, const char *labels, const char *value) {
        const char *kept = samples_keep(s, strdup(labels));

        assert_non_null(kept);
        assert_int_equal(samples_add(s, m, kept, value), 0);
}

static void samples_of_a_metric_stand_together_in_the_order_they_came(void **state _unused_) {
        _cleanup_samples_ Samples s = {};
        _cleanup_free_ char *text = NULL;
        size_t b = metric(&s, "b"), a = metric(&s, "a");

        add(&s, b, "d=\"2\"", "20");
        add(&s, a, "d=\"2\"", "10");
        add(&s, b, "d=\"1\"", "21");
        add(&s, a, "d=\"1\"", "18446744073709551615");
        text = samples_print(&s, "tail 1\n");
        assert_string_equal(text,
                        "# HELP a help\n# TYPE a counter\na{d=\"2\"} 10\na{d=\"1\"} 18446744073709551615\n"
                        "# HELP b help\n# TYPE b counter\nb{d=\"2\"} 20\nb{d=\"1\"} 21\ntail 1\n");
}

static void two_metrics_of_one_name_are_one(void **state _unused_) {
        _cleanup_samples_ Samples s = {};
        _cleanup_free_ char *text = NULL;
        size_t x = metric(&s, "x"), other = metric(&s, "x"), unused = metric(&s, "a");

        add(&s, other, "f=\"1\"", "1");
        add(&s, x, "f=\"2\"", "2");
        assert_int_not_equal(unused, x);
        text = samples_print(&s, "");
        assert_string_equal(text, "# HELP x help\n# TYPE x counter\nx{f=\"1\"} 1\nx{f=\"2\"} 2\n");
}

static void without_samples_there_is_the_tail(void **state _unused_) {
        _cleanup_samples_ Samples s = {};
        _cleanup_free_ char *text = samples_print(&s, "tail 0\n");

        assert_string_equal(text, "tail 0\n");
}

static void a_value_that_is_too_long_is_cut(void **state _unused_) {
        _cleanup_samples_ Samples s = {};
        _cleanup_free_ char *text = NULL;
        size_t x = metric(&s, "x");

        add(&s, x, "", "123456789012345678901234567890");
        text = samples_print(&s, "");
        assert_string_equal(text, "# HELP x help\n# TYPE x counter\nx{} 12345678901234567890123\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(samples_of_a_metric_stand_together_in_the_order_they_came),
                cmocka_unit_test(two_metrics_of_one_name_are_one),
                cmocka_unit_test(without_samples_there_is_the_tail),
                cmocka_unit_test(a_value_that_is_too_long_is_cut),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
