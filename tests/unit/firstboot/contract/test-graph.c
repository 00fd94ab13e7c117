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

static void steps_come_after_what_they_require(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"requires\":[\"b\"]}");
        put(PATH_STEPS, "b", "{\"requires\":[\"c\"]}");
        put(PATH_STEPS, "c", "{}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_null(g->errors);
        assert_string_equal(g->steps[0].name, "c");
        assert_string_equal(g->steps[2].name, "a");
}

static void cycles_are_refused_by_name(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"requires\":[\"b\"]}");
        put(PATH_STEPS, "b", "{\"after\":[\"a\"]}");
        put(PATH_STEPS, "c", "{\"requires\":[\"a\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_true(complains(g, "cycle: a, b"));
}

static void a_step_that_requires_itself_is_a_cycle(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"requires\":[\"a\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_true(complains(g, "cycle: a"));
}

static void requiring_what_is_not_installed_is_an_error(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"requires\":[\"gpu\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_true(complains(g, "requires step \"gpu\", which is not installed"));
}

static void after_only_orders(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"after\":[\"gpu\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        assert_null(g->errors);
        assert_int_equal(strv_length(g->steps[0].after), 0);
}

static void disabled_steps_are_not_in_the_graph(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{\"requires\":[\"b\"]}");
        put(PATH_STEPS, "b", "{}");
        _cleanup_graph_ Graph *g = load("{\"steps\":{\"b\":{\"enabled\":false}}}");
        assert_null(g->errors);
        assert_int_equal(g->n, 1);
        assert_int_equal(strv_length(g->steps[0].requires), 0);
}

static void star_requires_every_step_that_does_not_wait_for_it(void **state) {
        (void) state;
        put(PATH_STEPS, "slurm", "{\"requires\":[\"*\"]}");
        put(PATH_STEPS, "gpu", "{}");
        put(PATH_STEPS, "nccl", "{\"requires\":[\"gpu\"]}");
        put(PATH_STEPS, "report", "{\"requires\":[\"slurm\"]}");
        _cleanup_graph_ Graph *g = load("{}");
        Step *slurm = graph_find(g, "slurm");
        assert_null(g->errors);
        assert_true(strv_contains(slurm->requires, "gpu"));
        assert_true(strv_contains(slurm->requires, "nccl"));
        assert_false(strv_contains(slurm->requires, "report"));
        assert_false(strv_contains(slurm->requires, "*"));
}

static void a_setting_for_no_step_is_an_error(void **state) {
        (void) state;
        put(PATH_STEPS, "a", "{}");
        _cleanup_graph_ Graph *g = load("{\"steps\":{\"b\":{\"enabled\":false}}}");
        assert_true(complains(g, "steps.b: no such step is installed"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(steps_come_after_what_they_require),
                TEST(cycles_are_refused_by_name),
                TEST(a_step_that_requires_itself_is_a_cycle),
                TEST(requiring_what_is_not_installed_is_an_error),
                TEST(after_only_orders),
                TEST(disabled_steps_are_not_in_the_graph),
                TEST(star_requires_every_step_that_does_not_wait_for_it),
                TEST(a_setting_for_no_step_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
