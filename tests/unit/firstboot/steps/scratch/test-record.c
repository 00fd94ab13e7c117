/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is on record of the disks, from one boot to the next. */

#include "root-fixture.h"
#include "steps/scratch/record.h"

#include <signal.h>
#include <sys/resource.h>

static Disk disks[] = {
        { .serial = (char *) "S0" },
        { .serial = (char *) "S1" },
        { .serial = (char *) "S2" },
};
static const Disks all = { disks, 3, 0, NULL };

static void save(bool unfinished) {
        size_t use[] = { 0, 2 };
        ScratchPlan plan = { .use = use, .n_use = 2 };

        root_put("/var/lib/firstboot/state.json", "{}");
        assert_return_code(scratch_record_save("i-1", &all, &plan, unfinished), 0);
}

static ScratchRecord load(const char *instance) {
        ScratchRecord r = {};

        assert_return_code(scratch_record_load(instance, &r), 0);
        return r;
}

static void the_disks_of_the_plan_are_on_record(void **state) {
        (void) state;
        save(false);
        ScratchRecord r = load("i-1");
        _cleanup_strv_free_ char **serials = r.serials;
        assert_int_equal(strv_length(serials), 2);
        assert_string_equal(serials[1], "S2");
        assert_false(r.unfinished);
}

static void that_they_are_being_written_to_is_on_record(void **state) {
        (void) state;
        save(true);
        ScratchRecord r = load("i-1");
        _cleanup_strv_free_ char **serials = r.serials;
        assert_true(r.unfinished);
}

static int save_on_a_full_disk(void) {
        struct rlimit before;
        size_t use[] = { 0, 2 };
        ScratchPlan plan = { .use = use, .n_use = 2 };
        int r;

        signal(SIGXFSZ, SIG_IGN);
        assert_return_code(getrlimit(RLIMIT_FSIZE, &before), 0);
        assert_return_code(setrlimit(RLIMIT_FSIZE, &(struct rlimit) { 0, before.rlim_max }), 0);
        r = scratch_record_save("i-1", &all, &plan, false);
        assert_return_code(setrlimit(RLIMIT_FSIZE, &before), 0);
        return r;
}

/* By then the disks hold data. */
static void that_they_were_empty_is_not_left_on_record_by_a_full_disk(void **state) {
        (void) state;
        save(true);
        assert_true(save_on_a_full_disk() < 0);
        ScratchRecord r = load("i-1");
        _cleanup_strv_free_ char **serials = r.serials;
        assert_false(r.unfinished);
}

static void a_finished_record_outlives_a_full_disk(void **state) {
        (void) state;
        save(false);
        assert_true(save_on_a_full_disk() < 0);
        ScratchRecord r = load("i-1");
        _cleanup_strv_free_ char **serials = r.serials;
        assert_int_equal(strv_length(serials), 2);
}

static void another_instance_knows_nothing(void **state) {
        (void) state;
        save(true);
        ScratchRecord r = load("i-2");
        assert_null(r.serials);
        assert_false(r.unfinished);
}

/* As versions before this one wrote it. */
static void a_record_that_says_nothing_is_finished(void **state) {
        (void) state;
        root_put("/var/lib/firstboot/scratch.json",
                        "{\"instance_id\":\"i-1\",\"serials\":[\"S0\"]}");
        ScratchRecord r = load("i-1");
        _cleanup_strv_free_ char **serials = r.serials;
        assert_int_equal(strv_length(serials), 1);
        assert_false(r.unfinished);
}

static void a_damaged_record_is_none(void **state) {
        (void) state;
        root_put("/var/lib/firstboot/scratch.json", "{\"instance_id\":\"i-1\",\"unfinished\":tr");
        ScratchRecord r = load("i-1");
        assert_null(r.serials);
        assert_false(r.unfinished);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_disks_of_the_plan_are_on_record),
                TEST(that_they_are_being_written_to_is_on_record),
                TEST(that_they_were_empty_is_not_left_on_record_by_a_full_disk),
                TEST(a_finished_record_outlives_a_full_disk),
                TEST(another_instance_knows_nothing),
                TEST(a_record_that_says_nothing_is_finished),
                TEST(a_damaged_record_is_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
