/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

static void put_extending(const char *name, const char *extends, const char *keys) {
        _cleanup_free_ char *path = strf("images/%s.json", name);
        _cleanup_free_ char *text =
                        strf("{\"name\": \"%s\", \"extends\": \"%s\"%s}", name, extends, keys);

        put_file(path, text);
}

static void assert_strv(char *const *l, const char *expected) {
        _cleanup_free_ char *joined = strv_join(l, " ");
        assert_string_equal(joined, expected);
}

static void single_values_replace(void **state) {
        put_recipe("base", ", \"disk\": {\"size\": \"8G\", \"filesystem\": \"xfs\"}");
        put_extending("x", "base",
                        ", \"disk\": {\"size\": \"9G\"}, \"base\": {\"release\": \"forky\"}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_string_equal(r->name, "x");
        assert_int_equal(r->disk.size, UINT64_C(9) << 30);
        assert_string_equal(r->disk.filesystem, "xfs");
        assert_string_equal(r->base.release, "forky");
        assert_string_equal(r->base.distro, "debian");
}

static void lists_append(void **state) {
        put_recipe("base", ", \"packages\": [\"vim\", \"htop\"]");
        put_extending("x", "base", ", \"packages\": [\"jq\", \"vim\"]");
        assert_strv(load_good(*state, "images/x.json")->packages, "vim htop jq");
}

static void a_minus_removes(void **state) {
        put_recipe("base",
                        ", \"packages\": [\"vim\", \"htop\"], \"disk\": {\"firmware\": [\"uefi\", \"bios\"]}");
        put_extending("x", "base",
                        ", \"packages\": [\"-vim\", \"jq\"], \"disk\": {\"firmware\": [\"-bios\"]}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_strv(r->packages, "htop jq");
        assert_strv(r->disk.firmware, "uefi");
}

static void a_minus_and_the_name_again_moves_it_to_the_end(void **state) {
        put_recipe("base", ", \"packages\": [\"vim\", \"htop\"]");
        put_extending("x", "base", ", \"packages\": [\"-vim\", \"vim\"]");
        assert_strv(load_good(*state, "images/x.json")->packages, "htop vim");
}

static void removing_what_is_not_there_is_refused(void **state) {
        put_recipe("base", ", \"packages\": [\"htop\"]");
        put_extending("x", "base", ", \"packages\": [\"-hotp\"]");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.packages[0]: there is no \"hotp\" to take away; did you mean \"htop\"?");
}

static void extending_goes_on_for_several_files(void **state) {
        put_recipe("a", ", \"packages\": [\"aa\"]");
        put_extending("b", "a", ", \"packages\": [\"bb\"]");
        put_extending("c", "b", ", \"packages\": [\"cc\", \"-aa\"]");
        assert_strv(load_good(*state, "images/c.json")->packages, "bb cc");
}

static void a_path_leads_to_another_folder(void **state) {
        put_recipe("base", ", \"packages\": [\"vim\"]");
        put_file("site/x.json", "{\"name\": \"x\", \"extends\": \"../images/base.json\"}");
        assert_strv(load_good(*state, "site/x.json")->packages, "vim");
}

/* A recipe of another folder, with an overlay of that folder's shelf. */
static void put_other_folder(void) {
        put_file("other/overlays/theirs/overlay.json", "{\"description\": \"the other's\"}");
        put_file("other/images/base.json",
                        "{\"name\": \"base\", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\"},"
                        "\"kernel\": {\"package\": \"linux-image-amd64\"}, \"overlays\": [\"theirs\"]}");
}

static void a_recipe_of_another_folder_brings_its_overlays(void **state) {
        put_other_folder();
        put_overlay("mine", ", \"requires\": [\"theirs\"]");
        put_extending("x", "../other/images/base.json", ", \"overlays\": [\"mine\"]");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->n_overlays, 2);
        assert_non_null(endswith(r->overlays[0]->path, "/other/overlays/theirs"));
        assert_string_equal(r->overlays[1]->name, "mine");
}

static void an_overlay_of_ones_own_wins_and_that_is_told(void **state) {
        Fixture *f = *state;

        put_other_folder();
        put_overlay("theirs", "");
        put_extending("x", "../other/images/base.json", "");
        assert_int_equal(load(f, "images/x.json"), 0);
        assert_string_equal(f->recipe->overlays[0]->description, "the theirs overlay");
        assert_int_equal(strv_length(f->lines), 1);
        assert_true(was_logged(f,
                        "overlays/theirs/overlay.json is taken for overlay \"theirs\", not "
                        "images/../other/overlays/theirs/overlay.json"));
}

static void an_overlay_is_looked_for_in_both_shelves(void **state) {
        put_other_folder();
        put_extending("x", "../other/images/base.json", ", \"overlays\": [\"their\"]");
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
        assert_true(was_logged(*state,
                        "there is no overlay \"their\" in overlays or images/../other/overlays or "));
        assert_true(was_logged(*state, "did you mean \"theirs\"?"));
}

static void a_shipped_recipe_needs_a_name(void **state) {
        put_extending("x", "imgbuild:../x", "");
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
        assert_true(was_logged(*state, "\"imgbuild:../x\" names no recipe of imgbuild's own"));
}

static void an_absolute_path_is_refused(void **state) {
        put_extending("x", "/etc/x", "");
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
        assert_true(was_logged(*state,
                        "images/x.json: $.extends: \"/etc/x\" is neither the name of a recipe"));
}

static void a_missing_one_suggests_its_neighbour(void **state) {
        put_recipe("debian-13", "");
        put_extending("x", "debian-12", "");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.extends: there is no recipe images/debian-12.json; did you mean \"debian-13\"?");
}

static void a_circle_shows_its_way(void **state) {
        put_extending("a", "b", "");
        put_extending("b", "c", "");
        put_extending("c", "b", "");
        assert_refused(*state, "images/a.json",
                        "images/c.json: $.extends: recipes extend each other in a circle: images/b.json → images/c.json → "
                        "images/b.json");
}

static void extending_itself_is_a_circle(void **state) {
        put_extending("a", "./a.json", "");
        assert_refused(*state, "images/a.json",
                        "images/a.json: $.extends: recipes extend each other in a circle: images/a.json → images/a.json");
}

static void a_circle_through_a_link_is_one_too(void **state) {
        put_extending("a", "b", "");
        assert_int_equal(symlink("a.json", "images/b.json"), 0);
        assert_int_equal(load(*state, "images/a.json"), -EINVAL);
        assert_true(was_logged(*state, "in a circle: images/a.json → images/a.json"));
}

static void a_broken_file_in_the_chain_is_the_only_error(void **state) {
        put_file("images/base.json", "{");
        put_extending("x", "base", ", \"packages\": [\"-vim\"]");
        assert_refused(*state, "images/x.json",
                        "images/base.json:1:2: the file ends in the middle of a value");
}

static void errors_of_extended_files_name_them(void **state) {
        put_recipe("base", ", \"packges\": []");
        put_extending("x", "base", "");
        assert_refused(*state, "images/x.json",
                        "images/base.json: $.packges: unknown key; did you mean \"packages\"?");
}

static void an_overlay_taken_away_is_gone(void **state) {
        put_overlay("one", "");
        put_overlay("two", "");
        put_recipe("base", ", \"overlays\": [\"one\", \"two\"]");
        put_extending("x", "base", ", \"overlays\": [\"-one\"]");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->n_overlays, 1);
        assert_string_equal(r->overlays[0]->name, "two");
}

static void nothing_brings_back_what_was_taken_away(void **state) {
        put_overlay("one", "");
        put_overlay("two", ", \"requires\": [\"one\"]");
        put_recipe("base", ", \"overlays\": [\"one\", \"two\"]");
        put_extending("x", "base", ", \"overlays\": [\"-one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/two/overlay.json: $.requires[0]: requires overlay \"one\", which the recipe takes away; "
                        "take \"two\" away too");
}

static void node_config_appends_too(void **state) {
        put_recipe("base",
                        ", \"node\": {\"list\": [1, \"a\"], \"deep\": {\"k\": 1, \"null\": null}}");
        put_extending("x", "base",
                        ", \"node\": {\"list\": [\"-a\", \"-b\", 1], \"deep\": {\"l\": 2}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_string_equal(json_object_to_json_string_ext(r->node, JSON_C_TO_STRING_PLAIN),
                        "{\"list\":[1,\"-b\",1],\"deep\":{\"k\":1,\"l\":2}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(single_values_replace),
                TEST(lists_append),
                TEST(a_minus_removes),
                TEST(a_minus_and_the_name_again_moves_it_to_the_end),
                TEST(removing_what_is_not_there_is_refused),
                TEST(extending_goes_on_for_several_files),
                TEST(a_path_leads_to_another_folder),
                TEST(a_recipe_of_another_folder_brings_its_overlays),
                TEST(an_overlay_of_ones_own_wins_and_that_is_told),
                TEST(an_overlay_is_looked_for_in_both_shelves),
                TEST(a_shipped_recipe_needs_a_name),
                TEST(an_absolute_path_is_refused),
                TEST(a_missing_one_suggests_its_neighbour),
                TEST(a_circle_shows_its_way),
                TEST(extending_itself_is_a_circle),
                TEST(a_circle_through_a_link_is_one_too),
                TEST(a_broken_file_in_the_chain_is_the_only_error),
                TEST(errors_of_extended_files_name_them),
                TEST(an_overlay_taken_away_is_gone),
                TEST(nothing_brings_back_what_was_taken_away),
                TEST(node_config_appends_too),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
