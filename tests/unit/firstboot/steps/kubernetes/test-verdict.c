/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/common/own-reason.h"
#include "steps/kubernetes/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PLAIN "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}"

static json_object *parse(const char *text) {
        json_object *o = json_tokener_parse(text);

        assert_non_null(o);
        return o;
}

/* RFC 7396, as far as these patches go. */
static json_object *merge(json_object *to, json_object *patch) {
        json_object_object_foreach (patch, key, value) {
                json_object *is = json_get(to, key);

                if (!value)
                        json_object_object_del(to, key);
                else if (json_object_is_type(value, json_type_object) && is)
                        merge(is, value);
                else
                        json_object_object_add(to, key, json_object_get(value));
        }
        return to;
}

/* The patch, and the node as it is with it. False where there is nothing to change. */
static bool apply(json_object *node, const char *reason, bool taint) {
        _cleanup_json_ json_object *patch = NULL;

        assert_int_equal(verdict_patch(node, reason, taint, &patch), 0);
        if (!patch)
                return false;
        assert_string_equal(json_get_string(json_get(patch, "metadata"), "resourceVersion"), "7");
        merge(node, patch);
        return true;
}

static void what_is_held_is_let_go_again(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(PLAIN);
        _cleanup_free_ char *reason = own_reason("gpu.missing", "7 of 8");
        NodeView view;

        assert_true(apply(node, reason, true));
        node_view(node, &view);
        assert_true(view.cordoned && view.cordon_ours && view.tainted && view.taint_ours);
        assert_false(apply(node, reason, true));

        assert_true(apply(node, NULL, true));
        node_view(node, &view);
        assert_false(view.cordoned || view.tainted || view.marked);
        assert_false(apply(node, NULL, true));
}

static void another_reason_replaces_the_first(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(PLAIN);
        _cleanup_free_ char *one = own_reason("gpu.missing", "a"),
                            *two = own_reason("nccl.slow", "b");
        NodeView view;

        assert_true(apply(node, one, true));
        assert_true(apply(node, two, true));
        node_view(node, &view);
        assert_true(view.cordon_ours && view.taint_ours);
        assert_int_equal(json_array_length(json_get(json_get(node, "spec"), "taints")), 1);
}

static void what_is_somebody_elses_stays(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(
                        "{\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"a\":\"b\"}},"
                        "\"spec\":{\"unschedulable\":true,\"taints\":["
                        "{\"key\":\"gpu\",\"value\":\"x\",\"effect\":\"NoSchedule\"},"
                        "{\"key\":\"imgbuild.org/not-ready\",\"value\":\"x\",\"effect\":\"NoExecute\"}]}}");
        _cleanup_free_ char *before = strdup(json_object_to_json_string(node)),
                            *reason = own_reason("gpu.missing", "7 of 8");
        NodeView view;

        assert_true(apply(node, reason, true));
        node_view(node, &view);
        assert_true(view.cordoned && !view.cordon_ours && view.taint_ours);
        assert_true(apply(node, NULL, true));
        assert_string_equal(json_object_to_json_string(node), before);
}

static void who_may_not_taint_still_cordons(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(PLAIN);
        _cleanup_free_ char *reason = own_reason("gpu.missing", "a");
        NodeView view;

        assert_true(apply(node, reason, false));
        node_view(node, &view);
        assert_true(view.cordon_ours && !view.tainted);
        assert_true(apply(node, NULL, false));
        node_view(node, &view);
        assert_false(view.cordoned || view.marked);
}

/* Else nobody would know any more whose it is. */
static void a_taint_that_cannot_be_lifted_keeps_its_annotation(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(PLAIN);
        _cleanup_free_ char *reason = own_reason("gpu.missing", "a"),
                            *two = own_reason("nccl.slow", "b");
        NodeView view;

        assert_true(apply(node, reason, true));
        assert_true(apply(node, two, false));
        node_view(node, &view);
        assert_true(view.taint_ours && view.cordon_ours);
        assert_true(apply(node, NULL, false));
        node_view(node, &view);
        assert_true(view.taint_ours && !view.cordoned);
        assert_true(apply(node, NULL, true));
        node_view(node, &view);
        assert_false(view.tainted || view.marked);
}

/* A site's own codes may be what no value of a taint may be. */
static void a_taints_value_is_one(void **state _unused_) {
        static const char *const codes[] = { "site.it-is_bad.", "site.x~y",
                "site.0123456789012345678901234567890123456789012345678901234567890123456789" };

        for (size_t i = 0; i < ELEMENTSOF(codes); i++) {
                _cleanup_json_ json_object *node = parse(PLAIN);
                _cleanup_free_ char *reason = own_reason(codes[i], "a");
                const char *value;
                NodeView view;

                assert_true(apply(node, reason, true));
                value = json_get_string(
                                json_object_array_get_idx(
                                                json_get(json_get(node, "spec"), "taints"), 0),
                                "value");
                assert_true(strlen(value) <= 63 && !strpbrk(value, "~ "));
                assert_false(strchr("-_.", value[strlen(value) - 1]));
                node_view(node, &view);
                assert_true(view.taint_ours);
        }
}

static void a_node_without_version_is_not_written(void **state _unused_) {
        static const char *const texts[] = { "{}", "{\"metadata\":7}",
                "{\"metadata\":[],\"spec\":1}", "{\"metadata\":{\"resourceVersion\":\"\"}}" };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_json_ json_object *node = parse(texts[i]), *patch = NULL;

                assert_int_equal(verdict_patch(node, NULL, true, &patch), -EBADMSG);
                assert_null(patch);
        }
}

static void any_json_is_looked_at(void **state _unused_) {
        static const char *const texts[] = {
                "{\"status\":\"Failure\",\"spec\":[],\"metadata\":\"a\"}",
                "{\"spec\":{\"taints\":{\"key\":1},\"unschedulable\":\"yes\"},\"status\":{\"conditions\":7,\"nodeInfo\":[]}}",
                "{\"spec\":{\"taints\":[null,7,\"a\",{\"key\":null}]},\"status\":{\"conditions\":[null,[]]}}"
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_json_ json_object *node = parse(texts[i]);
                NodeView view;

                node_view(node, &view);
                assert_false(view.cordoned || view.tainted || view.ready || view.marked);
        }
}

static void the_condition_changes_with_the_verdict_alone(void **state _unused_) {
        _cleanup_json_ json_object *node = parse(PLAIN), *one = NULL, *two = NULL, *three = NULL;
        json_object *c;

        assert_int_equal(verdict_condition(node, "gpu.missing", "a", "T1", &one), 0);
        json_object_object_add(node, "status", json_object_get(json_get(one, "status")));
        assert_int_equal(verdict_condition(node, "gpu.missing", "a", "T2", &two), 0);
        assert_null(two);
        assert_int_equal(verdict_condition(node, "gpu.slow", "b", "T2", &two), 0);
        c = json_object_array_get_idx(json_get(json_get(two, "status"), "conditions"), 0);
        assert_string_equal(json_get_string(c, "status"), "False");
        assert_string_equal(json_get_string(c, "reason"), "gpu.slow");
        assert_string_equal(json_get_string(c, "lastTransitionTime"), "T1");
        assert_int_equal(verdict_condition(node, NULL, NULL, "T3", &three), 0);
        c = json_object_array_get_idx(json_get(json_get(three, "status"), "conditions"), 0);
        assert_string_equal(json_get_string(c, "status"), "True");
        assert_string_equal(json_get_string(c, "lastTransitionTime"), "T3");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_held_is_let_go_again),
                cmocka_unit_test(another_reason_replaces_the_first),
                cmocka_unit_test(what_is_somebody_elses_stays),
                cmocka_unit_test(who_may_not_taint_still_cordons),
                cmocka_unit_test(a_taint_that_cannot_be_lifted_keeps_its_annotation),
                cmocka_unit_test(a_taints_value_is_one),
                cmocka_unit_test(a_node_without_version_is_not_written),
                cmocka_unit_test(any_json_is_looked_at),
                cmocka_unit_test(the_condition_changes_with_the_verdict_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
