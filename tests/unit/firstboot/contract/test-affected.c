/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/affected.h"

static void put(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = strf("%s/%s.json", folder, name);

        root_put(path, text);
}

/* A shipped step that reads another's section, one behind it, one for itself; two of a site. */
static void put_steps(void) {
        put(PATH_STEPS, "scratch", "{}");
        put(PATH_STEPS, "mounts", "{\"reads\":[\"scratch\"]}");
        put(PATH_STEPS, "slurm", "{\"requires\":[\"mounts\"]}");
        put(PATH_STEPS, "gpu", "{}");
        put(PATH_SITE_STEPS, "own", "{\"exec\":[\"/bin/true\"],\"reads\":[]}");
        put(PATH_SITE_STEPS, "any", "{\"exec\":[\"/bin/true\"]}");
}

static void expect(const char *before, const char *after, const char *names) {
        _cleanup_json_ json_object *a = json_tokener_parse(before), *b = json_tokener_parse(after);
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_graph_ Graph *g = NULL;

        put_steps();
        assert_return_code(graph_load(b, &g), 0);
        assert_null(g->errors);
        assert_return_code(steps_affected(g, a, b, &l), 0);
        if (l)
                strv_sort(l);
        text = l ? strv_join(l, " ") : strdup("");
        assert_string_equal(text, names);
}

static void a_section_concerns_who_reads_it_and_who_waits(void **state) {
        (void) state;
        expect("{}", "{\"scratch\":{\"disks\":4}}", "any mounts scratch slurm");
}

static void a_section_of_one_step_concerns_it_alone(void **state) {
        (void) state;
        expect("{\"gpu\":{\"count\":8}}", "{\"gpu\":{\"count\":4}}", "any gpu");
}

static void nothing_changed_concerns_nobody(void **state) {
        (void) state;
        expect("{\"gpu\":{\"count\":8}}", "{\"gpu\":{\"count\":8}}", "");
}

static void a_step_s_settings_concern_it(void **state) {
        (void) state;
        expect("{}", "{\"steps\":{\"own\":{\"retries\":1}}}", "any own");
}

static void a_section_that_goes_is_a_change(void **state) {
        (void) state;
        expect("{\"own\":{\"a\":1}}", "{}", "any own");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_section_concerns_who_reads_it_and_who_waits),
                TEST(a_section_of_one_step_concerns_it_alone),
                TEST(nothing_changed_concerns_nobody),
                TEST(a_step_s_settings_concern_it),
                TEST(a_section_that_goes_is_a_change),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
