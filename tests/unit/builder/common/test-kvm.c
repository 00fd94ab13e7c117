/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The answer about KVM, and how long it counts. */

#include "common/kvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

static void probe_answers_in_time_and_with_a_reason(void **state _unused_) {
        struct timespec before, after;
        _cleanup_free_ char *why = NULL;

        clock_gettime(CLOCK_MONOTONIC, &before);
        int r = kvm_probe(&why);
        clock_gettime(CLOCK_MONOTONIC, &after);
        assert_in_range(r, 0, 1);
        assert_int_equal(r == 0, why != NULL);
        assert_in_range(after.tv_sec - before.tv_sec, 0, 30);
}

static void kept_answer_of_this_boot_counts(void **state _unused_) {
        _cleanup_free_ char *why = NULL;
        bool usable = true;

        assert_int_equal(kvm_answer_parse("{\"boot\":\"a\",\"usable\":false,\"why\":\"w\"}", "a",
                                         &usable, &why),
                        0);
        assert_false(usable);
        assert_string_equal(why, "w");
}

static void kept_answer_of_another_boot_is_stale(void **state _unused_) {
        bool usable = false;

        assert_int_equal(kvm_answer_parse("{\"boot\":\"a\",\"usable\":true}", "b", &usable, NULL),
                        -ESTALE);
        assert_false(usable);
}

static void damaged_answer_is_refused(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "{",
                "[]",
                "{\"usable\":true}",
                "{\"boot\":\"a\"}",
                "{\"boot\":\"a\",\"usable\":1}",
                "{\"boot\":\"a\",\"usable\":false}",
        };
        bool usable;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_true(kvm_answer_parse(bad[i], "a", &usable, NULL) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(probe_answers_in_time_and_with_a_reason),
                cmocka_unit_test(kept_answer_of_this_boot_counts),
                cmocka_unit_test(kept_answer_of_another_boot_is_stale),
                cmocka_unit_test(damaged_answer_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
