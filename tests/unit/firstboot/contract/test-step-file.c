/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/graph.h"

static void put(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = strf("%s/%s.json", folder, name);

        root_put(path, text);
}

static Graph *load(const char *config) {
        _cleanup_json_ json_object *o = json_tokener_parse(config);
        Graph *g = NULL;

        assert_return_code(graph_load(o, &g), 0);
        return g;
}

static bool complains(const Graph *g, const char *text) {
        STRV_FOREACH (e, g->errors)
                if (strstr(*e, text))
                        return true;
        STRV_FOREACH (e, g->errors)
                print_message("error: %s\n", *e);
        return false;
}

static void a_sites_step_wins_over_a_shipped_one(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"description\":\"shipped\"}");
        put(PATH_SITE_STEPS, "a", "{\"description\":\"site\",\"exec\":[\"/bin/true\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_int_equal(g->n, 1);
        assert_string_equal(g->steps[0].description, "site");
}

static void an_empty_site_file_takes_a_step_out(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{}");
        put(PATH_SITE_STEPS, "a", "");
        _cleanup_graph_ Graph *g = load("{}");
        assert_null(g->errors);
        assert_int_equal(g->n, 0);
}

static void faults_of_step_files_are_errors(void **state) {
        (void) state;
        put(PATH_SITE_STEPS, "a", "{\"exec\":[\"/bin/true\"],\"timeout\":\"soon\"}");
        put(PATH_SITE_STEPS, "b", "{\"exec\":[\"/bin/true\"],\"requirs\":[]}");
        put(PATH_SITE_STEPS, "c", "{\"exec\":[\"/bin/true\"],\"requires\":[1]}");
        put(PATH_SITE_STEPS, "d", "{\"description\":\"no exec\"}");
        put(PATH_SITE_STEPS, "e", "{\"exec\":[\"/bin/true\"],\"when\":\"sometimes\"}");
        put(PATH_SITE_STEPS, "f", "{");
        put(PATH_SITE_STEPS, "Bad_Name", "{\"exec\":[\"/bin/true\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_int_equal(strv_length(g->errors), 7);
        assert_true(complains(g, "a.json: \"timeout\" must be a time"));
        assert_true(complains(g, "b.json: unknown key \"requirs\"; did you mean \"requires\"?"));
        assert_true(complains(g, "d.json: \"exec\" is missing"));
        assert_true(complains(g, "Bad_Name.json: a step's name"));
}

static void configuration_overrides_a_step_file(void **state) {
        (void) state;
        put(PATH_STEPS, "a",
                        "{\"timeout\":\"1min\",\"retries\":1,\"run_on_failure\":\"slurm.drain_on_failure\"}");
        _cleanup_graph_ Graph *g = load("{\"slurm\":{\"drain_on_failure\":true},\"steps\":{\"a\":{"
                                        "\"timeout\":\"5s\",\"retries\":7,\"required\":false}}}");
        assert_true(g->steps[0].timeout_usec == 5 * USEC_PER_SEC);
        assert_int_equal(g->steps[0].retries, 7);
        assert_false(g->steps[0].required);
        assert_true(g->steps[0].run_on_failure);
}

static void names_are_short_words(void **state) {
        (void) state;
        assert_true(step_name_is_valid("a-2"));
        assert_false(step_name_is_valid(""));
        assert_false(step_name_is_valid("2a"));
        assert_false(step_name_is_valid("A"));
        assert_false(step_name_is_valid("a/b"));
        assert_false(step_name_is_valid("abcdefghijklmnopqrstuvwxyz-abcdef"));
}

static void each_name_is_listed_once(void **state) {
        _cleanup_strv_free_ char **names = NULL;

        (void) state;
        put(PATH_STEPS, "b", "{}");
        put(PATH_STEPS, "a", "{}");
        put(PATH_SITE_STEPS, "b", "");
        root_put(PATH_STEPS "/README", "no step");
        assert_return_code(step_list(&names), 0);
        assert_int_equal(strv_length(names), 2);
        assert_string_equal(names[0], "a");
        assert_string_equal(names[1], "b");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_sites_step_wins_over_a_shipped_one),
                TEST(an_empty_site_file_takes_a_step_out),
                TEST(faults_of_step_files_are_errors),
                TEST(configuration_overrides_a_step_file),
                TEST(names_are_short_words),
                TEST(each_name_is_listed_once),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
