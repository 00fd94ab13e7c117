/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "shared/time-util.h"

static void assert_order(Fixture *f, const char *named, const char *expected) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *keys = strf(", \"overlays\": [%s]", named), *joined = NULL;

        put_recipe("x", keys);
        Recipe *r = load_good(f, "images/x.json");
        for (size_t i = 0; i < r->n_overlays; i++)
                assert_int_equal(strv_extend(&names, r->overlays[i]->name), 0);
        joined = strv_join(names, " ");
        assert_string_equal(joined, expected);
}

static void the_recipes_order_holds(void **state) {
        put_overlay("a", "");
        put_overlay("b", "");
        put_overlay("c", "");
        assert_order(*state, "\"c\", \"a\", \"b\"", "c a b");
}

static void what_is_required_comes_first(void **state) {
        put_overlay("a", ", \"requires\": [\"b\"]");
        put_overlay("b", "");
        assert_order(*state, "\"a\", \"b\"", "b a");
}

static void what_is_required_need_not_be_named(void **state) {
        put_overlay("a", ", \"requires\": [\"b\", \"c\"]");
        put_overlay("b", ", \"requires\": [\"d\"]");
        put_overlay("c", ", \"requires\": [\"d\"]");
        put_overlay("d", "");
        assert_order(*state, "\"a\"", "d b c a");
}

static void one_more_at_the_end_moves_nothing(void **state) {
        put_overlay("a", ", \"requires\": [\"r\"]");
        put_overlay("b", "");
        put_overlay("c", ", \"requires\": [\"s\", \"r\"]");
        put_overlay("r", "");
        put_overlay("s", "");
        assert_order(*state, "\"a\", \"b\"", "r a b");
        assert_order(*state, "\"a\", \"b\", \"c\"", "r a b s c");
}

static void a_missing_overlay_suggests_the_nearest(void **state) {
        put_overlay("nvidia-driver", "");
        assert_int_equal(mkdir("overlays/nvidia-drive", 0755),
                        0); /* no overlay.json: nobody means it */
        put_recipe("x", ", \"overlays\": [\"nvida-driver\"]");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.overlays[0]: there is no overlay \"nvida-driver\" in overlays or " DATADIR
                        "/overlays; did you mean \"nvidia-driver\"?");
}

static void a_missing_requirement_names_who_asked(void **state) {
        put_overlay("slurm", ", \"requires\": [\"mungo\"]");
        put_overlay("munge", "");
        put_recipe("x", ", \"overlays\": [\"slurm\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/slurm/overlay.json: $.requires[0]: there is no overlay \"mungo\" in overlays or " DATADIR
                        "/overlays; did you mean \"munge\"?");
}

static void everybody_who_asks_for_a_missing_one_is_told(void **state) {
        Fixture *f = *state;

        put_overlay("a", ", \"requires\": [\"none\"]");
        put_overlay("b", ", \"requires\": [\"none\"]");
        put_recipe("x", ", \"overlays\": [\"a\", \"b\"]");
        assert_int_equal(load(f, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(f->lines), 2);
        assert_true(was_logged(f, "overlays/a/overlay.json: $.requires[0]: there is no overlay"));
        assert_true(was_logged(f, "overlays/b/overlay.json: $.requires[0]: there is no overlay"));
}

static void a_folder_without_overlay_json_is_told_once(void **state) {
        assert_int_equal(mkdir("overlays/empty", 0755), 0);
        put_overlay("a", ", \"requires\": [\"empty\"]");
        put_recipe("x", ", \"overlays\": [\"a\", \"empty\"]");
        assert_refused(*state, "images/x.json", "overlays/empty: there is no overlay.json in it");
}

static void a_circle_shows_its_way(void **state) {
        put_overlay("start", ", \"requires\": [\"a\"]");
        put_overlay("a", ", \"requires\": [\"b\"]");
        put_overlay("b", ", \"requires\": [\"c\"]");
        put_overlay("c", ", \"requires\": [\"a\"]");
        put_recipe("x", ", \"overlays\": [\"start\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/c/overlay.json: $.requires[0]: overlays require each other in a circle: a → b → c → a");
}

static void requiring_itself_is_a_circle(void **state) {
        put_overlay("a", ", \"requires\": [\"a\"]");
        put_recipe("x", ", \"overlays\": [\"a\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/a/overlay.json: $.requires[0]: overlays require each other in a circle: a → a");
}

static void two_circles_are_two_errors(void **state) {
        put_overlay("a", ", \"requires\": [\"b\", \"c\"]");
        put_overlay("b", ", \"requires\": [\"a\"]");
        put_overlay("c", ", \"requires\": [\"a\"]");
        put_recipe("x", ", \"overlays\": [\"a\"]");
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(((Fixture *) *state)->lines), 2);
        assert_true(was_logged(*state, "a → b → a"));
        assert_true(was_logged(*state, "a → c → a"));
}

static void conflicts_are_refused(void **state) {
        put_overlay("open", ", \"conflicts\": [\"closed\", \"absent\"]");
        put_overlay("closed", "");
        put_recipe("x", ", \"overlays\": [\"open\", \"closed\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/open/overlay.json: $.conflicts[0]: \"open\" cannot be in one image with \"closed\"; leave one out");
}

static void a_conflict_told_by_both_is_one_error(void **state) {
        put_overlay("a", ", \"conflicts\": [\"b\"]");
        put_overlay("b", ", \"conflicts\": [\"a\"]");
        put_recipe("x", ", \"overlays\": [\"b\", \"a\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/b/overlay.json: $.conflicts[0]: \"b\" cannot be in one image with \"a\"; leave one out");
}

static void a_conflict_says_who_brought_it_in(void **state) {
        put_overlay("gpu", ", \"requires\": [\"closed\"]");
        put_overlay("closed", "");
        put_overlay("open", ", \"conflicts\": [\"closed\"]");
        put_recipe("x", ", \"overlays\": [\"gpu\", \"open\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/open/overlay.json: $.conflicts[0]: \"open\" cannot be in one image with \"closed\", which "
                        "\"gpu\" requires; leave one out");
}

static void an_overlay_cannot_conflict_with_itself(void **state) {
        put_overlay("a", ", \"conflicts\": [\"a\"]");
        put_recipe("x", ", \"overlays\": [\"a\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/a/overlay.json: $.conflicts[0]: an overlay cannot conflict with itself");
}

static void a_long_chain_of_requirements_is_fine(void **state) {
        for (int i = 0; i < 300; i++) {
                _cleanup_free_ char *name = strf("o%d", i),
                                    *keys = strf(", \"requires\": [\"o%d\"]", i + 1);
                put_overlay(name, keys);
        }
        put_overlay("o300", "");
        put_recipe("x", ", \"overlays\": [\"o0\"]");
        Recipe *r = load_good(*state, "images/x.json");
        assert_int_equal(r->n_overlays, 301);
        assert_string_equal(r->overlays[0]->name, "o300");
}

/* 45 layers of two, each of which requires both of the layer below: 2^45 ways to the bottom. */
static void many_layers_take_no_time(void **state) {
        uint64_t begin = now_usec();
        size_t needed = 0;
        Recipe *r;

        for (int i = 0; i < 90; i++) {
                _cleanup_free_ char *name = strf("o%d", i);
                _cleanup_free_ char *keys = i < 2 ? strdup("")
                                                  : strf(", \"requires\": [\"o%d\", \"o%d\"]",
                                                                    i / 2 * 2 - 2, i / 2 * 2 - 1);

                put_overlay(name, keys);
        }
        put_overlay("lonely", "");
        put_recipe("x", ", \"overlays\": [\"o88\", \"o89\", \"lonely\"]");
        r = load_good(*state, "images/x.json");
        for (size_t i = 0; i < r->n_overlays; i++)
                for (size_t k = 0; k < r->n_overlays; k++)
                        needed += recipe_overlay_needs(r->overlays[i], r->overlays[k]);
        assert_int_equal(needed, 91 + 4 * (44 * 45 / 2)); /* itself, and both of each layer below */
        assert_true(now_usec() - begin < 2 * USEC_PER_SEC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(the_recipes_order_holds),
                TEST(what_is_required_comes_first),
                TEST(what_is_required_need_not_be_named),
                TEST(one_more_at_the_end_moves_nothing),
                TEST(many_layers_take_no_time),
                TEST(a_missing_overlay_suggests_the_nearest),
                TEST(a_missing_requirement_names_who_asked),
                TEST(everybody_who_asks_for_a_missing_one_is_told),
                TEST(a_folder_without_overlay_json_is_told_once),
                TEST(a_circle_shows_its_way),
                TEST(requiring_itself_is_a_circle),
                TEST(two_circles_are_two_errors),
                TEST(conflicts_are_refused),
                TEST(a_conflict_told_by_both_is_one_error),
                TEST(a_conflict_says_who_brought_it_in),
                TEST(an_overlay_cannot_conflict_with_itself),
                TEST(a_long_chain_of_requirements_is_fine),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
