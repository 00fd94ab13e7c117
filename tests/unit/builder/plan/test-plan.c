/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-fixture.h"

/* Stages whose digest differs, as a comma-separated list of ids of `b`. */
static char *changed(const Plan *a, const Plan *b) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < b->n_stages; i++) {
                const Stage *before = plan_find(a, b->stages[i].id);
                if (!before || !streq(before->digest, b->stages[i].digest))
                        strv_extend(&l, b->stages[i].id);
        }
        return strv_join(l, ",");
}

static void stages_are_in_the_documented_order(void **state) {
        static const char *const expected[] = {
                "base",
                "kernel",
                "packages:first",
                "packages:second",
                "compile:second/0",
                "early-files:first",
                "initramfs",
                "files:first",
                "files:second",
                "run:second/0",
                "services",
                "finalize",
        };
        _cleanup_plan_free_ Plan *p = plan(*state);

        assert_int_equal(p->n_stages, ELEMENTSOF(expected));
        for (size_t i = 0; i < p->n_stages; i++)
                assert_string_equal(p->stages[i].id, expected[i]);
}

static void equal_inputs_give_equal_digests(void **state) {
        _cleanup_plan_free_ Plan *a = plan(*state), *b = plan(*state);
        _cleanup_free_ char *difference = changed(a, b);

        assert_string_equal(difference, "");
}

static void editing_a_file_leaves_the_initramfs(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_free_ char *difference = NULL;

        put(w, "second/files/etc/issue", "y\n");
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference, "files:second,run:second/0,services,finalize");
}

static void an_environment_is_one_stage_and_its_wheels_are_its_digest(void **state) {
        World *w = *state;
        char sum[] = "0000000000000000000000000000000000000000000000000000000000000001";
        LockedWheel wheel = { .name = (char *) "x",
                .version = (char *) "1",
                .file = (char *) "x-1-py3-none-any.whl",
                .sha256 = sum };
        LockedEnvironment environment = {
                .path = (char *) "/opt/x", .wheels = &wheel, .n_wheels = 1
        };
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL;
        _cleanup_free_ char *difference = NULL;

        w->first.python.environment = w->second.python.environment = (char *) "/opt/x";
        w->lock.environments = &environment;
        w->lock.n_environments = 1;
        a = plan(w);
        assert_int_equal(a->n_stages, 13);
        assert_string_equal(a->stages[7].id, "python:/opt/x");
        sum[0] = '1';
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference,
                        "python:/opt/x,files:first,files:second,run:second/0,services,finalize");
}

static void a_compile_on_python_sees_the_environments_that_its_overlay_needs(void **state) {
        World *w = *state;
        char sum[] = "0000000000000000000000000000000000000000000000000000000000000001",
             other[] = "0000000000000000000000000000000000000000000000000000000000000002";
        LockedWheel wheels[] = {
                { .name = (char *) "x", .version = (char *) "1", .sha256 = sum },
                { .name = (char *) "y", .version = (char *) "1", .sha256 = other },
        };
        LockedEnvironment environments[] = {
                { .path = (char *) "/opt/x", .wheels = wheels, .n_wheels = 1 },
                { .path = (char *) "/opt/y", .wheels = wheels + 1, .n_wheels = 1 },
        };
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL;
        _cleanup_free_ char *difference = NULL;

        w->first.python.environment = (char *) "/opt/y";
        w->second.python.environment = (char *) "/opt/x";
        w->lock.environments = environments;
        w->lock.n_environments = ELEMENTSOF(environments);
        w->compile.on = COMPILE_ON_PYTHON;
        a = plan(w);
        assert_string_equal(a->stages[6].id, "python:/opt/y");
        assert_string_equal(a->stages[7].id, "python:/opt/x");
        assert_string_equal(a->stages[8].id, "compile:second/0");
        for (size_t i = 0; i < 8; i++) /* neither early files, nor initramfs, nor first's wheels */
                assert_int_equal(plan_stage_sees(a, 8, i), i < 4 || i == 7);

        sum[0] = '1';
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference,
                        "python:/opt/x,compile:second/0,files:first,files:second,run:second/0,services,finalize");
}

static void a_lock_without_the_environment_is_stale(void **state) {
        World *w = *state;
        Plan *p = NULL;

        w->first.python.environment = (char *) "/opt/x";
        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), -ESTALE);
}

static void editing_an_early_file_remakes_the_initramfs(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_free_ char *difference = NULL;

        put(w, "first/files/etc/modprobe.d/x.conf", "blacklist y\n");
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference,
                        "early-files:first,initramfs,files:first,files:second,run:second/0,services,finalize");
}

static void a_new_package_changes_what_lies_above(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;

        w->locked[3].sha256[0] = '0';
        b = plan(w);
        assert_string_equal(plan_find(a, "packages:first")->digest,
                        plan_find(b, "packages:first")->digest);
        assert_string_not_equal(plan_find(a, "packages:second")->digest,
                        plan_find(b, "packages:second")->digest);
        assert_string_not_equal(plan_find(a, "finalize")->digest, plan_find(b, "finalize")->digest);
}

static void another_kernel_changes_everything_compiled(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;

        w->locked[1].name = (char *) "linux-image-6.12.63+deb13-amd64";
        b = plan(w);
        assert_string_equal(b->kernel, "6.12.63+deb13-amd64");
        assert_string_not_equal(plan_find(a, "compile:second/0")->digest,
                        plan_find(b, "compile:second/0")->digest);
}

static void a_changed_service_list_changes_services(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_free_ char *difference = NULL;

        w->enable[0] = (char *) "chrony.service";
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference, "services,finalize");
}

static void a_lock_that_lacks_a_stage_is_stale(void **state) {
        World *w = *state;
        Plan *p = NULL;

        w->stages[4].id = (char *) "compile:other/0";
        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), -ESTALE);
        assert_null(p);
}

static void a_lock_without_a_kernel_is_stale(void **state) {
        World *w = *state;
        Plan *p = NULL;

        w->locked[1].name = (char *) "bash";
        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), -ESTALE);
}

/* From here on the first overlay compiles, not the second, which comes after it. */
static void first_compiles(World *w) {
        w->first.compile = &w->compile;
        w->first.n_compile = 1;
        w->second.n_compile = 0;
        w->stages[4].id = (char *) "compile:first/0";
}

static void a_compile_that_requires_nothing_sees_base_and_kernel(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *p = NULL;

        w->second.packages = NULL;
        p = plan(w);
        assert_string_equal(p->stages[3].id, "compile:second/0");
        assert_true(plan_stage_sees(p, 3, 0));
        assert_true(plan_stage_sees(p, 3, 1));
        assert_false(plan_stage_sees(p, 3, 2));
        assert_true(plan_stage_sees(p, 4, 3));
}

static void a_compile_on_the_base_sees_the_base_alone(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL;
        size_t compile;

        w->compile.on = COMPILE_ON_BASE;
        a = plan(w);
        compile = (size_t) (plan_find(a, "compile:second/0") - a->stages);
        assert_true(plan_stage_sees(a, compile, 0));
        for (size_t i = 1; i < compile; i++)
                assert_false(plan_stage_sees(a, compile, i));

        w->locked[1].name = (char *) "linux-image-6.12.63+deb13-amd64";
        w->locked[3].sha256[0] = '0';
        b = plan(w);
        assert_string_equal(plan_find(a, "compile:second/0")->digest,
                        plan_find(b, "compile:second/0")->digest);
}

static void the_initramfs_waits_for_no_compile_on_the_base(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *p = NULL;

        w->compile.on = COMPILE_ON_BASE;
        p = plan(w);
        assert_true(plan_find(p, "compile:second/0") > plan_find(p, "initramfs"));
}

static void packages_of_later_overlays_leave_what_is_compiled(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL;
        _cleanup_free_ char *difference = NULL;

        first_compiles(w);
        a = plan(w);
        w->locked[3].sha256[0] = '0';
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference,
                        "packages:second,early-files:first,initramfs,files:first,files:second,run:second/0,services,finalize");
}

static void what_is_compiled_changes_what_lies_above(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL;
        _cleanup_free_ char *difference = NULL;

        first_compiles(w);
        a = plan(w);
        put(w, "second/build.sh", "make all\n");
        b = plan(w);
        difference = changed(a, b);
        assert_string_equal(difference,
                        "compile:first/0,early-files:first,initramfs,files:first,files:second,run:second/0,services,finalize");
}

/* A source archive of the second overlay's only compile stage. */
static void add_source(World *w, Artifact *a, LockedArtifact *locked) {
        static char sha256[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

        *a = (Artifact) { .name = (char *) "tool", .kind = INSTALL_SOURCE, .strip = 1 };
        *locked = (LockedArtifact) {
                .overlay = (char *) "second", .name = (char *) "tool", .sha256 = sha256
        };
        w->second.artifacts = a;
        w->second.n_artifacts = 1;
        w->lock.artifacts = locked;
        w->lock.n_artifacts = 1;
}

static void a_source_archive_is_its_compile_stages_alone(void **state) {
        World *w = *state;
        Artifact artifact;
        LockedArtifact locked;

        add_source(w, &artifact, &locked);
        _cleanup_plan_free_ Plan *p = plan(w);
        assert_null(plan_find(p, "artifacts:second"));
        assert_true(plan_stage_uses(plan_find(p, "compile:second/0"), &artifact));
        assert_false(plan_stage_uses(plan_find(p, "packages:second"), &artifact));
        artifact.compile = 1;
        assert_false(plan_stage_uses(plan_find(p, "compile:second/0"), &artifact));
}

static void another_source_archive_is_compiled_anew(void **state) {
        static char other[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
        World *w = *state;
        Artifact artifact;
        LockedArtifact locked;

        add_source(w, &artifact, &locked);
        _cleanup_plan_free_ Plan *a = plan(w);
        locked.sha256 = other;
        _cleanup_plan_free_ Plan *b = plan(w);
        assert_string_not_equal(plan_find(a, "compile:second/0")->digest,
                        plan_find(b, "compile:second/0")->digest);
        assert_string_equal(plan_find(a, "packages:second")->digest,
                        plan_find(b, "packages:second")->digest);
}

static void a_source_archive_that_is_not_locked_is_no_plan(void **state) {
        World *w = *state;
        Artifact artifact;
        LockedArtifact locked;
        Plan *p;

        add_source(w, &artifact, &locked);
        w->lock.n_artifacts = 0;
        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), -ESTALE);
}

/* It is imported once, whenever packages are locked anew; and again for another one. */
static void an_image_is_what_its_layer_depends_on(void **state) {
        World *w = *state;
        char one[DIGEST_HEX + 1] = "", other[DIGEST_HEX + 1] = "";
        _cleanup_plan_free_ Plan *a = NULL, *b = NULL, *c = NULL;

        memset(one, '1', DIGEST_HEX);
        memset(other, '2', DIGEST_HEX);
        w->recipe.base.image = (char *) "/a.qcow2";
        w->lock.image = (LockedImage) { .name = (char *) "a.qcow2", .sha256 = one };
        a = plan(w);
        assert_int_equal(a->stages[0].kind, STAGE_IMAGE);
        w->lock.epoch++;
        b = plan(w);
        assert_string_equal(a->stages[0].digest, b->stages[0].digest);
        assert_string_not_equal(a->stages[1].digest, b->stages[1].digest);
        w->lock.image.sha256 = other;
        c = plan(w);
        assert_string_not_equal(b->stages[0].digest, c->stages[0].digest);
}

/* Without kernel.package it is the image's own. */
static void an_images_own_kernel_is_the_plans(void **state) {
        World *w = *state;
        char digest[DIGEST_HEX + 1] = "";
        _cleanup_plan_free_ Plan *p = NULL;

        memset(digest, '1', DIGEST_HEX);
        w->recipe.base.image = (char *) "/a.qcow2";
        w->recipe.kernel.package = NULL;
        w->stages[1].id = (char *) "not-asked-for";
        w->lock.image = (LockedImage) {
                .name = (char *) "a.qcow2", .sha256 = digest, .kernel = (char *) "6.1.0-vendor"
        };
        p = plan(w);
        assert_string_equal(p->kernel, "6.1.0-vendor");
        assert_null(plan_find(p, "kernel"));
        assert_non_null(plan_find(p, "initramfs"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                an_image_is_what_its_layer_depends_on, setup, teardown),
                cmocka_unit_test_setup_teardown(an_images_own_kernel_is_the_plans, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                stages_are_in_the_documented_order, setup, teardown),
                cmocka_unit_test_setup_teardown(equal_inputs_give_equal_digests, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                editing_a_file_leaves_the_initramfs, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                an_environment_is_one_stage_and_its_wheels_are_its_digest, setup,
                                teardown),
                cmocka_unit_test_setup_teardown(
                                a_compile_on_python_sees_the_environments_that_its_overlay_needs,
                                setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_lock_without_the_environment_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                editing_an_early_file_remakes_the_initramfs, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_new_package_changes_what_lies_above, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                another_kernel_changes_everything_compiled, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_changed_service_list_changes_services, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_lock_that_lacks_a_stage_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(a_lock_without_a_kernel_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_compile_that_requires_nothing_sees_base_and_kernel, setup,
                                teardown),
                cmocka_unit_test_setup_teardown(
                                the_initramfs_waits_for_no_compile_on_the_base, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_compile_on_the_base_sees_the_base_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                packages_of_later_overlays_leave_what_is_compiled, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                what_is_compiled_changes_what_lies_above, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_source_archive_is_its_compile_stages_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                another_source_archive_is_compiled_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_source_archive_that_is_not_locked_is_no_plan, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
