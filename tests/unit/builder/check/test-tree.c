/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paths of the tree resolve inside it. */

#include "check-fixture.h"

static void test_link_out_of_the_tree(void **state) {
        put(LIBRARIES "libcuda.so.1.new", "");
        put_link(LIBRARIES "libcuda.so.1", "../../../../../../../../../../bin/sh");
        assert_found(*state, "nvidia.version", "libcuda.so.1 is missing");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                GPU(test_link_out_of_the_tree),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
