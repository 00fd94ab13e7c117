/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "check-fixture.h"

static void findings_and_facts_as_json(void **state _unused_) {
        _cleanup_(findings_done) Findings f = {};
        _cleanup_json_ json_object *o = NULL;

        assert_int_equal(finding_add(&f, "x.y", strdup("found"), strdup("remedy")), 0);
        assert_int_equal(findings_fact(&f, "kernel", "6.12"), 0);
        f.installed = json_object_new_array();
        assert_int_equal(findings_to_json(&f, &o), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"findings\":[{\"rule\":\"x.y\",\"level\":\"error\",\"found\":\"found\",\"remedy\":\"remedy\"}],"
                        "\"versions\":{\"kernel\":\"6.12\"},\"installed\":[]}");
}

static void without_facts_there_is_no_key(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;

        assert_int_equal(findings_to_json(&(Findings) {}, &o), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"findings\":[]}");
}

static void a_missing_text_is_out_of_memory(void **state _unused_) {
        _cleanup_(findings_done) Findings f = {};

        assert_int_equal(finding_add(&f, "x.y", strdup("found"), NULL), -ENOMEM);
        assert_int_equal(f.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(findings_and_facts_as_json),
                cmocka_unit_test(without_facts_there_is_no_key),
                cmocka_unit_test(a_missing_text_is_out_of_memory),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
