/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* scontrol's node, read. */

#include "steps/slurm/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_nodes_state_and_reason_are_found(void **state) {
        NodeInfo info;

        (void) state;
        assert_return_code(
                        node_parse("NodeName=n1 Arch=x86_64 State=IDLE+DRAIN ThreadsPerCore=1 Reason=[firstboot] gpu.missing: 7 of 8 "
                                   "[root@2026-01-02T03:04:05]\n",
                                        &info),
                        0);
        assert_string_equal(info.state, "IDLE+DRAIN");
        assert_string_equal(info.reason, "[firstboot] gpu.missing: 7 of 8");
        assert_int_equal(node_parse("Node n2 not found", &info), -ENOENT);
}

static void a_word_within_a_word_is_no_state(void **state) {
        (void) state;
        assert_true(node_state_has("IDLE+DRAIN", "DRAIN"));
        assert_false(node_state_has("IDLE+DRAINING", "DRAIN"));
        assert_true(node_state_has("DOWN*+DRAIN", "DRAIN"));
}

static void a_node_that_is_down_may_answer(void **state) {
        static const struct {
                const char *state;
                bool answers;
        } table[] = {
                { "IDLE", true },
                { "MIXED", true },
                { "IDLE+DYNAMIC_NORM", true },
                { "IDLE+DRAIN", true },
                { "IDLE*", false },
                { "DOWN", true },
                { "DOWN+DRAIN+REBOOT_ISSUED", false },
                { "IDLE+POWERED_DOWN", false },
                { "DOWN*+DRAIN", false },
                { "UNKNOWN", false },
                { "FUTURE", false },
                { "IDLE+NOT_RESPONDING", false },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                assert_int_equal(node_state_answers(table[i].state), table[i].answers);
}

/* As Slurm 24.11 prints it. */
static void a_comment_is_no_reason(void **state) {
        NodeInfo info;

        (void) state;
        assert_return_code(
                        node_parse("NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n"
                                   "   State=DOWN+DRAIN+REBOOT_ISSUED ThreadsPerCore=1 MCS_label=N/A NextState=RESUME\n"
                                   "   Comment=see Reason=none [a@b]\n"
                                   "   Reason=RMA [box 7] 4711 [root@2026-01-02T03:04:05]\n"
                                   "   Extra=State=IDLE [x@y]\n\n",
                                        &info),
                        0);
        assert_string_equal(info.state, "DOWN+DRAIN+REBOOT_ISSUED");
        assert_string_equal(info.next_state, "RESUME");
        assert_string_equal(info.reason, "RMA [box 7] 4711");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_nodes_state_and_reason_are_found),
                cmocka_unit_test(a_comment_is_no_reason),
                cmocka_unit_test(a_word_within_a_word_is_no_state),
                cmocka_unit_test(a_node_that_is_down_may_answer),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
