/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/result.h"
#include "shared/strv.h"

#include <sys/stat.h>

static void a_verdict_is_an_object_with_a_known_status_and_fields_of_the_right_types(void **state) {
        static const struct {
                const char *text, *code;
        } cases[] = {
                { "{\"status\":\"done\"}", NULL },
                { "{\"status\":\"failed\",\"code\":\"a.b-c_d\",\"message\":\"m\",\"transient\":true}",
                                NULL },
                { "{\"status\":\"skipped\",\"code\":null,\"figures\":{\"n\":1}}", NULL },
                { "{\"status\":\"fail\"}", "step.verdict-unknown" },
                { "{\"status\":\"Done\"}", "step.verdict-unknown" },
                { "{\"status\":\"\"}", "step.verdict-unknown" },
                { "{\"status\":null}", "step.verdict-unknown" },
                { "{}", "step.verdict-unknown" },
                { "", "step.verdict-unreadable" },
                { "done", "step.verdict-unreadable" },
                { "[]", "step.verdict-unreadable" },
                { "null", "step.verdict-unreadable" },
                { "{\"status\":\"done\"} {\"status\":\"failed\"}", "step.verdict-unreadable" },
                { "{\"status\":\"failed\",\"status\":\"done\"}", "step.verdict-unreadable" },
                { "{\"status\":true}", "step.verdict-unreadable" },
                { "{\"status\":\"done\",\"code\":\"a b\"}", "step.verdict-unreadable" },
                { "{\"status\":\"done\",\"code\":\"\"}", "step.verdict-unreadable" },
                { "{\"status\":\"done\",\"code\":7}", "step.verdict-unreadable" },
                { "{\"status\":\"failed\",\"transient\":\"yes\"}", "step.verdict-unreadable" },
                { "{\"status\":\"done\",\"figures\":[]}", "step.verdict-unreadable" },
                { "{\"status\":\"done\",\"message\":\"\xff\"}", "step.verdict-unreadable" },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_json_ json_object *o = NULL;
                _cleanup_free_ char *message = NULL;
                const char *code = result_parse(cases[i].text, strlen(cases[i].text), &o, &message);

                if (!streq_ptr(code, cases[i].code))
                        fail_msg("%s: %s", cases[i].text, strempty(code));
                assert_int_equal(!code, !message);
        }
}

static void each_attempt_has_a_place_of_its_own(void **state) {
        _cleanup_strv_free_ char **names = NULL, **none = NULL;
        _cleanup_free_ char *by_hand = result_path("a"), *first = NULL, *second = NULL;

        (void) state;
        assert_true(endswith(by_hand, "/a.json"));
        assert_return_code(result_begin("a", &none), 0);
        assert_null(none);
        first = result_path("a");
        assert_return_code(write_file_atomic(first, "{}", 2, 0600), 0);
        root_put(PATH_RUN_RESULTS "/ab.json", "{}");
        assert_true(result_exists("a"));

        assert_return_code(result_begin("a", &names), 0);
        second = result_path("a");
        assert_string_not_equal(first, second);
        assert_int_equal(strv_length(names), 1);
        assert_true(endswith(first, names[0]));
        assert_false(result_exists("a"));
        assert_true(result_exists("ab"));
}

static void an_id_that_is_none_leads_nowhere(void **state) {
        _cleanup_free_ char *path = NULL;

        (void) state;
        root_put(PATH_RUN_RESULTS "/a.attempt", "../../../etc/passwd");
        path = result_path("a");
        assert_true(endswith(path, PATH_RUN_RESULTS "/a.json"));
}

static const char *take(json_object **ret) {
        _cleanup_free_ char *message = NULL;
        const char *code = result_take("a", ret, &message);

        assert_int_equal(!code, !message);
        return code;
}

static void of_two_verdicts_only_the_attempts_own_failure_counts(void **state) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *path = NULL;

        (void) state;
        assert_return_code(result_begin("a", &names), 0);
        path = result_path("a");
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"done\"}");
        assert_return_code(write_file_atomic(path, "{\"status\":\"failed\"}", 19, 0600), 0);
        assert_null(take(&o));
        assert_string_equal(json_get_string(o, "status"), "failed");
        assert_false(result_is_left_over("a"));
        json_putp(&o);
        o = NULL;

        root_put(PATH_RUN_RESULTS "/a.0123456789abcdef0123456789abcdef.json",
                        "{\"status\":\"done\"}");
        assert_string_equal(take(&o), "step.verdict-stale");
        assert_null(o);
        assert_null(take(&o));
        assert_null(o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_verdict_is_an_object_with_a_known_status_and_fields_of_the_right_types),
                TEST(each_attempt_has_a_place_of_its_own),
                TEST(an_id_that_is_none_leads_nowhere),
                TEST(of_two_verdicts_only_the_attempts_own_failure_counts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
