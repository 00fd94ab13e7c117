/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-fixture.h"

/* As if all of it had been built. */
static json_object *record_of(World *w, const Plan *p, Store **ret_store) {
        _cleanup_free_ char *folder = path_join(w->folder, "store");
        bool missing[16] = {};
        json_object *record = NULL;

        assert_int_equal(store_open(folder, ret_store), 0);
        assert_int_equal(plan_record_read(*ret_store, p, &record), 0);
        assert_null(record);
        assert_int_equal(plan_record_write(*ret_store, p, missing, p->n_stages - 1), 0);
        assert_int_equal(plan_record_read(*ret_store, p, &record), 0);
        assert_non_null(record);
        return record;
}

static void assert_why(const Plan *p, const char *id, json_object *record, const char *text) {
        _cleanup_free_ char *why = plan_why(p, (size_t) (plan_find(p, id) - p->stages), record);

        assert_string_equal(why, text);
}

static void why_a_stage_runs_again_is_known(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        assert_why(a, "base", record, "its layer is gone from the store");
        assert_why(a, "base", NULL, "first build");
        w->locked[3].version = (char *) "2";
        w->locked[3].sha256[0] = '0';
        w->enable[0] = (char *) "chrony.service";
        put(w, "second/run.sh", "false\n");
        put(w, "second/files/etc/issue", "y\n");
        b = plan(w);
        assert_why(b, "packages:second", record, "slurmd 1 → 2");
        assert_why(b, "files:first", record, "made on packages:second, which changed");
        assert_why(b, "files:second", record, "its files changed");
        assert_why(b, "run:second/0", record, "its script changed");
        assert_why(b, "services", record, "the enabled units changed");
}

static void packages_that_come_and_go_are_named(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        w->locked[3].name = (char *) "slurm-wlm";
        w->locked[2].sha256[0] = '0';
        b = plan(w);
        assert_why(b, "packages:second", record, "-slurmd, +slurm-wlm");
        assert_why(b, "packages:first", record, "bash has other bytes");
}

static void a_stage_that_was_not_there_is_new(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w);
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        json_object_object_del(record, "files:first");
        assert_why(a, "files:first", record, "new in the recipe");
}

/* What a stage was made of stays known while it is missing. */
static void the_record_of_a_missing_stage_stays(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store), *again = NULL;
        bool missing[16];

        put(w, "second/run.sh", "false\n");
        b = plan(w);
        memset(missing, true, sizeof(missing));
        missing[0] = false;
        assert_int_equal(plan_record_write(store, b, missing, b->n_stages - 1), 0);
        assert_int_equal(plan_record_read(store, b, &again), 0);
        assert_why(b, "run:second/0", again, "its script changed");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(why_a_stage_runs_again_is_known, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                packages_that_come_and_go_are_named, setup, teardown),
                cmocka_unit_test_setup_teardown(a_stage_that_was_not_there_is_new, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                the_record_of_a_missing_stage_stays, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
