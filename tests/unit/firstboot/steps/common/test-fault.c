/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "steps/common/fault.h"

#define STEP(name, status, required)                                              \
        "{\"name\":\"" name "\",\"status\":\"" status "\",\"required\":" required \
        ",\"result\":{\"code\":\"" name ".bad\",\"message\":\"it is\"}}"

static Fault find(const char *own, const char *document) {
        Fault f = {};
        JsonError e = {};

        root_put(PATH_RUN_STATUS, document);
        assert_int_equal(fault_find(own, &e, &f), 0);
        return f;
}

static void a_required_step_that_failed_is_one(void **state _unused_) {
        _cleanup_fault_ Fault f =
                        find("slurm", "{\"steps\":[" STEP("a", "done", "true") "," STEP("b",
                                                      "failed", "false") "," STEP("gpu", "failed",
                                                      "true") "],\"watch\":{\"code\":\"w.x\"}}");

        assert_string_equal(f.code, "gpu.bad");
        assert_string_equal(f.text, "it is");
        assert_false(f.watch);
}

/* A step that is tried slowly stands as failed while it runs. */
static void who_asks_is_none_himself(void **state _unused_) {
        _cleanup_fault_ Fault f =
                        find("slurm", "{\"steps\":[" STEP("slurm", "failed", "true") "]}");

        assert_null(f.code);
}

static void what_the_watch_has_found_is_one(void **state _unused_) {
        _cleanup_fault_ Fault f = find("slurm",
                        "{\"steps\":[],\"watch\":{\"code\":\"watch.unit\",\"message\":\"sssd is away\"}}");

        assert_string_equal(f.code, "watch.unit");
        assert_true(f.watch);
}

/* No step ran then. */
static void what_is_wrong_with_the_configuration_is_one(void **state _unused_) {
        _cleanup_fault_ Fault f = find("slurm",
                        "{\"steps\":[],\"node\":\"failed\",\"code\":\"config.invalid\",\"message\":\"a: no such key\"}");

        assert_string_equal(f.code, "config.invalid");
        assert_string_equal(f.text, "a: no such key");
        assert_false(f.watch);
}

static void no_status_is_no_good_one(void **state _unused_) {
        Fault f = {};
        JsonError e = {};

        assert_true(fault_find("slurm", &e, &f) < 0);
        root_put(PATH_RUN_STATUS, "{\"steps\":7}");
        assert_true(fault_find("slurm", &e, &f) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_required_step_that_failed_is_one, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                who_asks_is_none_himself, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                what_the_watch_has_found_is_one, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(what_is_wrong_with_the_configuration_is_one,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                no_status_is_no_good_one, root_setup, root_teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
