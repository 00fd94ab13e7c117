/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kernel.*: each fault alone, in a tree that is otherwise right. The rule that is for it finds it,
 * and no other does. */

#include "check-fixture.h"

static void test_no_kernel(void **state) {
        rm_rf("usr/lib/modules");
        assert_found(*state, "kernel.present", "no kernel");
}

static void test_kernel_image_missing(void **state) {
        assert_int_equal(unlink("boot/vmlinuz-" KERNEL), 0);
        assert_found(*state, "kernel.present", "boot/vmlinuz-" KERNEL);
}

static void test_modules_dep_missing(void **state) {
        assert_int_equal(unlink(MODULES "modules.dep"), 0);
        assert_found(*state, "kernel.present", "modules.dep is missing");
}

static void test_initramfs_missing(void **state) {
        assert_int_equal(unlink("boot/initrd.img-" KERNEL), 0);
        assert_found(*state, "kernel.initramfs", KERNEL);
}

static void test_initramfs_empty(void **state) {
        put("boot/initrd.img-" KERNEL, "");
        assert_found(*state, "kernel.initramfs", KERNEL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_no_kernel),
                TREE(test_kernel_image_missing),
                TREE(test_modules_dep_missing),
                TREE(test_initramfs_missing),
                TREE(test_initramfs_empty),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
