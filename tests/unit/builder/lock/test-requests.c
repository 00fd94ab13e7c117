/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order in which stages ask for packages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lock/lock.h"

/* A recipe with a kernel and two overlays, each with a package; the second compiles something. */
typedef struct World {
        Recipe recipe;
        Overlay first, second, *overlays[2];
        Compile compile;
        char *of_first[2], *of_second[2], *own[2];
        PackageRequest *requests;
        size_t n;
} World;

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->of_first[0] = (char *) "bash";
        w->of_second[0] = (char *) "slurmd";
        w->own[0] = (char *) "vim";
        w->compile = (Compile) { .packages = w->of_first };
        w->first = (Overlay) { .name = (char *) "first", .packages = w->of_first };
        w->second = (Overlay) { .name = (char *) "second",
                .packages = w->of_second,
                .compile = &w->compile,
                .n_compile = 1 };
        w->overlays[0] = &w->first;
        w->overlays[1] = &w->second;
        w->recipe = (Recipe) { .kernel.package = (char *) "linux-image-amd64",
                .overlays = w->overlays,
                .n_overlays = 2 };
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        package_requests_free(w->requests, w->n);
        free(w);
        return 0;
}

/* All of them in order, as one line. */
static char *ask(World *w) {
        _cleanup_strv_free_ char **ids = NULL;

        package_requests_free(w->requests, w->n);
        assert_int_equal(lock_package_requests(&w->recipe, &w->requests, &w->n), 0);
        for (size_t i = 0; i < w->n; i++)
                assert_int_equal(strv_extend(&ids, w->requests[i].id), 0);
        return strv_join(ids, " ");
}

static void compile_packages_come_after_those_of_their_overlay(void **state) {
        World *w = *state;
        _cleanup_free_ char *order = NULL;

        w->first.compile = &w->compile;
        w->first.n_compile = 1;
        w->second.n_compile = 0;
        order = ask(w);
        assert_string_equal(order, "base kernel packages:first compile:first/0 packages:second");
        assert_false(w->requests[2].throwaway);
        assert_true(w->requests[3].throwaway);
        assert_false(w->requests[4].throwaway);
}

static void what_a_compile_requires_comes_before_it(void **state) {
        World *w = *state;
        char *requires[] = { (char *) "first", NULL };
        _cleanup_free_ char *order = NULL;

        w->second.packages = NULL;
        w->second.requires = w->second.needs = requires;
        order = ask(w);
        assert_string_equal(order, "base kernel packages:first compile:second/0");
        assert_ptr_equal(lock_compile_base(&w->recipe, &w->second), &w->first);
}

static void a_compile_that_requires_nothing_sees_base_and_kernel(void **state) {
        World *w = *state;
        _cleanup_free_ char *order = NULL;

        w->second.packages = NULL;
        order = ask(w);
        assert_string_equal(order, "base kernel compile:second/0 packages:first");
        assert_null(lock_compile_base(&w->recipe, &w->second));
}

static void a_compile_on_the_base_comes_right_after_it(void **state) {
        World *w = *state;
        _cleanup_free_ char *order = NULL;

        w->compile.on = COMPILE_ON_BASE;
        order = ask(w);
        assert_string_equal(order, "base compile:second/0 kernel packages:first packages:second");
}

static void a_repository_alone_counts_as_packages(void **state) {
        World *w = *state;
        Repository repository = { .name = (char *) "vendor" };
        _cleanup_free_ char *order = NULL;

        w->first.packages = NULL;
        w->first.repositories = &repository;
        w->first.n_repositories = 1;
        order = ask(w);
        assert_string_equal(order, "base kernel packages:first packages:second compile:second/0");
        assert_int_equal(strv_length(w->requests[2].packages), 0);
}

static void a_tree_has_no_kernel_and_own_packages_come_last(void **state) {
        World *w = *state;
        _cleanup_free_ char *order = NULL;

        w->recipe.kernel.package = NULL;
        w->recipe.packages = w->own;
        w->recipe.n_overlays = 1;
        order = ask(w);
        assert_string_equal(order, "base packages:first packages");
        assert_string_equal(w->requests[2].packages[0], "vim");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(compile_packages_come_after_those_of_their_overlay),
                TEST(what_a_compile_requires_comes_before_it),
                TEST(a_compile_that_requires_nothing_sees_base_and_kernel),
                TEST(a_compile_on_the_base_comes_right_after_it),
                TEST(a_repository_alone_counts_as_packages),
                TEST(a_tree_has_no_kernel_and_own_packages_come_last),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
