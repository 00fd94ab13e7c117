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

/* What the recipe asks of the kernel. */
static void ask(CheckFixture *f, Recipe *recipe, const char *option) {
        *recipe = (Recipe) { .kernel.package = (char *) "linux-image-amd64",
                .kernel.cmdline = (char *) "" };
        assert_int_equal(strv_extend(&recipe->kernel.options, option), 0);
        f->recipe = recipe;
}

static void test_options_are_there(void **state) {
        CheckFixture *f = *state;
        Recipe recipe;

        put("boot/config-" KERNEL, "# x\nCONFIG_PCI_P2PDMA=y\nCONFIG_INFINIBAND_EFA=m\n");
        ask(f, &recipe, "PCI_P2PDMA");
        assert_int_equal(strv_extend(&recipe.kernel.options, "INFINIBAND_EFA"), 0);
        assert_found(f, NULL, NULL);
        strv_free(recipe.kernel.options);
}

static void test_an_option_is_missing(void **state) {
        static const char *const configs[] = {
                "",
                "# CONFIG_PCI_P2PDMA is not set\n",
                "CONFIG_PCI_P2PDMA=n\n",
                "CONFIG_PCI_P2PDMA_DEBUG=y\n",
                "CONFIG_NO_PCI_P2PDMA=y\n",
                "CONFIG_PCI_P2PDMA=\"y\"\n",
        };
        CheckFixture *f = *state;
        Recipe recipe;

        ask(f, &recipe, "PCI_P2PDMA");
        for (size_t i = 0; i < ELEMENTSOF(configs); i++) {
                put("boot/config-" KERNEL, configs[i]);
                assert_found(f, "kernel.options", "is without PCI_P2PDMA");
        }
        strv_free(recipe.kernel.options);
}

static void test_no_configuration_proves_no_option(void **state) {
        CheckFixture *f = *state;
        Recipe recipe;

        ask(f, &recipe, "PCI_P2PDMA");
        assert_found(f, "kernel.options", "boot/config-" KERNEL);
        strv_free(recipe.kernel.options);
}

/* An archive in front, as a processor's microcode is, and what is compressed. */
static void test_initramfs_in_two_parts(void **state) {
        static const int filters[] = { ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ,
                ARCHIVE_FILTER_ZSTD };

        for (size_t i = 0; i < ELEMENTSOF(filters); i++) {
                put(INITRAMFS, "");
                put_initramfs(INITRAMFS,
                                (const char *const[]) { "kernel/x86/microcode/x.bin", NULL },
                                ARCHIVE_FILTER_NONE);
                assert_found(*state, "kernel.initramfs", "has no /init");
                put_initramfs(INITRAMFS, (const char *const[]) { "init", MODULES_INSIDE, NULL },
                                filters[i]);
                assert_found(*state, NULL, NULL);
        }
}

static void test_initramfs_with_zeros_behind_it(void **state) {
        put(INITRAMFS, "");
        put_initramfs(INITRAMFS, (const char *const[]) { "init", NULL }, ARCHIVE_FILTER_ZSTD);
        assert_int_equal(truncate(INITRAMFS, 64 * 1024), 0);
        assert_found(*state, NULL, NULL);
}

static void test_initramfs_without_init(void **state) {
        put(INITRAMFS, "");
        put_initramfs(INITRAMFS, (const char *const[]) { "usr/sbin/init", MODULES_INSIDE, NULL },
                        ARCHIVE_FILTER_ZSTD);
        assert_found(*state, "kernel.initramfs", "has no /init");
}

static void test_initramfs_of_another_kernel(void **state) {
        put(INITRAMFS, "");
        put_initramfs(INITRAMFS, (const char *const[]) { "init", "lib/modules/6.0/x.ko", NULL },
                        ARCHIVE_FILTER_GZIP);
        assert_found(*state, "kernel.initramfs", "another kernel's modules");
}

static void test_initramfs_damaged(void **state) {
        put(INITRAMFS, "no archive");
        assert_found(*state, "kernel.initramfs", "is damaged");
        put(INITRAMFS, "");
        put_initramfs(INITRAMFS, (const char *const[]) { "init", MODULES_INSIDE, NULL },
                        ARCHIVE_FILTER_NONE);
        assert_int_equal(truncate(INITRAMFS, 150), 0);
        assert_found(*state, "kernel.initramfs", "is damaged");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_no_kernel),
                TREE(test_kernel_image_missing),
                TREE(test_modules_dep_missing),
                TREE(test_initramfs_missing),
                TREE(test_initramfs_empty),
                TREE(test_initramfs_in_two_parts),
                TREE(test_initramfs_with_zeros_behind_it),
                TREE(test_initramfs_without_init),
                TREE(test_initramfs_of_another_kernel),
                TREE(test_initramfs_damaged),
                TREE(test_options_are_there),
                TREE(test_an_option_is_missing),
                TREE(test_no_configuration_proves_no_option),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
