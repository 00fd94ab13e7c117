/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recipe/merge.h"
#include "shared/strv.h"

static json_object *parse(const char *text) {
        json_object *o = NULL;
        JsonError e;

        assert_int_equal(json_parse(text, strlen(text), &e, &o), 0);
        return o;
}

static void assert_json(json_object *o, const char *expected) {
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), expected);
}

static void assert_recipe(const char *below, const char *above, const char *expected) {
        _cleanup_json_ json_object *into = parse(below), *from = parse(above);
        _cleanup_problems_ Problems p = {};

        assert_int_equal(merge_recipe(&p, "f", into, from), 0);
        assert_json(into, expected);
        assert_int_equal(p.n, 0);
        assert_json(from, above);
}

static void assert_layer(const char *below, const char *above, const char *expected) {
        _cleanup_json_ json_object *into = parse(below), *from = parse(above);

        assert_int_equal(merge_layer(into, from), 0);
        assert_json(into, expected);
}

static void recipes_merge_key_by_key(void **state _unused_) {
        assert_recipe("{\"a\":1,\"b\":{\"c\":1,\"d\":2}}", "{\"b\":{\"d\":3,\"e\":4},\"f\":5}",
                        "{\"a\":1,\"b\":{\"c\":1,\"d\":3,\"e\":4},\"f\":5}");
}

static void recipes_lists_append_and_take_away(void **state _unused_) {
        assert_recipe("{\"l\":[\"a\",\"b\",\"c\"]}", "{\"l\":[\"-b\",\"a\",\"d\"]}",
                        "{\"l\":[\"a\",\"c\",\"d\"]}");
        assert_recipe("{}", "{\"l\":[\"a\"]}", "{\"l\":[\"a\"]}");
        assert_recipe("{\"l\":[\"a\"]}", "{\"l\":[]}", "{\"l\":[\"a\"]}");
}

static void what_was_wrong_in_a_list_is_passed_over(void **state _unused_) {
        assert_recipe("{\"l\":[\"a\"]}", "{\"l\":[null,\"b\"]}", "{\"l\":[\"a\",\"b\"]}");
}

static void extends_is_not_handed_on(void **state _unused_) {
        assert_recipe("{\"name\":\"base\"}", "{\"name\":\"x\",\"extends\":\"base\"}",
                        "{\"name\":\"x\"}");
}

static void taking_away_what_is_not_there_is_a_problem(void **state _unused_) {
        _cleanup_json_ json_object *into = parse("{\"l\":[\"vim\"]}"),
                                   *from = parse("{\"l\":[\"a\",\"-vmi\"]}");
        _cleanup_problems_ Problems p = {};

        assert_int_equal(merge_recipe(&p, "f", into, from), 0);
        assert_int_equal(p.n, 1);
        assert_string_equal(p.lines[0],
                        "f: $.l[1]: there is no \"vmi\" to take away; did you mean \"vim\"?");
}

static void node_config_of_recipes_may_hold_anything(void **state _unused_) {
        assert_recipe("{\"node\":{\"l\":[1,\"x\"],\"k\":1}}",
                        "{\"node\":{\"l\":[1,\"-x\",\"-y\",null,{}],\"k\":null}}",
                        "{\"node\":{\"l\":[1,1,\"-y\",null,{}],\"k\":null}}");
        assert_recipe("{\"node\":{\"a\":{\"b\":1}}}", "{\"node\":{\"a\":[2]}}",
                        "{\"node\":{\"a\":[2]}}");
}

static void layers_replace_lists(void **state _unused_) {
        assert_layer("{\"l\":[1,2],\"o\":{\"a\":1}}", "{\"l\":[3],\"o\":{\"b\":2}}",
                        "{\"l\":[3],\"o\":{\"a\":1,\"b\":2}}");
}

static void a_null_of_a_layer_takes_the_key_away(void **state _unused_) {
        assert_layer("{\"a\":1,\"o\":{\"b\":1,\"c\":2}}",
                        "{\"a\":null,\"o\":{\"b\":null},\"new\":{\"x\":null}}",
                        "{\"o\":{\"c\":2},\"new\":{}}");
}

static void a_layer_may_change_a_keys_type(void **state _unused_) {
        assert_layer("{\"a\":1,\"b\":{\"x\":1}}", "{\"a\":{\"x\":1},\"b\":2}",
                        "{\"a\":{\"x\":1},\"b\":2}");
}

static void what_is_merged_shares_nothing(void **state _unused_) {
        _cleanup_json_ json_object *into = parse("{}"), *from = parse("{\"o\":{\"l\":[1]}}");

        assert_int_equal(merge_layer(into, from), 0);
        assert_int_equal(json_set_int(json_get(into, "o"), "x", 1), 0);
        assert_json(from, "{\"o\":{\"l\":[1]}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(recipes_merge_key_by_key),
                cmocka_unit_test(recipes_lists_append_and_take_away),
                cmocka_unit_test(what_was_wrong_in_a_list_is_passed_over),
                cmocka_unit_test(extends_is_not_handed_on),
                cmocka_unit_test(taking_away_what_is_not_there_is_a_problem),
                cmocka_unit_test(node_config_of_recipes_may_hold_anything),
                cmocka_unit_test(layers_replace_lists),
                cmocka_unit_test(a_null_of_a_layer_takes_the_key_away),
                cmocka_unit_test(a_layer_may_change_a_keys_type),
                cmocka_unit_test(what_is_merged_shares_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
