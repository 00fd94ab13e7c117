/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/node-report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The report takes an entry of this unit; what node_report_take() said. */
static int take_of(NodeReport *n, const char *unit, const char *code, const char *step,
                const char *message) {
        JournalEntry e = {
                .systemd_unit = (char *) unit,
                .code = (char *) code,
                .step = (char *) step,
                .message = (char *) message,
        };

        return node_report_take(n, &e);
}

static int take(NodeReport *n, const char *code, const char *step, const char *message) {
        return take_of(n, "firstbootd.service", code, step, message);
}

static const char *code_of(const NodeReport *n, const char *step) {
        return json_get_string(json_get(n->steps, step), "code");
}

static void a_verdict_is_kept_with_its_message(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};

        assert_int_equal(take(&n, "event.degraded", "node", "Node is degraded: scratch"), 1);
        assert_string_equal(n.verdict, "degraded");
        assert_string_equal(n.message, "Node is degraded: scratch");
}

static void a_later_verdict_takes_the_place_of_an_earlier_one(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};

        take(&n, "event.failed", "node", "no");
        take(&n, "event.ready", "node", "yes");
        assert_string_equal(n.verdict, "ready");
}

static void the_reason_of_a_step_is_kept(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};

        assert_int_equal(take(&n, "scratch.fewer", "scratch", "scratch: 3 disks of 4"), 0);
        assert_string_equal(code_of(&n, "scratch"), "scratch.fewer");
        assert_string_equal(
                        json_get_string(json_get(n.steps, "scratch"), "message"), "3 disks of 4");
}

static void a_step_that_is_well_again_has_no_reason(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};

        take(&n, "mounts.failed", "mounts", "away");
        take(&n, "event.step-done", "mounts", "done");
        assert_null(code_of(&n, "mounts"));
}

static void what_another_unit_says_does_not_count(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};

        assert_int_equal(take_of(&n, "evil.service", "event.ready", "node", "all is well"), 0);
        assert_null(n.verdict);
}

static void without_a_word_there_is_no_object(void **state _unused_) {
        NodeReport n = {};

        assert_null(node_report_to_json(&n));
}

static void the_object_has_verdict_message_and_steps(void **state _unused_) {
        _cleanup_(node_report_done) NodeReport n = {};
        _cleanup_json_ json_object *o = NULL;

        take(&n, "scratch.fewer", "scratch", "3 disks of 4");
        take(&n, "event.degraded", "node", "m");
        o = node_report_to_json(&n);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"verdict\":\"degraded\",\"message\":\"m\",\"steps\":{\"scratch\":{\"code\":\"scratch.fewer\",\"message\":\"3 disks of 4\"}}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_verdict_is_kept_with_its_message),
                cmocka_unit_test(a_later_verdict_takes_the_place_of_an_earlier_one),
                cmocka_unit_test(the_reason_of_a_step_is_kept),
                cmocka_unit_test(a_step_that_is_well_again_has_no_reason),
                cmocka_unit_test(what_another_unit_says_does_not_count),
                cmocka_unit_test(without_a_word_there_is_no_object),
                cmocka_unit_test(the_object_has_verdict_message_and_steps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
