/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paths of the tree resolve inside it. */

#include "check-fixture.h"

static void test_link_out_of_the_tree(void **state) {
        put(LIBRARIES "libcuda.so.1.new", "");
        put_link(LIBRARIES "libcuda.so.1", "../../../../../../../../../../bin/sh");
        assert_found(*state, "nvidia.version", "libcuda.so.1 is missing");
}

/* They go into the manifest, which nobody could read with such a byte in it. */
static void test_what_a_package_is_called_is_utf8(void **state) {
        Recipe recipe = { .base.image = (char *) "vendor.qcow2" };
        CheckFixture *f = *state;
        json_object *first;

        f->recipe = &recipe;
        f->rpms = "ba\xffsh\t5.1-\xfe\tx86_64\n";
        assert_int_equal(rules_run(f->folder, f->recipe, f->rpms, &f->findings, NULL), 0);
        first = json_object_array_get_idx(f->findings.installed, 0);
        assert_string_equal(json_get_string(first, "name"), "ba?sh");
        assert_string_equal(json_get_string(first, "version"), "5.1-?");
        assert_string_equal(json_get_string(first, "arch"), "x86_64");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                GPU(test_link_out_of_the_tree),
                TREE(test_what_a_package_is_called_is_utf8),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
