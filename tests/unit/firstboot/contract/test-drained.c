/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/drained.h"

static int setup(void **state) {
        _cleanup_free_ char *disk = NULL;

        if (root_setup(state) < 0)
                return -1;
        disk = fb_path("/var/lib/firstboot");
        return disk ? mkdir_p(disk, 0755) : -1;
}

/* Else nothing can be written in /run. */
static void make_room(void) {
        _cleanup_free_ char *path = fb_path("/run/firstboot");

        assert_return_code(mkdir_p(path, 0755), 0);
}

static void assert_taken(const char *code, const char *message) {
        _cleanup_free_ char *c = NULL, *m = NULL;

        assert_int_equal(drained_take(&c, &m), 1);
        assert_string_equal(c, code);
        assert_string_equal(m, message);
}

static void assert_none(void) {
        char *c = NULL, *m = NULL;

        assert_int_equal(drained_take(&c, &m), 0);
        assert_null(c);
        assert_null(m);
}

static void what_was_told_is_taken_once(void **state _unused_) {
        make_room();
        assert_return_code(drained_tell("gpu.missing", "one is gone"), 0);
        assert_taken("gpu.missing", "one is gone");
        assert_none();
}

static void without_room_in_run_too(void **state _unused_) {
        assert_return_code(drained_tell("run.not-writable", "full"), 0);
        assert_taken("run.not-writable", "full");
        assert_none();
}

static void without_room_anywhere_it_is_an_error(void **state _unused_) {
        _cleanup_free_ char *disk = fb_path("/var/lib/firstboot");

        assert_return_code(rmdir(disk), errno);
        assert_true(drained_tell("a.b", "c") < 0);
        assert_none();
}

static void what_is_forgotten_is_told_no_more(void **state _unused_) {
        assert_return_code(drained_tell("a.b", "c"), 0);
        make_room();
        assert_return_code(drained_tell("a.b", "c"), 0);
        drained_forget();
        assert_none();
}

static void one_without_a_code_is_none_and_hides_none(void **state _unused_) {
        root_put(PATH_RUN_DRAINED, "half a wo");
        root_put(PATH_SPARE_DRAINED, "{\"code\":\"a.b\"}");
        assert_taken("a.b", "");
        assert_none();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_was_told_is_taken_once),
                TEST(without_room_in_run_too),
                TEST(without_room_anywhere_it_is_an_error),
                TEST(what_is_forgotten_is_told_no_more),
                TEST(one_without_a_code_is_none_and_hides_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
