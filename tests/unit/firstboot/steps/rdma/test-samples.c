/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/rdma/samples.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static size_t metric(Samples *s, const char *name, const char *help) {
        size_t i;

        assert_int_equal(samples_add_metric(s, "counter", strdup(name), strdup(help), &i), 0);
        return i;
}

static void samples_of_a_metric_stand_together_below_its_help(void **state _unused_) {
        _cleanup_(samples_done) Samples s = {};
        size_t b = metric(&s, "b", "Of b."), a = metric(&s, "a", "Of a."),
               again = metric(&s, "b", "Another.");
        const char *labels = samples_keep(&s, strdup("port=\"1\""));

        assert_int_equal(samples_add(&s, b, labels, "1"), 0);
        assert_int_equal(samples_add(&s, a, labels, "2"), 0);
        assert_int_equal(samples_add(&s, again, labels, "3"), 0);
        _cleanup_free_ char *text = samples_print(&s);
        assert_string_equal(text,
                        "# HELP a Of a.\n# TYPE a counter\na{port=\"1\"} 2\n"
                        "# HELP b Of b.\n# TYPE b counter\nb{port=\"1\"} 1\nb{port=\"1\"} 3\n");
}

static void a_metric_without_samples_is_not_printed(void **state _unused_) {
        _cleanup_(samples_done) Samples s = {};

        metric(&s, "a", "Of a.");
        _cleanup_free_ char *text = samples_print(&s);
        assert_string_equal(text, "");
}

static void many_samples_keep_their_order(void **state _unused_) {
        _cleanup_(samples_done) Samples s = {};
        size_t a = metric(&s, "a", "Of a.");
        char value[24];
        const char *p;

        for (unsigned i = 0; i < 1000; i++) {
                snprintf(value, sizeof(value), "%u", i);
                assert_int_equal(samples_add(&s, a, "", value), 0);
        }
        _cleanup_free_ char *text = samples_print(&s);
        p = strstr(text, "a{} 0\n");
        for (unsigned i = 0; i < 1000; i++) {
                _cleanup_free_ char *line = strf("a{} %u\n", i);

                assert_non_null(p);
                assert_true(startswith(p, line));
                p += strlen(line);
        }
}

static void names_and_labels_are_what_prometheus_takes(void **state _unused_) {
        static const struct {
                const char *text, *value;
        } labels[] = {
                { "mlx5_0", "mlx5_0" },
                { "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
                { "ä€", "ä€" },
                { "\377x\303", "?x?" },
        };
        _cleanup_free_ char *name = rdma_metric_name("rdma_", "rx-err.x\303\244");

        assert_string_equal(name, "rdma_rx_err_x__");
        for (size_t i = 0; i < ELEMENTSOF(labels); i++) {
                _cleanup_free_ char *value = rdma_label_value(labels[i].text);

                assert_string_equal(value, labels[i].value);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(samples_of_a_metric_stand_together_below_its_help),
                cmocka_unit_test(a_metric_without_samples_is_not_printed),
                cmocka_unit_test(many_samples_keep_their_order),
                cmocka_unit_test(names_and_labels_are_what_prometheus_takes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
