/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "daemon/verdict.h"
#include "contract/result.h"
#include "shared/strv.h"

#include <signal.h>

static const Step step = {
        .name = (char *) "a", .retries = 1, .delay_usec = 8, .delay_max_usec = 20
};

static const char *code_of(const char *job_result, const char *unit_result, int32_t status,
                json_object **ret_result) {
        _cleanup_free_ char *message = NULL;
        UnitFacts f = { .exit_status = status };

        snprintf(f.result, sizeof(f.result), "%s", unit_result);
        return verdict_of_unit(&step, job_result, &f, ret_result, &message);
}

static void a_unit_without_a_result_file_is_judged_by_systemd(void **state) {
        json_object *o = NULL;

        (void) state;
        assert_null(code_of("done", "success", 0, &o));
        assert_null(o);
        assert_string_equal(code_of("failed", "exit-code", 1, &o), "step.exit-code");
        assert_string_equal(code_of("failed", "core-dump", 11, &o), "step.signal");
        assert_string_equal(code_of("failed", "oom-kill", 9, &o), "step.oom-kill");
        assert_string_equal(code_of("canceled", "success", 0, &o), "step.no-unit");
        assert_null(o);
}

static void exit_code_75_may_pass(void **state) {
        _cleanup_json_ json_object *o = NULL;

        (void) state;
        assert_null(code_of("failed", "exit-code", EXIT_TRANSIENT, &o));
        assert_true(json_get_bool(o, "transient", false));
        assert_string_equal(json_get_string(o, "code"), "step.exit-code");
}

static void the_steps_own_words_count_unless_it_crashed_after_them(void **state) {
        _cleanup_json_ json_object *own = NULL, *crashed = NULL;

        (void) state;
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"degraded\",\"code\":\"a.b\"}");
        assert_null(code_of("done", "success", 0, &own));
        assert_string_equal(json_get_string(own, "code"), "a.b");
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"done\"}");
        assert_string_equal(code_of("failed", "signal", 9, &crashed), "step.signal");
        assert_null(crashed);
        assert_false(result_exists("a"));
}

static void a_unit_that_was_stopped_while_nobody_looked_is_not_done(void **state) {
        UnitFacts f = { .result = "success", .exit_code = CLD_KILLED, .exit_status = 15 };
        _cleanup_free_ char *message = NULL;
        json_object *o = NULL;

        (void) state;
        assert_string_equal(verdict_of_unit(&step, NULL, &f, &o, &message), "step.no-unit");
        assert_null(o);
        f.exit_code = CLD_EXITED;
        f.exit_status = 0;
        assert_null(verdict_of_unit(&step, NULL, &f, &o, &message));
        assert_null(o);
}

static void that_all_is_well_counts_for_nothing_where_the_job_was_cancelled(void **state) {
        json_object *o = NULL;

        (void) state;
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"done\"}");
        assert_string_equal(code_of("canceled", "success", 0, &o), "step.no-unit");
        assert_null(o);
}

static void verdict_and_exit_code_must_agree(void **state) {
        static const struct {
                const char *words;
                int32_t status;
                bool agrees;
        } cases[] = {
                { "done", 0, true },
                { "degraded", 0, true },
                { "skipped", 0, true },
                { "failed", 0, false },
                { "done", 1, false },
                { "degraded", 75, false },
                { "skipped", 2, false },
                { "failed", 1, true },
                { "failed", 75, true },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text =
                                strf("{\"status\":\"%s\",\"code\":\"x.y\"}", cases[i].words);
                _cleanup_json_ json_object *o = NULL;
                int32_t n = cases[i].status;

                root_put(PATH_RUN_RESULTS "/a.json", text);
                assert_null(code_of(n == 0 ? "done" : "failed", n == 0 ? "success" : "exit-code", n,
                                &o));
                assert_string_equal(json_get_string(o, "code"),
                                cases[i].agrees ? "x.y" : "step.verdict-contradicts");
                assert_string_equal(json_get_string(o, "status"),
                                cases[i].agrees ? cases[i].words : "failed");
                assert_int_equal(json_get_bool(o, "transient", false), n == 75 && cases[i].agrees);
        }
}

static void a_late_verdict_ends_what_was_good_and_nothing_else(void **state) {
        StepRun run = { .name = (char *) "a", .status = STEP_DONE, .completed = true };

        (void) state;
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"failed\",\"message\":\"m\"}");
        verdict_late(&step, &run, NULL); /* it never ran: somebody else's */
        assert_int_equal(run.status, STEP_DONE);

        step_run_add_attempt(&run, 1);
        root_put(PATH_RUN_RESULTS "/a.json", "{\"status\":\"failed\",\"message\":\"m\"}");
        verdict_late(&step, &run, NULL);
        assert_int_equal(run.status, STEP_FAILED);
        assert_false(run.completed);
        assert_string_equal(step_run_code(&run), "step.verdict-late");
        assert_non_null(strstr(json_get_string(run.result, "message"), "\"failed\": m"));
        assert_false(result_is_left_over("a"));
        free(run.attempts);
        json_putp(&run.result);
}

static void a_word_that_is_none_is_a_failure_wherever_it_comes_from(void **state) {
        StepRun run = { .name = (char *) "a" };

        (void) state;
        verdict_give(&step, &run, json_tokener_parse("{\"status\":\"fine\"}"), NULL, NULL);
        assert_int_equal(run.status, STEP_FAILED);
        json_putp(&run.result);
}

static void what_may_pass_is_tried_again_as_often_as_the_step_says(void **state) {
        StepRun run = { .name = (char *) "a" };

        (void) state;
        step_run_add_attempt(&run, 1);
        verdict_give(&step, &run, NULL, "step.timeout", strdup("late"));
        assert_int_equal(run.status, STEP_BACKOFF);
        assert_true(run.retry_usec > 0);
        step_run_add_attempt(&run, 2);
        verdict_give(&step, &run, NULL, "step.timeout", strdup("late"));
        assert_int_equal(run.status, STEP_FAILED);
        assert_string_equal(run.attempts[1].code, "step.timeout");
        assert_false(run.completed);

        step_run_add_attempt(&run, 3);
        verdict_give(&step, &run, NULL, NULL, NULL);
        assert_int_equal(run.status, STEP_DONE);
        assert_string_equal(run.attempts[2].code, "");
        assert_true(run.completed);
        assert_null(run.result);
        free(run.attempts);
}

static void what_a_terminal_would_obey_is_taken_out_of_a_message(void **state) {
        StepRun run = { .name = (char *) "a" };

        (void) state;
        verdict_give(&step, &run,
                        json_tokener_parse(
                                        "{\"status\":\"failed\",\"message\":\"a\\u001b[2Jb\\nc\\u009bd\\u007f \u00e9\"}"),
                        NULL, NULL);
        assert_string_equal(json_get_string(run.result, "message"), "a [2Jb c  d  \xc3\xa9");
        json_putp(&run.result);
}

static void a_failure_without_a_code_gets_one(void **state) {
        StepRun run = { .name = (char *) "a" };

        (void) state;
        verdict_give(&step, &run, json_tokener_parse("{\"status\":\"failed\"}"), NULL, NULL);
        assert_int_equal(run.status, STEP_FAILED);
        assert_string_equal(step_run_code(&run), "step.failed");
        json_putp(&run.result);
}

static void then_it_goes_on_slowly_and_counts_as_failed_meanwhile(void **state) {
        Step s = step;
        StepRun run = { .name = (char *) "a" };

        (void) state;
        s.retries = 0;
        s.slow_usec = 1000;
        for (unsigned i = 1; i < 100; i++) {
                assert_non_null(step_run_add_attempt(&run, i));
                verdict_give(&s, &run, NULL, "step.timeout", strdup("late"));
                assert_int_equal(run.status, STEP_FAILED);
                assert_true(run.slow && run.retry_usec > 0);
                assert_int_equal(step_run_tries(&run), i);
                assert_in_range(run.n_attempts, 1, 2); /* no list without end */
                run.status = STEP_RUNNING;
                assert_int_equal(step_run_standing(&run), STEP_FAILED);
        }

        assert_non_null(step_run_add_attempt(&run, 100));
        verdict_give(&s, &run, NULL, NULL, NULL);
        assert_int_equal(step_run_standing(&run), STEP_DONE);
        assert_false(run.slow);
        assert_int_equal(run.retry_usec, 0);
        free(run.attempts);
}

static json_object *words(const char *status) {
        json_object *o = json_object_new_object();

        assert_return_code(
                        json_set_fields(o, JSON_STRING("status", status),
                                        JSON_STRING("code", "a.b"), JSON_BOOL("transient", true)),
                        0);
        return o;
}

static void a_defect_that_may_pass_is_looked_at_slowly_and_stays_a_defect(void **state) {
        StepRun run = { .name = (char *) "a" };
        Step s = step;

        (void) state;
        s.retries = 1;
        s.slow_usec = 1000;
        for (unsigned i = 1; i < 10; i++) {
                assert_non_null(step_run_add_attempt(&run, i));
                verdict_give(&s, &run, words("degraded"), NULL, NULL);
                assert_int_equal(run.status, STEP_DEGRADED);
                assert_true(run.slow && run.retry_usec > 0);
                assert_true(run.completed);
                run.status = STEP_RUNNING;
                assert_int_equal(step_run_standing(&run), STEP_DEGRADED);
        }

        assert_non_null(step_run_add_attempt(&run, 10));
        verdict_give(&s, &run, words("failed"), NULL, NULL);
        assert_int_equal(step_run_standing(&run), STEP_FAILED);
        assert_true(run.slow && run.retry_usec > 0);
        run.status = STEP_RUNNING;
        assert_int_equal(step_run_standing(&run), STEP_FAILED);

        verdict_give(&s, &run, NULL, NULL, NULL);
        assert_int_equal(step_run_standing(&run), STEP_DONE);
        assert_int_equal(run.retry_usec, 0);
        free(run.attempts);
}

static void without_slow_retries_a_defect_is_left_alone(void **state) {
        StepRun run = { .name = (char *) "a" };

        (void) state;
        verdict_give(&step, &run, words("degraded"), NULL, NULL);
        assert_int_equal(run.status, STEP_DEGRADED);
        assert_false(run.slow);
        assert_int_equal(run.retry_usec, 0);
        json_putp(&run.result);
}

static void what_does_not_pass_is_not_tried_slowly_either(void **state) {
        StepRun run = { .name = (char *) "a" };
        Step s = step;

        (void) state;
        s.slow_usec = 1000;
        verdict_give(&s, &run, json_tokener_parse("{\"status\":\"failed\",\"code\":\"a.b\"}"), NULL,
                        NULL);
        assert_int_equal(run.status, STEP_FAILED);
        assert_false(run.slow);
        assert_int_equal(run.retry_usec, 0);
        json_putp(&run.result);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_unit_without_a_result_file_is_judged_by_systemd),
                TEST(exit_code_75_may_pass),
                TEST(the_steps_own_words_count_unless_it_crashed_after_them),
                TEST(a_unit_that_was_stopped_while_nobody_looked_is_not_done),
                TEST(that_all_is_well_counts_for_nothing_where_the_job_was_cancelled),
                TEST(verdict_and_exit_code_must_agree),
                TEST(a_late_verdict_ends_what_was_good_and_nothing_else),
                TEST(a_word_that_is_none_is_a_failure_wherever_it_comes_from),
                TEST(what_may_pass_is_tried_again_as_often_as_the_step_says),
                TEST(what_a_terminal_would_obey_is_taken_out_of_a_message),
                TEST(a_failure_without_a_code_gets_one),
                TEST(then_it_goes_on_slowly_and_counts_as_failed_meanwhile),
                TEST(a_defect_that_may_pass_is_looked_at_slowly_and_stays_a_defect),
                TEST(without_slow_retries_a_defect_is_left_alone),
                TEST(what_does_not_pass_is_not_tried_slowly_either),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
