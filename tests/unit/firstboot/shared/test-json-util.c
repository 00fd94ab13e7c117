/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/strv.h"

static void lookups_answer_the_default_for_another_type(void **state _unused_) {
        _cleanup_json_ json_object *o =
                        json_tokener_parse("{\"s\": \"x\", \"n\": 3, \"b\": true, \"z\": null}");

        assert_null(json_get_string(o, "n"));
        assert_int_equal(json_get_int(o, "s", -1), -1);
        assert_true(json_get_bool(o, "b", false));
        assert_true(json_get_bool(o, "n", true));
        assert_null(json_get(o, "z"));
        assert_null(json_get(NULL, "s"));
        assert_null(json_get(json_get(o, "s"), "t"));
}

static void only_an_array_has_a_length(void **state _unused_) {
        _cleanup_json_ json_object *o = json_tokener_parse(
                        "{\"a\":[1,[2,3]],\"none\":[],\"s\":\"abc\",\"o\":{\"k\":1}}");

        assert_int_equal(json_array_length(json_get(o, "a")), 2);
        assert_int_equal(json_array_length(json_get(o, "none")), 0);
        assert_int_equal(json_array_length(json_get(o, "s")), 0);
        assert_int_equal(json_array_length(json_get(o, "o")), 0);
        assert_int_equal(json_array_length(NULL), 0);
}

static void saving_and_loading_gives_the_same(void **state _unused_) {
        char folder[] = "/tmp/imgbuild-json.XXXXXX";
        _cleanup_json_ json_object *o = json_tokener_parse("{\"a\": [1, \"/x\"]}"), *again = NULL;
        _cleanup_free_ char *path = NULL, *text = NULL;
        JsonError e = {};
        struct stat st;

        assert_non_null(mkdtemp(folder));
        path = path_join(folder, "x.json");
        assert_int_equal(json_save(path, o, 0640), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(json_load(path, 1000, &e, &again), 0);
        assert_true(json_object_equal(o, again));
        assert_int_equal(read_file(path, 1000, &text, NULL), 0);
        assert_true(endswith(text, "}\n"));
        assert_null(strstr(text, "\\/"));
        rm_rf(folder);
}

static void set_helpers_build_an_object(void **state _unused_) {
        _cleanup_json_ json_object *o = json_object_new_object();

        assert_int_equal(json_set_string(o, "s", "x"), 0);
        assert_int_equal(json_set_string(o, "absent", NULL), 0);
        assert_int_equal(json_set_int(o, "n", INT64_MIN), 0);
        assert_int_equal(json_set(o, "none", NULL), -ENOMEM);
        assert_int_equal(json_object_object_length(o), 2);
        assert_int_equal(json_get_int(o, "n", 0), INT64_MIN);
}

static void many_fields_are_set_at_once(void **state _unused_) {
        _cleanup_json_ json_object *o = json_object_new_object();

        assert_int_equal(json_set_fields(o, JSON_STRING("s", "x"), JSON_STRING("none", NULL),
                                         JSON_INT("i", 7), JSON_BOOL("b", true),
                                         JSON_DOUBLE("d", 0.5),
                                         JSON_TAKE("o", json_object_new_array()),
                                         JSON_TAKE("nothing", NULL)),
                        0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"s\":\"x\",\"i\":7,\"b\":true,\"d\":0.5,\"o\":[]}");
}

static void objects_are_taken_where_there_is_nothing_to_put_them_into(void **state _unused_) {
        json_object *taken = json_object_new_array();

        json_object_get(taken);
        assert_int_equal(json_set_fields(NULL, JSON_INT("i", 1), JSON_TAKE("o", taken)), -ENOMEM);
        assert_int_equal(json_object_put(taken), 1); /* the last reference was ours */
}

static void arrays_and_objects_grow_in_place(void **state _unused_) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = NULL, *child = NULL, *last = NULL;

        assert_int_equal(json_add_array(o, "list", &list), 0);
        assert_int_equal(json_append(list, json_object_new_string("x")), 0);
        assert_int_equal(json_append(list, NULL), -ENOMEM);
        assert_int_equal(json_append_object(list, &last), 0);
        assert_int_equal(json_set_int(last, "n", 1), 0);
        assert_int_equal(json_add_object(o, "child", &child), 0);
        assert_int_equal(json_set_string(child, "y", "z"), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"list\":[\"x\",{\"n\":1}],\"child\":{\"y\":\"z\"}}");
}

static void an_array_comes_with_its_one_object(void **state _unused_) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *item = NULL;

        assert_int_equal(json_add_array_of_one(o, "list", &item), 0);
        assert_int_equal(json_set_int(item, "n", 1), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"list\":[{\"n\":1}]}");
}

static void texts_at_any_depth_are_disarmed(void **state _unused_) {
        _cleanup_json_ json_object *o = json_tokener_parse(
                        "{\"a\": [\"\\u001b[2J\", {\"b\": \"x\\ny\\u009b\"}], \"n\": 3, \"none\": null}");

        assert_int_equal(json_disarm(o, false), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"a\":[\"?[2J\",{\"b\":\"x?y??\"}],\"n\":3,\"none\":null}");
}

static void lines_stay_where_they_may(void **state _unused_) {
        _cleanup_json_ json_object *o = json_tokener_parse("[\"x\\ny\\u0007\"]");

        assert_int_equal(json_disarm(o, true), 0);
        assert_string_equal(json_object_get_string(json_object_array_get_idx(o, 0)), "x\ny?");
}

static void a_value_as_text_is_what_a_string_says(void **state _unused_) {
        static const char text[] = "{\"a\": \"x/y z\", \"n\": 3, \"l\": [\"x\", true]}";
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_int_equal(json_parse(text, strlen(text), &e, &o), 0);
        assert_string_equal(json_as_text(json_get(o, "a")), "x/y z");
        assert_string_equal(json_as_text(json_get(o, "n")), "3");
        assert_string_equal(json_as_text(json_get(o, "l")), "[\"x\",true]");
        assert_string_equal(json_line(o), "{\"a\":\"x/y z\",\"n\":3,\"l\":[\"x\",true]}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lookups_answer_the_default_for_another_type),
                cmocka_unit_test(only_an_array_has_a_length),
                cmocka_unit_test(saving_and_loading_gives_the_same),
                cmocka_unit_test(set_helpers_build_an_object),
                cmocka_unit_test(many_fields_are_set_at_once),
                cmocka_unit_test(arrays_and_objects_grow_in_place),
                cmocka_unit_test(an_array_comes_with_its_one_object),
                cmocka_unit_test(texts_at_any_depth_are_disarmed),
                cmocka_unit_test(lines_stay_where_they_may),
                cmocka_unit_test(objects_are_taken_where_there_is_nothing_to_put_them_into),
                cmocka_unit_test(a_value_as_text_is_what_a_string_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
