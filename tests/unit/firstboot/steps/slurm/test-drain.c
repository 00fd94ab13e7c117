/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose a drain is, and what follows. */

#include "shared/strv.h"
#include "steps/slurm/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static NodeInfo node(const char *state, const char *reason) {
        NodeInfo n = {};

        snprintf(n.state, sizeof(n.state), "%s", state);
        snprintf(n.reason, sizeof(n.reason), "%s", reason);
        return n;
}

static void a_drain_reason_is_one_short_line(void **state) {
        char longer[500];

        (void) state;
        memset(longer, 'x', sizeof(longer) - 1);
        longer[sizeof(longer) - 1] = '\0';
        _cleanup_free_ char *a = own_reason("scratch.foreign-signature", "disk \"X\"\nhas 'ext4'"),
                            *b = own_reason("a.b", longer);
        assert_non_null(startswith(
                        a, "[firstboot] scratch.foreign-signature: disk  X  has  ext4  #"));
        assert_int_equal(strlen(b), 200);
        assert_true(drain_is_ours(a, NULL));
        assert_true(drain_is_ours(b, NULL));
}

static void what_slurm_adds_leaves_it_ours(void **state) {
        static const char *const words[] = { " : Not responding", " : reboot issued",
                " : reboot issued : reboot complete", " : reboot timed out" };
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8");

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                _cleanup_free_ char *more = strf("%s%s", ours, words[i]);
                assert_true(drain_is_ours(more, NULL));
        }
        assert_true(drain_is_ours(DRAIN_JOINING, NULL));
        assert_true(drain_is_ours(DRAIN_JOINING " : Not responding", NULL));
}

static void what_somebody_changes_is_his(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"),
                            *added = strf("%s - RMA 4711", ours),
                            *as_slurm = strf("%s : RMA 4711", ours), *before = strf("RMA %s", ours),
                            *changed = strdup(ours), *joining = strf("%s RMA", DRAIN_JOINING);

        (void) state;
        changed[strlen("[firstboot] gpu.missing: ")] = '6';
        assert_false(drain_is_ours(added, NULL));
        assert_false(drain_is_ours(as_slurm, NULL));
        assert_false(drain_is_ours(before, NULL));
        assert_false(drain_is_ours(changed, NULL));
        assert_false(drain_is_ours(joining, NULL));
        assert_false(drain_is_ours("[firstboot] gpu.missing: 7 of 8", NULL));
        assert_false(drain_is_ours("[firstboot]", NULL));
        assert_false(drain_is_ours("[firstboot] ", NULL));
        assert_false(drain_is_ours("", NULL));
        assert_false(drain_is_ours(DRAIN_LIFTED, NULL));
}

static void a_note_comes_back(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"),
                            *over = drain_reason_over(ours, "bad fan"), *before = NULL;

        (void) state;
        assert_non_null(startswith(over, "[firstboot] gpu.missing: 7 of 8; before: bad fan #"));
        assert_true(drain_is_ours(over, &before));
        assert_string_equal(before, "bad fan");
}

static void a_fault_is_drained_unless_somebody_else_has_the_node(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"),
                            *other = own_reason("gpu.ecc", "GPU 3"),
                            *over = drain_reason_over(ours, "bad fan"),
                            *other_over = drain_reason_over(other, "bad fan"),
                            *away = strf("%s : Not responding", ours);
        const struct {
                const char *state, *reason;
                DrainMove move;
                const char *written;
        } table[] = {
                { "IDLE", "", DRAIN_WRITE, ours },
                { "ALLOCATED", "", DRAIN_WRITE, ours },
                { "IDLE", DRAIN_LIFTED, DRAIN_WRITE, ours },
                { "IDLE", "bad fan", DRAIN_WRITE, over },
                { "IDLE+DRAIN", ours, DRAIN_HOLDS, NULL },
                { "DOWN+DRAIN", away, DRAIN_HOLDS, NULL },
                { "IDLE+DRAIN", other, DRAIN_WRITE, ours },
                { "IDLE+DRAIN", other_over, DRAIN_WRITE, over },
                { "IDLE+DRAIN", DRAIN_JOINING, DRAIN_WRITE, ours },
                { "IDLE+DRAIN", "RMA ticket 4711", DRAIN_HOLDS_FOREIGN, NULL },
                { "IDLE+DRAIN", "", DRAIN_HOLDS_FOREIGN, NULL },
                { "DOWN*+DRAIN", "RMA : Not responding", DRAIN_HOLDS_FOREIGN, NULL },
                { "DOWN", "Not responding", DRAIN_WRITE, ours },
                { "DOWN*", "Node unexpectedly rebooted", DRAIN_WRITE, ours },
                { "DOWN", "RMA ticket 4711", DRAIN_REFUSED, NULL },
                { "DOWN*", "RMA : Not responding", DRAIN_REFUSED, NULL },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *written = NULL;
                NodeInfo n = node(table[i].state, table[i].reason);

                assert_int_equal(drain_choose(&n, ours, &written), table[i].move);
                if (table[i].written)
                        assert_string_equal(written, table[i].written);
                else
                        assert_null(written);
        }
}

static void a_drain_that_slurm_would_lift_after_a_reboot_is_none(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"), *written = NULL,
                            *over = drain_reason_over(ours, "firmware");
        NodeInfo n = node("DOWN+DRAIN+REBOOT_ISSUED", "firmware : reboot issued");

        (void) state;
        /* No next state: the admin's own drain, which stays. */
        assert_int_equal(drain_choose(&n, ours, &written), DRAIN_HOLDS_FOREIGN);
        strcpy(n.next_state, "RESUME");
        assert_int_equal(drain_choose(&n, ours, &written), DRAIN_WRITE_FAIL);
        assert_string_equal(written, over);
}

/* State=RESUME before State=DRAIN would leave the node free in between. */
static void after_a_reboot_the_node_is_held_by_fail_until_it_has_registered(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"),
                            *other = own_reason("gpu.ecc", "GPU 3"), *written = NULL;
        NodeInfo n = node("DOWN+FAIL+REBOOT_ISSUED", ours), registered = node("IDLE+FAIL", ours),
                 worse = n;

        (void) state;
        strcpy(n.next_state, "RESUME");
        assert_int_equal(drain_choose(&n, ours, &written), DRAIN_HOLDS_FAIL);
        assert_null(written);
        assert_int_equal(drain_choose(&registered, ours, &written), DRAIN_WRITE);
        assert_string_equal(written, ours);
        free(TAKE_PTR(written));
        strcpy(worse.next_state, "RESUME");
        assert_int_equal(drain_choose(&worse, other, &written), DRAIN_WRITE_FAIL);
        assert_string_equal(written, other);
}

static void what_an_admin_has_set_to_fail_is_his(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"), *written = NULL;
        NodeInfo n = node("IDLE+FAIL", "RMA ticket 4711"),
                 away = node("DOWN+FAIL+REBOOT_ISSUED", "RMA ticket 4711");

        (void) state;
        assert_int_equal(drain_choose(&n, ours, &written), DRAIN_HOLDS_FOREIGN);
        strcpy(away.next_state, "RESUME");
        assert_int_equal(drain_choose(&away, ours, &written), DRAIN_HOLDS_FOREIGN);
        assert_null(written);
}

static void only_a_drain_of_ours_is_lifted(void **state) {
        _cleanup_free_ char *ours = own_reason("gpu.missing", "7 of 8"),
                            *away = strf("%s : Not responding", ours);
        const struct {
                const char *state, *reason;
                LiftMove move;
        } table[] = {
                { "IDLE", "", LIFT_NOTHING },
                { "IDLE", ours, LIFT_NOTHING },
                { "MIXED", "bad fan", LIFT_NOTHING },
                { "IDLE+DRAIN", ours, LIFT_UNDRAIN },
                { "ALLOCATED+DRAIN", ours, LIFT_UNDRAIN },
                { "DOWN+DRAIN", away, LIFT_RESUME },
                { "DOWN", away, LIFT_RESUME },
                { "DOWN*+DRAIN", away, LIFT_WAIT },
                { "IDLE+DRAIN", "RMA ticket 4711", LIFT_FOREIGN },
                { "IDLE+DRAIN", "", LIFT_FOREIGN },
                { "DOWN+DRAIN", "RMA ticket 4711", LIFT_FOREIGN },
                { "IDLE+DRAIN+REBOOT_REQUESTED", ours, LIFT_FOREIGN },
                { "DOWN+DRAIN+REBOOT_ISSUED", ours, LIFT_WAIT },
                { "DOWN+FAIL+REBOOT_ISSUED", ours, LIFT_WAIT },
                { "IDLE+FAIL", ours, LIFT_RESUME },
                { "IDLE+FAIL", "RMA ticket 4711", LIFT_FOREIGN },
                { "DOWN", "Not responding", LIFT_DOWN },
                { "DOWN", "Node unexpectedly rebooted", LIFT_DOWN },
                { "IDLE*", "", LIFT_WAIT },
                { "IDLE+POWERING_UP", "", LIFT_WAIT },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                NodeInfo n = node(table[i].state, table[i].reason);
                assert_int_equal(lift_choose(&n), table[i].move);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_drain_reason_is_one_short_line),
                cmocka_unit_test(what_slurm_adds_leaves_it_ours),
                cmocka_unit_test(what_somebody_changes_is_his),
                cmocka_unit_test(a_note_comes_back),
                cmocka_unit_test(a_fault_is_drained_unless_somebody_else_has_the_node),
                cmocka_unit_test(a_drain_that_slurm_would_lift_after_a_reboot_is_none),
                cmocka_unit_test(after_a_reboot_the_node_is_held_by_fail_until_it_has_registered),
                cmocka_unit_test(what_an_admin_has_set_to_fail_is_his),
                cmocka_unit_test(only_a_drain_of_ours_is_lifted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
