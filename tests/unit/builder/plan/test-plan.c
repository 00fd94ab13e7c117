/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

/* A recipe of two overlays as recipe_load() would give it, on real files in a temporary folder. */

typedef struct World {
        char folder[64];
        Overlay first, second, *overlays[3];
        Recipe recipe;
        Lock lock;
        char *packages[2][2], *enable[2];
        LockedPackage locked[6];
        LockedStage stages[6];
        Compile compile;
        Run run;
} World;

static void put(World *w, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(w->folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static void lock_stage(World *w, const char *id, const char *package, char digit) {
        size_t i = w->lock.n_stages++;
        char *sha256 = malloc(DIGEST_HEX + 1);

        memset(sha256, digit, DIGEST_HEX);
        sha256[DIGEST_HEX] = '\0';
        w->locked[i] = (LockedPackage) { .name = (char *) package,
                .version = (char *) "1",
                .arch = (char *) "amd64",
                .sha256 = sha256 };
        w->stages[i] = (LockedStage) {
                .id = (char *) id, .packages = w->locked + i, .n_packages = 1
        };
}

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        strcpy(w->folder, "/tmp/test-plan-XXXXXX");
        if (!w || !mkdtemp(w->folder))
                return -1;
        put(w, "first/files/etc/motd", "hello\n");
        put(w, "first/files/etc/modprobe.d/x.conf", "blacklist x\n");
        put(w, "second/files/etc/issue", "x\n");
        put(w, "second/build.sh", "make\n");
        put(w, "second/run.sh", "true\n");

        w->packages[0][0] = (char *) "bash";
        w->packages[1][0] = (char *) "slurmd";
        w->enable[0] = (char *) "ssh.service";
        w->first = (Overlay) { .name = (char *) "first",
                .path = path_join(w->folder, "first"),
                .has_files = true,
                .packages = w->packages[0],
                .services.enable = w->enable };
        w->compile = (Compile) { .packages = w->packages[0],
                .script = path_join(w->folder, "second/build.sh") };
        w->run = (Run) { .script = path_join(w->folder, "second/run.sh") };
        w->second = (Overlay) { .name = (char *) "second",
                .path = path_join(w->folder, "second"),
                .has_files = true,
                .packages = w->packages[1],
                .compile = &w->compile,
                .n_compile = 1,
                .run = &w->run,
                .n_run = 1 };
        w->overlays[0] = &w->first;
        w->overlays[1] = &w->second;
        w->recipe = (Recipe) {
                .name = (char *) "x",
                .base = { .distro = (char *) "debian",
                                .release = (char *) "trixie",
                                .arch = (char *) "amd64" },
                .kernel = { .package = (char *) "linux-image-amd64", .cmdline = (char *) "" },
                .overlays = w->overlays,
                .n_overlays = 2,
        };
        w->lock = (Lock) { .epoch = 1700000000, .stages = w->stages };
        lock_stage(w, "base", "libc6", 'a');
        lock_stage(w, "kernel", "linux-image-6.12.57+deb13-amd64", 'b');
        lock_stage(w, "packages:first", "bash", 'c');
        lock_stage(w, "packages:second", "slurmd", 'd');
        lock_stage(w, "compile:second/0", "gcc", 'e');
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        rm_rf(w->folder);
        for (size_t i = 0; i < w->lock.n_stages; i++)
                free(w->locked[i].sha256);
        free(w->first.path);
        free(w->second.path);
        free(w->compile.script);
        free(w->run.script);
        free(w);
        return 0;
}

static Plan *plan(World *w) {
        Plan *p = NULL;

        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), 0);
        return p;
}

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

/* As if all of it had been built. */
static json_object *record_of(World *w, const Plan *p, Store **ret_store) {
        _cleanup_free_ char *folder = path_join(w->folder, "store");
        bool missing[16] = {};
        json_object *record = NULL;

        assert_int_equal(store_open(folder, ret_store), 0);
        assert_int_equal(plan_record_read(*ret_store, p, &record), 0);
        assert_null(record);
        assert_int_equal(plan_record_write(*ret_store, p, missing, p->n_stages - 1), 0);
        assert_int_equal(plan_record_read(*ret_store, p, &record), 0);
        assert_non_null(record);
        return record;
}

static void assert_why(const Plan *p, const char *id, json_object *record, const char *text) {
        _cleanup_free_ char *why = plan_why(p, (size_t) (plan_find(p, id) - p->stages), record);

        assert_string_equal(why, text);
}

static void why_a_stage_runs_again_is_known(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        assert_why(a, "base", record, "its layer is gone from the store");
        assert_why(a, "base", NULL, "first build");
        w->locked[3].version = (char *) "2";
        w->locked[3].sha256[0] = '0';
        w->enable[0] = (char *) "chrony.service";
        put(w, "second/run.sh", "false\n");
        put(w, "second/files/etc/issue", "y\n");
        b = plan(w);
        assert_why(b, "packages:second", record, "slurmd 1 → 2");
        assert_why(b, "files:first", record, "made on packages:second, which changed");
        assert_why(b, "files:second", record, "its files changed");
        assert_why(b, "run:second/0", record, "its script changed");
        assert_why(b, "services", record, "the enabled units changed");
}

static void packages_that_come_and_go_are_named(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        w->locked[3].name = (char *) "slurm-wlm";
        w->locked[2].sha256[0] = '0';
        b = plan(w);
        assert_why(b, "packages:second", record, "-slurmd, +slurm-wlm");
        assert_why(b, "packages:first", record, "bash has other bytes");
}

static void a_stage_that_was_not_there_is_new(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w);
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store);

        json_object_object_del(record, "files:first");
        assert_why(a, "files:first", record, "new in the recipe");
}

/* What a stage was made of stays known while it is missing. */
static void the_record_of_a_missing_stage_stays(void **state) {
        World *w = *state;
        _cleanup_plan_free_ Plan *a = plan(w), *b = NULL;
        _cleanup_store_free_ Store *store = NULL;
        _cleanup_json_ json_object *record = record_of(w, a, &store), *again = NULL;
        bool missing[16];

        put(w, "second/run.sh", "false\n");
        b = plan(w);
        memset(missing, true, sizeof(missing));
        missing[0] = false;
        assert_int_equal(plan_record_write(store, b, missing, b->n_stages - 1), 0);
        assert_int_equal(plan_record_read(store, b, &again), 0);
        assert_why(b, "run:second/0", again, "its script changed");
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
                                a_lock_without_the_environment_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                editing_an_early_file_remakes_the_initramfs, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_new_package_changes_what_lies_above, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                another_kernel_changes_everything_compiled, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_changed_service_list_changes_services, setup, teardown),
                cmocka_unit_test_setup_teardown(why_a_stage_runs_again_is_known, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                packages_that_come_and_go_are_named, setup, teardown),
                cmocka_unit_test_setup_teardown(a_stage_that_was_not_there_is_new, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                the_record_of_a_missing_stage_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_lock_that_lacks_a_stage_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(a_lock_without_a_kernel_is_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_compile_that_requires_nothing_sees_base_and_kernel, setup,
                                teardown),
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
