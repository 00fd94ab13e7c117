/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void names_of_states_are_their_own_inverse(void **state) {
        (void) state;
        for (StepStatus s = 0; s < _STEP_STATUS_MAX; s++)
                assert_int_equal(step_status_from_string(step_status_to_string(s)), s);
        for (NodeStatus n = 0; n < _NODE_STATUS_MAX; n++)
                assert_int_equal(node_status_from_string(node_status_to_string(n)), n);
}

static void unknown_names_are_the_beginning(void **state) {
        (void) state;
        assert_int_equal(step_status_from_string("asleep"), STEP_WAITING);
        assert_int_equal(step_status_from_string(NULL), STEP_WAITING);
        assert_int_equal(node_status_from_string("asleep"), NODE_STARTING);
        assert_int_equal(node_status_from_string(NULL), NODE_STARTING);
}

static void what_is_good_is_final(void **state) {
        (void) state;
        for (StepStatus s = 0; s < _STEP_STATUS_MAX; s++)
                if (step_status_is_good(s))
                        assert_true(step_status_is_final(s));
        assert_true(step_status_is_final(STEP_FAILED));
        assert_true(step_status_is_final(STEP_BLOCKED));
        assert_false(step_status_is_good(STEP_BLOCKED));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_of_states_are_their_own_inverse),
                cmocka_unit_test(unknown_names_are_the_beginning),
                cmocka_unit_test(what_is_good_is_final),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
