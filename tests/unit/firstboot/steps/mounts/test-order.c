/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which mount waits for which. */

#include "steps/mounts/order.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_path_is_below_whole_names_only(void **state) {
        (void) state;
        assert_true(path_is_below("/home/x", "/home"));
        assert_false(path_is_below("/home2", "/home"));
        assert_false(path_is_below("/home", "/home"));
}

static void the_nearest_mount_point_above_counts(void **state) {
        static const char *const where[] = { "/a/b/c", "/a", "/a/b", "/ab" };

        (void) state;
        assert_int_equal(mount_parent(where, 4, 0), 2);
        assert_int_equal(mount_parent(where, 4, 1), -1);
        assert_int_equal(mount_parent(where, 4, 2), 1);
        assert_int_equal(mount_parent(where, 4, 3), -1);
}

static void of_the_same_name_each_waits_for_the_one_before(void **state) {
        static const char *const where[] = { "/a", "/a", "/a/b", "/a" };

        (void) state;
        assert_int_equal(mount_parent(where, 4, 0), -1);
        assert_int_equal(mount_parent(where, 4, 1), 0);
        assert_int_equal(mount_parent(where, 4, 3), 1);
        assert_int_equal(mount_parent(where, 4, 2), 3);
}

static bool waits(const char *where, const char *status) {
        _cleanup_json_ json_object *config = json_tokener_parse("{'scratch':{'mount_point':'/s'}}"),
                                   *document = json_tokener_parse(status);

        return waits_for_scratch(where, config, document);
}

static void what_lies_on_scratch_waits_for_it(void **state) {
        (void) state;
        assert_true(waits("/s/nfs", "{'steps':[{'name':'scratch','status':'running'}]}"));
        assert_true(waits("/s/nfs", "{'steps':[{'name':'scratch','status':'failed'}]}"));
        assert_false(waits("/home", "{'steps':[{'name':'scratch','status':'running'}]}"));
}

static void a_node_without_scratch_waits_for_nothing(void **state) {
        (void) state;
        assert_false(waits("/s/nfs", "{'steps':[{'name':'scratch','status':'skipped'}]}"));
        assert_false(waits("/s/nfs", "{'steps':[{'name':'host','status':'running'}]}"));
        assert_false(waits("/s/nfs", "{}"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_is_below_whole_names_only),
                cmocka_unit_test(the_nearest_mount_point_above_counts),
                cmocka_unit_test(of_the_same_name_each_waits_for_the_one_before),
                cmocka_unit_test(what_lies_on_scratch_waits_for_it),
                cmocka_unit_test(a_node_without_scratch_waits_for_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
