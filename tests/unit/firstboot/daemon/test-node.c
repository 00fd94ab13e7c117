/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "daemon/node.h"

/* A node whose configuration has arrived: steps a, b (requires a), c (after a). */
typedef struct Fixture {
        Node node;
        JobHost host;
} Fixture;

static void put(const char *name, const char *text) {
        _cleanup_free_ char *path = strf("%s/%s.json", PATH_STEPS, name);

        root_put(path, text);
}

static int setup(void **state) {
        _cleanup_free_ char *path = NULL;
        Fixture *f = calloc(1, sizeof(*f));
        const Identity who = { .cloud_id = (char *) "i" };
        const char *difference;
        StateOrigin origin;

        if (!f || root_setup(state) < 0)
                return -1;
        put("a", "{}");
        put("b", "{\"requires\":[\"a\"]}");
        put("c", "{\"after\":[\"a\"]}");
        path = fb_path(PATH_STATE);
        assert_return_code(state_load(path, &who, "b1", &f->node.state, &origin, &difference), 0);
        assert_return_code(graph_load(NULL, &f->node.graph), 0);
        assert_return_code(node_make_jobs(&f->node, &f->host), 0);
        *state = f;
        return 0;
}

static int teardown(void **state) {
        Fixture *f = *state;

        node_done(&f->node);
        free(f);
        return root_teardown(state);
}

static void set(Node *n, const char *name, StepStatus status, const char *code) {
        StepRun *run = job_run(node_find_job(n, name));

        run->status = status;
        step_run_set_result(run, code, NULL);
}

static Hurdle hurdle_of(const Node *n, const char *name) {
        const Job *failed = NULL;

        return node_hurdle(n, node_find_job(n, name), &failed);
}

static void a_step_waits_for_what_it_names(void **state) {
        Node *n = &((Fixture *) *state)->node;

        assert_int_equal(hurdle_of(n, "a"), HURDLE_NONE);
        assert_int_equal(hurdle_of(n, "b"), HURDLE_WAIT);
        assert_int_equal(hurdle_of(n, "c"), HURDLE_WAIT);
        set(n, "a", STEP_BACKOFF, NULL);
        assert_int_equal(hurdle_of(n, "b"), HURDLE_WAIT);
        set(n, "a", STEP_DONE, NULL);
        assert_int_equal(hurdle_of(n, "b"), HURDLE_NONE);
        assert_int_equal(hurdle_of(n, "c"), HURDLE_NONE);
}

static void a_failure_stops_what_requires_it_and_not_what_comes_after(void **state) {
        Node *n = &((Fixture *) *state)->node;
        const Job *failed = NULL;

        set(n, "a", STEP_FAILED, "a.broken");
        assert_int_equal(node_hurdle(n, node_find_job(n, "b"), &failed), HURDLE_FAILED);
        assert_string_equal(failed->step->name, "a");
        assert_int_equal(hurdle_of(n, "c"), HURDLE_NONE);
}

static void a_skipped_step_stands_for_what_it_requires(void **state) {
        Node *n = &((Fixture *) *state)->node;
        const Job *failed = NULL;

        node_drop_jobs(n);
        n->graph = graph_free(n->graph);
        put("d", "{\"requires\":[\"b\"]}");
        assert_return_code(graph_load(NULL, &n->graph), 0);
        assert_return_code(node_make_jobs(n, &((Fixture *) *state)->host), 0);
        set(n, "a", STEP_FAILED, "a.broken");
        set(n, "b", STEP_SKIPPED, NULL);
        assert_int_equal(node_hurdle(n, node_find_job(n, "d"), &failed), HURDLE_FAILED);
        assert_string_equal(failed->step->name, "a");
        set(n, "a", STEP_DONE, NULL);
        assert_int_equal(hurdle_of(n, "d"), HURDLE_NONE);
}

static void no_verdict_before_the_last_step_has_ended(void **state) {
        Node *n = &((Fixture *) *state)->node;

        set(n, "a", STEP_FAILED, "a.broken");
        set(n, "b", STEP_BLOCKED, "step.requirement");
        assert_int_equal(node_verdict(n), NODE_STARTING);
        set(n, "c", STEP_DONE, NULL);
        assert_int_equal(node_verdict(n), NODE_FAILED);
        assert_string_equal(node_code(n), "a.broken");
}

static void defects_make_it_degraded(void **state) {
        Node *n = &((Fixture *) *state)->node;

        set(n, "a", STEP_DONE, NULL);
        set(n, "b", STEP_SKIPPED, NULL);
        set(n, "c", STEP_DONE, NULL);
        assert_int_equal(node_verdict(n), NODE_READY);
        assert_string_equal(node_code(n), "");
        set(n, "c", STEP_DEGRADED, "c.fewer");
        assert_int_equal(node_verdict(n), NODE_DEGRADED);
        assert_string_equal(node_code(n), "c.fewer");
}

static void one_that_is_tried_again_slowly_has_failed_meanwhile(void **state) {
        Node *n = &((Fixture *) *state)->node;

        set(n, "a", STEP_RUNNING, "a.broken");
        job_run(node_find_job(n, "a"))->slow = true;
        set(n, "b", STEP_BLOCKED, "step.requirement");
        set(n, "c", STEP_DONE, NULL);
        assert_int_equal(node_verdict(n), NODE_FAILED);
        assert_string_equal(node_code(n), "a.broken");
        assert_int_equal(hurdle_of(n, "b"), HURDLE_FAILED);
        assert_ptr_equal(node_failed_requirement(n, node_find_job(n, "b")), node_find_job(n, "a"));
}

static void a_problem_of_the_whole_node_fails_it(void **state) {
        Node *n = &((Fixture *) *state)->node;

        node_drop_jobs(n);
        n->problem = "config.invalid";
        assert_int_equal(node_verdict(n), NODE_FAILED);
        assert_string_equal(node_code(n), "config.invalid");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Whichever cluster the node was let into, it is held back there; and only where it was let in. */
static void each_membership_is_held_back_once_its_daemon_was_let_run(void **state) {
        static const struct {
                const char *step, *permit;
        } members[] = { { "slurm", PATH_SLURMD_PERMIT }, { "kubernetes", PATH_KUBELET_PERMIT } };
        Node *n = &((Fixture *) *state)->node;

        node_drop_jobs(n);
        n->graph = graph_free(n->graph);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                put(members[i].step, "{\"requires\":[\"a\"]}");
        assert_return_code(graph_load(NULL, &n->graph), 0);
        assert_return_code(node_make_jobs(n, &((Fixture *) *state)->host), 0);
        set(n, "a", STEP_FAILED, "a.broken");
        for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                const Job *j = node_find_job(n, members[i].step);

                set(n, members[i].step, STEP_DONE, NULL);
                assert_ptr_equal(node_membership(n, i), j);
                assert_false(node_drain_is_due(n, j));
                root_put(members[i].permit, "ready\n");
                assert_true(node_drain_is_due(n, j));
        }
        assert_false(node_must_drain(n, node_find_job(n, "b")));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_step_waits_for_what_it_names),
                TEST(a_failure_stops_what_requires_it_and_not_what_comes_after),
                TEST(a_skipped_step_stands_for_what_it_requires),
                TEST(no_verdict_before_the_last_step_has_ended),
                TEST(defects_make_it_degraded),
                TEST(one_that_is_tried_again_slowly_has_failed_meanwhile),
                TEST(a_problem_of_the_whole_node_fails_it),
                cmocka_unit_test_setup_teardown(
                                each_membership_is_held_back_once_its_daemon_was_let_run, setup,
                                teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
