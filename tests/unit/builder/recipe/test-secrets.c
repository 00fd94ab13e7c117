/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#define FOR_ONE ", \"overlays\": [\"one\", \"two\"], \"secrets\": {\"token\": \"one\"}"

static void put_asking(const char *overlay, size_t scripts) {
        _cleanup_free_ char *script = strf("overlays/%s/run.sh", overlay);

        put_script(script);
        put_overlay(overlay,
                        scripts == 0 ? ""
                        : scripts == 1 ? ", \"run\": [{\"script\": \"run.sh\", \"secrets\": [\"token\"]}]"
                                       : ", \"run\": [{\"script\": \"run.sh\", \"secrets\": [\"token\"]},"
                                         "{\"script\": \"run.sh\", \"early\": true, \"secrets\": [\"token\"]}]");
}

static void the_recipe_gives_a_secret_to_one_script(void **state) {
        put_asking("one", 1);
        put_asking("two", 0);
        put_recipe("x", FOR_ONE);
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->n_secrets, 1);
        assert_string_equal(r->secrets[0].name, "token");
        assert_string_equal(r->secrets[0].overlay, "one");
        assert_true(strv_contains(r->overlays[0]->run[0].secrets, "token"));
}

static void another_overlay_does_not_get_it(void **state) {
        put_asking("one", 1);
        put_asking("two", 1);
        put_recipe("x", FOR_ONE);
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.secrets: overlay \"two\" asks for the secret \"token\", which is for \"one\"");
}

static void what_the_recipe_does_not_give_nobody_gets(void **state) {
        put_asking("one", 1);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.secrets: overlay \"one\" asks for the secret \"token\"; if it is to get it: \"secrets\": {\"token\": \"one\"}");
}

static void a_secret_is_for_one_script(void **state) {
        put_asking("one", 2);
        put_asking("two", 0);
        put_recipe("x", FOR_ONE);
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.secrets.token: 2 scripts of overlay \"one\" ask for it, and a secret is for one");
}

static void a_secret_that_nobody_wants_is_told(void **state) {
        put_asking("one", 0);
        put_asking("two", 0);
        put_recipe("x", FOR_ONE);
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.secrets.token: no script of overlay \"one\" asks for it");
        put_recipe("x", ", \"overlays\": [\"two\"], \"secrets\": {\"token\": \"one\"}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.secrets.token: the recipe has no overlay \"one\"");
}

static void a_name_that_is_a_path_is_none(void **state) {
        put_asking("one", 0);
        put_recipe("x", ", \"overlays\": [\"one\"], \"secrets\": {\"../token\": \"one\"}");
        assert_int_not_equal(load(*state, "images/x.json"), 0);
        assert_true(was_logged(*state, "\"../token\" is not a secret's name"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(the_recipe_gives_a_secret_to_one_script),
                TEST(another_overlay_does_not_get_it),
                TEST(what_the_recipe_does_not_give_nobody_gets),
                TEST(a_secret_is_for_one_script),
                TEST(a_secret_that_nobody_wants_is_told),
                TEST(a_name_that_is_a_path_is_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
