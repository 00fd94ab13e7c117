/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

static void overlays_are_found_beside_the_recipes_folder(void **state) {
        put_recipe("x", ", \"overlays\": [\"bad\"]");
        put_overlay("bad", ", \"zebra\": 1");
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
        assert_true(was_logged(*state, "error: overlays/bad/overlay.json: $.zebra"));
        assert_int_equal(chdir("images"), 0);
        assert_int_equal(load(*state, "x.json"), -EINVAL);
        assert_true(was_logged(*state, "error: ../overlays/bad/overlay.json: $.zebra"));
        assert_int_equal(load(*state, "../images/x.json"), -EINVAL);
        assert_true(was_logged(*state, "error: ../overlays/bad/overlay.json: $.zebra"));
}

static void the_first_overlay_folder_wins(void **state) {
        Fixture *f = *state;

        put_recipe("x", ", \"overlays\": [\"one\", \"two\"]");
        put_file("mine/one/overlay.json", "{\"description\": \"mine\"}");
        put_overlay("one", "");
        put_overlay("two", "");
        assert_int_equal(recipe_load("images/x.json", (char *const[]) { "mine", "overlays", NULL },
                                         &f->recipe),
                        0);
        assert_string_equal(f->recipe->overlays[0]->description, "mine");
        assert_string_equal(f->recipe->overlays[1]->description, "the two overlay");
}

static void node_defaults_of_overlays_lie_under_the_recipes(void **state) {
        put_overlay("one",
                        ", \"node\": {\"a\": {\"x\": 1, \"y\": 1, \"z\": 1}, \"list\": [1], \"gone\": true}");
        put_overlay("two", ", \"node\": {\"a\": {\"y\": 2, \"z\": 2}, \"list\": [2]}");
        put_recipe("x", ", \"overlays\": [\"one\", \"two\"], \"node\": {\"a\": {\"z\": 3}, \"gone\": null}");
        Recipe *r = load_good(*state, "images/x.json");
        assert_string_equal(json_object_to_json_string_ext(r->node, JSON_C_TO_STRING_PLAIN),
                        "{\"a\":{\"x\":1,\"y\":2,\"z\":3},\"list\":[2]}");
}

static void one_repository_name_means_one_repository(void **state) {
        static const char repository[] =
                        ", \"repositories\": {\"debian\": [{\"name\": \"vendor\", \"uri\": \"https://%s\","
                        "\"suite\": \"./\", \"key\": \"https://x.example/key\","
                        "\"fingerprint\": \"0123456789abcdef0123456789abcdef01234567\"}]}";
        _cleanup_free_ char *a = strf(repository, "a.example"), *b = strf(repository, "b.example");

        put_overlay("one", a);
        put_overlay("two", a);
        put_recipe("x", ", \"overlays\": [\"one\", \"two\"]");
        load_good(*state, "images/x.json");
        put_overlay("two", b);
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.overlays: overlays \"one\" and \"two\" mean different repositories by "
                        "\"vendor\"; rename one");
}

static void one_of_two_such_may_lie_in_the_archive_by_mistake(void **state) {
        static const char repository[] =
                        ", \"repositories\": {\"debian\": [{\"name\": \"vendor\", %s\"suite\": \"x\","
                        "\"keep\": false, \"key\": \"https://x.example/key\","
                        "\"fingerprint\": \"0123456789abcdef0123456789abcdef01234567\"}]}";
        _cleanup_free_ char *in_archive = strf(repository, ""),
                            *elsewhere = strf(repository, "\"uri\": \"https://a.example\", ");

        put_overlay("one", in_archive);
        put_overlay("two", in_archive);
        put_recipe("x", ", \"overlays\": [\"one\", \"two\"]");
        load_good(*state, "images/x.json");
        put_overlay("two", elsewhere);
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.overlays: overlays \"one\" and \"two\" mean different repositories by "
                        "\"vendor\"; rename one");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(overlays_are_found_beside_the_recipes_folder),
                TEST(the_first_overlay_folder_wins),
                TEST(node_defaults_of_overlays_lie_under_the_recipes),
                TEST(one_repository_name_means_one_repository),
                TEST(one_of_two_such_may_lie_in_the_archive_by_mistake),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
