/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/step-codes.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TABLE "{\"own.code\":{\"meaning\":\"why\",\"remedy\":\"do\"}}"

/* The verdict after the table was put to it; the caller frees it. */
static json_object *explained(const char *verdict) {
        _cleanup_json_ json_object *table = json_tokener_parse(TABLE);
        Step s = { .codes = table };
        json_object *o = json_tokener_parse(verdict);

        step_codes_explain(&s, o);
        return o;
}

static void a_code_of_the_table_gets_its_meaning_and_remedy(void **state) {
        _cleanup_json_ json_object *o = explained("{\"code\":\"own.code\"}");

        (void) state;
        assert_string_equal(json_get_string(o, "meaning"), "why");
        assert_string_equal(json_get_string(o, "remedy"), "do");
}

static void a_remedy_of_the_verdicts_own_stays(void **state) {
        _cleanup_json_ json_object *o = explained("{\"code\":\"own.code\",\"remedy\":\"mine\"}");

        (void) state;
        assert_string_equal(json_get_string(o, "remedy"), "mine");
}

static void another_code_stays_as_it_is(void **state) {
        _cleanup_json_ json_object *o = explained("{\"code\":\"own.other\"}");

        (void) state;
        assert_null(json_get_string(o, "meaning"));
}

static void a_verdict_without_a_code_stays_as_it_is(void **state) {
        _cleanup_json_ json_object *o = explained("{\"status\":\"done\"}");

        (void) state;
        assert_null(json_get_string(o, "meaning"));
}

static void a_good_table_has_no_faults(void **state) {
        _cleanup_json_ json_object *table = json_tokener_parse(TABLE);
        _cleanup_strv_free_ char **errors = NULL;
        Step s = { .name = (char[]) { "own" }, .file = (char[]) { "own.json" } };

        (void) state;
        assert_return_code(step_codes_check(&s, table, &errors), 0);
        assert_null(errors);
}

static void a_code_of_another_step_is_a_fault(void **state) {
        _cleanup_json_ json_object *table = json_tokener_parse(TABLE);
        _cleanup_strv_free_ char **errors = NULL;
        Step s = { .name = (char[]) { "ow" }, .file = (char[]) { "ow.json" } };

        (void) state;
        assert_return_code(step_codes_check(&s, table, &errors), 0);
        assert_int_equal(strv_length(errors), 1);
}

static void a_text_that_would_command_a_terminal_is_a_fault(void **state) {
        static const char *const texts[] = { "\\u001b[2J", "one\\ntwo", "bell\\u0007" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_free_ char *text = strf(
                                "{\"own.code\":{\"meaning\":\"%s\",\"remedy\":\"do\"}}", texts[i]);
                _cleanup_json_ json_object *table = json_tokener_parse(text);
                _cleanup_strv_free_ char **errors = NULL;
                Step s = { .name = (char[]) { "own" }, .file = (char[]) { "own.json" } };

                assert_non_null(table);
                assert_return_code(step_codes_check(&s, table, &errors), 0);
                assert_int_equal(strv_length(errors), 1);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_code_of_the_table_gets_its_meaning_and_remedy),
                cmocka_unit_test(a_remedy_of_the_verdicts_own_stays),
                cmocka_unit_test(another_code_stays_as_it_is),
                cmocka_unit_test(a_verdict_without_a_code_stays_as_it_is),
                cmocka_unit_test(a_good_table_has_no_faults),
                cmocka_unit_test(a_code_of_another_step_is_a_fault),
                cmocka_unit_test(a_text_that_would_command_a_terminal_is_a_fault),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
