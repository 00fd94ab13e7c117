/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The whole table: a right tree passes, what cannot be read is an error. */

#include "check-fixture.h"

static void test_right_tree(void **state) {
        assert_found(*state, NULL, NULL);
}

static void test_right_gpu_tree(void **state) {
        CheckFixture *f = *state;

        assert_found(f, NULL, NULL);
        assert_string_equal(json_get_string(f->findings.versions, "driver"), DRIVER);
        assert_string_equal(json_get_string(f->findings.versions, "kernel"), KERNEL);
        assert_string_equal(json_get_string(f->findings.versions, "cuda"), "12.4.127");
        assert_string_equal(json_get_string(f->findings.versions, "nccl"), "2.22.3+cuda12.1");
        assert_string_equal(json_get_string(f->findings.versions, "systemd"), "257.1-1");
}

static void test_tree_that_is_not_there(void **state) {
        CheckFixture *f = *state;
        assert_int_equal(rules_run("/nonexistent", NULL, NULL, &f->findings, NULL), -ENOENT);
}

/* A rule that cannot look must not pass. */
static void test_unreadable_is_an_error(void **state) {
        CheckFixture *f = *state;

        assert_int_equal(unlink("etc/shadow"), 0);
        assert_int_equal(mkdir("etc/shadow", 0755), 0);
        assert_true(rules_run(f->folder, NULL, NULL, &f->findings, NULL) < 0);
        assert_non_null(strstr(f->lines[0], "secrets.password could not run"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_right_tree),
                GPU(test_right_gpu_tree),
                TREE(test_tree_that_is_not_there),
                TREE(test_unreadable_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
