/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/json-each.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int note(const JsonSlice *key, const JsonSlice *value, void *userdata) {
        return strv_extendf(userdata, "%.*s|%.*s", key ? (int) key->size : 1, key ? key->text : "-",
                        (int) value->size, value->text);
}

/* A copy without a NUL: the sanitizers see who reads beyond. */
static int each(const char *text, char ***parts) {
        size_t size = strlen(text);
        _cleanup_free_ char *copy = malloc(size + 1);

        memcpy(copy, text, size);
        copy = realloc(copy, MAX(size, (size_t) 1));
        return json_each(copy, size, note, parts);
}

static void assert_each(const char *text, const char *wanted) {
        _cleanup_strv_free_ char **parts = NULL;
        _cleanup_free_ char *joined = NULL;

        assert_int_equal(each(text, &parts), 0);
        joined = strv_join(parts, " ; ");
        assert_string_equal(strempty(joined), wanted);
}

static void members_items_and_values_are_seen(void **state _unused_) {
        assert_each("{\"a\": 1, \"b\" : {\"c\": [2, 3]}}", "a|1 ; b|{\"c\": [2, 3]}");
        assert_each(" [ {\"x\":1} , \"two\", null ] ", "-|{\"x\":1} ; -|\"two\" ; -|null");
        assert_each("{\"a\":1}\n{\"b\":2}\n", "-|{\"a\":1} ; -|{\"b\":2}");
        assert_each("{}", "");
        assert_each("[ ]", "");
}

static void brackets_in_strings_are_no_brackets(void **state _unused_) {
        assert_each("{\"}\\\"{\": \"]\\\\\", \"b\": [\"}\", \"\\\"\"]}",
                        "}\\\"{|\"]\\\\\" ; b|[\"}\", \"\\\"\"]");
}

static void what_does_not_end_is_refused(void **state _unused_) {
        const char *const bad[] = { "", "7", "text", "{", "[", "{\"a\"", "{\"a\":", "{\"a\": 1",
                "{\"a\": \"", "{\"a\": \"\\", "[1", "[1,", "[1 2]", "{\"a\" 1}", "{a: 1}", "[[1]",
                "{\"a\": 1,}", "{\"a\": }" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_strv_free_ char **parts = NULL;

                if (each(bad[i], &parts) != -EBADMSG)
                        fail_msg("%s is taken", bad[i]);
        }
}

static int stop(const JsonSlice *key _unused_, const JsonSlice *value _unused_, void *userdata) {
        return ++*(int *) userdata == 2 ? 7 : 0;
}

static void a_visit_may_end_it(void **state _unused_) {
        int n = 0;

        assert_int_equal(json_each("[1, 2, 3]", 9, stop, &n), 7);
        assert_int_equal(n, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members_items_and_values_are_seen),
                cmocka_unit_test(brackets_in_strings_are_no_brackets),
                cmocka_unit_test(what_does_not_end_is_refused),
                cmocka_unit_test(a_visit_may_end_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
