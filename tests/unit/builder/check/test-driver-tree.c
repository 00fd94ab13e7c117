/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* nvidia.nouveau, nvidia.held, nvidia.build-tools: each fault alone, in a tree that is otherwise
 * right. The rule that is for it finds it, and no other does. */

#include "check-fixture.h"

static void test_nouveau_not_blocked(void **state) {
        put("etc/modprobe.d/nvidia.conf", "# blacklist nouveau\nblacklist nouveaux\n");
        put("etc/modprobe.d/disabled.conf.off", "blacklist nouveau\n");
        assert_found(*state, "nvidia.nouveau", "nouveau");
}

static void test_nouveau_blocked_by_install(void **state) {
        assert_int_equal(unlink("etc/modprobe.d/nvidia.conf"), 0);
        put("usr/lib/modprobe.d/a.conf", "install nouveau /bin/false\n");
        assert_found(*state, NULL, NULL);
}

static void test_kernel_not_held(void **state) {
        put_package("linux-image-amd64", "6.12.1-1", "install");
        assert_found(*state, "nvidia.held", "linux-image-amd64");
}

static void test_no_package_database(void **state) {
        assert_int_equal(unlink("var/lib/dpkg/status"), 0);
        assert_found(*state, "nvidia.held", "names no package");
}

static void test_build_tools(void **state) {
        static const char *const packages[] = { "dkms", "linux-headers-6.12.1-test",
                "nvidia-kernel-source", "gcc-14" };
        CheckFixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(packages); i++)
                put_package(packages[i], "1", "install");
        put_package("gcc-14-base", "1", "install");
        assert_found(f, "nvidia.build-tools", "dkms");
        assert_int_equal(f->findings.n, ELEMENTSOF(packages));
}

static void test_a_kernel_of_rpm_needs_no_hold(void **state) {
        CheckFixture *f = *state;

        f->rpms = "warning: no package\nkernel-core\t5.14.0-503.el9\n";
        assert_found(f, NULL, NULL);
        f->rpms = "";
        assert_found(f, "nvidia.held", "rpm names no package");
}

static void test_build_tools_of_rpm(void **state) {
        CheckFixture *f = *state;

        f->rpms = "kernel-devel\t5.14.0-503.el9\nakmods\t0.5.7-1.el9\nkernel-headers\t5.14.0-503.el9\n";
        assert_found(f, "nvidia.build-tools", "kernel-devel");
        assert_int_equal(f->findings.n, 2);
}

/* NVIDIA's packages for EL are made to be compiled where they are installed. */
static void test_dkms_of_rpm_that_was_asked_for(void **state) {
        char *packages[] = { "kmod-nvidia-open-dkms", "dkms", NULL };
        Overlay overlay = { .packages = packages };
        Overlay *overlays[] = { &overlay };
        Recipe recipe = { .overlays = overlays, .n_overlays = 1 };
        CheckFixture *f = *state;

        f->rpms = "kernel-devel\t5.14.0-503.el9\ndkms\t3.2.1-1.el9\ngcc\t11.5.0-5.el9\n";
        f->recipe = &recipe;
        assert_found(f, NULL, NULL);
        packages[1] = NULL;
        assert_found(f, "nvidia.build-tools", "kernel-devel");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                GPU(test_nouveau_not_blocked),
                GPU(test_nouveau_blocked_by_install),
                GPU(test_kernel_not_held),
                GPU(test_no_package_database),
                GPU(test_build_tools),
                GPU(test_a_kernel_of_rpm_needs_no_hold),
                GPU(test_build_tools_of_rpm),
                GPU(test_dkms_of_rpm_that_was_asked_for),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
