/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static LockedStage *stage(Lock *l, const char *id) {
        LockedStage *s;

        assert_int_equal(lock_add_stage(l, id, "r", &s), 0);
        return s;
}

static void put(LockedStage *s, const char *name, const char *version) {
        assert_int_equal(locked_stage_add(s, &(LockedPackage) { (char *) name, (char *) version,
                                                             (char *) "all", (char *) version, 1,
                                                             (char *) "debian", (char *) "p" }),
                        0);
}

static Lock *empty(void) {
        Lock *l;

        assert_int_equal(lock_new("r", &l), 0);
        return l;
}

static void test_moved_added_removed(void **state) {
        _cleanup_lock_free_ Lock *a = empty(), *b = empty();
        _cleanup_lock_diff_ LockDiff d = {};
        LockedStage *s = stage(a, "base"), *t = stage(b, "base");

        (void) state;
        put(s, "gone", "1");
        put(s, "moved", "1");
        put(s, "same", "1");
        put(t, "moved", "2");
        put(t, "new", "1");
        put(t, "same", "1");
        assert_int_equal(lock_diff(a, b, &d), 0);
        assert_int_equal(d.n, 3);
        assert_string_equal(d.changes[0].name, "gone");
        assert_null(d.changes[0].after);
        assert_string_equal(d.changes[1].before, "1");
        assert_string_equal(d.changes[1].after, "2");
        assert_null(d.changes[2].before);
        assert_true(d.added == 1 && d.removed == 1 && d.moved == 1);
}

static void test_another_stage_is_no_change(void **state) {
        _cleanup_lock_free_ Lock *a = empty(), *b = empty();
        _cleanup_lock_diff_ LockDiff d = {};

        (void) state;
        put(stage(a, "packages:x"), "p", "1");
        put(stage(b, "packages:y"), "p", "1");
        assert_int_equal(lock_diff(a, b, &d), 0);
        assert_int_equal(d.n, 0);
}

static void test_same_name_in_two_stages(void **state) {
        _cleanup_lock_free_ Lock *a = empty(), *b = empty();
        _cleanup_lock_diff_ LockDiff d = {};

        (void) state;
        put(stage(a, "compile:x/0"), "gcc", "1");
        put(stage(a, "compile:y/0"), "gcc", "2");
        put(stage(b, "compile:y/0"), "gcc", "2");
        put(stage(b, "compile:x/0"), "gcc", "3");
        assert_int_equal(lock_diff(a, b, &d), 0);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.changes[0].stage, "compile:x/0");
        assert_string_equal(d.changes[0].before, "1");
}

static void test_same_version_other_content(void **state) {
        _cleanup_lock_free_ Lock *a = empty(), *b = empty();
        _cleanup_lock_diff_ LockDiff d = {};

        (void) state;
        assert_int_equal(lock_add_artifact(a, &(LockedArtifact) { (char *) "o", (char *) "x",
                                                              (char *) "1", (char *) "u",
                                                              (char *) "aa", 1 }),
                        0);
        assert_int_equal(lock_add_artifact(b, &(LockedArtifact) { (char *) "o", (char *) "x",
                                                              (char *) "1", (char *) "u",
                                                              (char *) "bb", 1 }),
                        0);
        assert_int_equal(lock_diff(a, b, &d), 0);
        assert_int_equal(d.n, 1);
        assert_true(d.changes[0].content && d.changes[0].artifact);
}

static void test_first_lock_adds_everything(void **state) {
        _cleanup_lock_free_ Lock *b = empty();
        _cleanup_lock_diff_ LockDiff d = {};

        (void) state;
        put(stage(b, "base"), "p", "1");
        assert_int_equal(lock_diff(NULL, b, &d), 0);
        assert_int_equal(d.added, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_moved_added_removed),
                cmocka_unit_test(test_another_stage_is_no_change),
                cmocka_unit_test(test_same_name_in_two_stages),
                cmocka_unit_test(test_same_version_other_content),
                cmocka_unit_test(test_first_lock_adds_everything),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
