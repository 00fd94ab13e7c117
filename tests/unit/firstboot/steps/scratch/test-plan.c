/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is done with disks, whatever they are taken for. */

#include "scratch-plan-fixture.h"

static void a_users_volume_on_two_of_four_disks_is_taken_as_it_is(void **state) {
        (void) state;
        for (size_t i = 0; i < 2; i++) {
                sign(i, "LVM2_member", "raid");
                facts[i].vg = (char *) "nvme";
                facts[i].busy = true;
                facts[i].labelled = (char *) "/dev/mapper/nvme-lvol0";
        }
        make_plan(N);
        assert_fails("scratch.disk-missing", "2 of 4");
        scratch_plan_done(&plan);
        plan = (ScratchPlan) {};

        wish.users_choice = true;
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_ADOPT_DEVICE);
        assert_string_equal(plan.device, "/dev/mapper/nvme-lvol0");
        assert_int_equal(plan.n_use, 2);
        assert_null(plan.code);
}

static void blank_disks_are_used(void **state) {
        (void) state;
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, N);
        assert_null(plan.code);
}

static void no_disks_are_nothing(void **state) {
        (void) state;
        make_plan(0);
        assert_int_equal(plan.action, SCRATCH_NOTHING);
}

static void no_disks_fail_where_required(void **state) {
        (void) state;
        wish.required = true;
        make_plan(0);
        assert_fails("scratch.no-disks", "no local NVMe disk");
}

static void allow_fewer_leaves_foreign_disks_out(void **state) {
        (void) state;
        wish.allow_fewer = true;
        sign(2, "ext4", "filesystem");
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, 3);
        assert_int_equal(plan.use[2], 3);
        assert_string_equal(plan.code, "scratch.fewer");
        assert_non_null(strstr(plan.message, "serial S2"));
}

static void where_no_disk_is_left_the_reason_is_that_of_the_disks(void **state) {
        (void) state;
        wish.allow_fewer = true;
        facts[0].has_data = true;
        make_plan(1);
        assert_fails("scratch.unknown-data", "no usable local disk is left");
}

static void fewer_than_configured_fails(void **state) {
        (void) state;
        wish.expected = 5;
        make_plan(N);
        assert_fails("scratch.disk-missing", "4 local disks of 5");
}

static void fewer_than_recorded_fails_with_the_serial(void **state) {
        (void) state;
        record.serials = all_serials;
        make_plan(3);
        assert_fails("scratch.disk-missing", "missing serial S3");
}

static void our_volume_group_is_adopted(void **state) {
        (void) state;
        record.serials = all_serials;
        for (size_t i = 0; i < N; i++)
                ours(i, TAG_OURS, 0);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_ADOPT_VG);
        assert_string_equal(plan.vg, "localscratch");
        assert_int_equal(plan.n_use, N);
}

static void an_unfinished_volume_group_is_rebuilt(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++)
                ours(i, TAG_INCOMPLETE "," TAG_OURS, 0);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_REBUILD);
        assert_false(plan.vg_missing);
}

static void a_volume_group_without_volumes_is_rebuilt(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++) {
                ours(i, TAG_OURS, 0);
                facts[i].vg_volumes = 0;
        }
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_REBUILD);
}

static void all_disks_wiped_are_made_afresh(void **state) {
        (void) state;
        record.serials = all_serials;
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
}

static void some_disks_wiped_are_no_reason_to_give_up_the_rest(void **state) {
        (void) state;
        record.serials = all_serials;
        ours(0, TAG_OURS, 2);
        ours(1, TAG_OURS, 2);
        make_plan(N);
        assert_fails("scratch.partial-volume", UUID);
}

static void half_of_a_moved_set_is_not_rebuilt_over(void **state) {
        (void) state;
        wish.machine = "here";
        ours(0, TAG_OURS "," TAG_MACHINE "there", 2);
        ours(1, TAG_OURS "," TAG_MACHINE "there", 2);
        make_plan(N);
        assert_fails("scratch.partial-volume", "made on another machine");
}

static void a_partial_volume_goes_where_the_configuration_names_it(void **state) {
        (void) state;
        wish.discard_partial = (char *[]) { (char *) UUID, NULL };
        ours(0, TAG_OURS, 2);
        ours(1, TAG_OURS, 2);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_REBUILD);
        assert_true(plan.vg_missing);
        assert_true(plan.discard);
        assert_int_equal(plan.n_use, N);
}

static void another_uuid_in_the_configuration_lets_nothing_go(void **state) {
        (void) state;
        wish.discard_partial =
                        (char *[]) { (char *) "zzzzzz-bbbb-cccc-dddd-eeee-ffff-gggggg", NULL };
        ours(0, TAG_OURS, 3);
        make_plan(N);
        assert_fails("scratch.partial-volume", UUID);
}

static void a_whole_volume_is_kept_even_if_the_configuration_names_it(void **state) {
        (void) state;
        wish.discard_partial = (char *[]) { (char *) UUID, NULL };
        for (size_t i = 0; i < N; i++)
                ours(i, TAG_OURS, 0);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_ADOPT_VG);
}

static void a_whole_set_of_another_machine_is_adopted(void **state) {
        (void) state;
        wish.machine = "here";
        for (size_t i = 0; i < N; i++)
                ours(i, TAG_OURS "," TAG_MACHINE "there", 0);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_ADOPT_VG);
        assert_false(plan.untagged);
}

static void what_another_machine_began_is_left(void **state) {
        (void) state;
        wish.machine = "here";
        for (size_t i = 0; i < N; i++)
                ours(i, TAG_INCOMPLETE "," TAG_OURS "," TAG_MACHINE "there", 0);
        make_plan(N);
        assert_fails("scratch.partial-volume", "made on another machine, is not finished");
}

static void an_unfinished_group_with_an_admins_volume_is_left(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++) {
                ours(i, TAG_INCOMPLETE "," TAG_OURS, 0);
                facts[i].vg_volumes = 2;
        }
        make_plan(N);
        assert_fails("scratch.partial-volume", "has 2 volumes");
}

static void a_disk_that_is_there_twice_is_not_used(void **state) {
        Disk twin = disks[1];

        (void) state;
        twin.wwid = (char *) "eui.1";
        twin.twice = true;
        facts[1].disk = &twin;
        make_plan(N);
        assert_fails("scratch.same-disk", "eui.1");
}

static void too_few_names_the_shape_and_what_was_left_out(void **state) {
        (void) state;
        wish.expected = 5;
        wish.expected_by = "shape X has 5 local NVMe disks";
        wish.left_out = "/dev/nvme9n1 (model Q)";
        make_plan(N);
        assert_fails("scratch.disk-missing", "shape X has 5");
        assert_non_null(strstr(plan.message, "/dev/nvme9n1 (model Q)"));
}

static void a_member_that_is_away_is_not_rebuilt_over(void **state) {
        (void) state;
        record.serials = all_serials;
        wish.expected = 3;
        for (size_t i = 0; i < 3; i++)
                ours(i, TAG_OURS, 1);
        make_plan(3);
        assert_fails("scratch.partial-volume", "missing serial S3");
}

static void a_member_that_is_away_without_record_is_not_rebuilt_over(void **state) {
        (void) state;
        for (size_t i = 0; i < 3; i++)
                ours(i, TAG_OURS, 1);
        make_plan(3);
        assert_fails("scratch.partial-volume", "lacks 1 of its disks");
}

static void allow_fewer_does_not_rebuild_over_an_absent_member(void **state) {
        (void) state;
        record.serials = all_serials;
        wish.allow_fewer = true;
        for (size_t i = 0; i < 3; i++)
                ours(i, TAG_OURS, 1);
        make_plan(3);
        assert_fails("scratch.partial-volume", "missing serial S3");
}

static void one_member_alone_is_not_rebuilt_over_whatever_fewer_may_be(void **state) {
        (void) state;
        wish.allow_fewer = true;
        ours(0, TAG_OURS, 1);
        make_plan(N);
        assert_fails("scratch.partial-volume", "lacks 1 of its disks");
}

static void a_whole_volume_group_beside_a_new_blank_disk_is_kept(void **state) {
        (void) state;
        for (size_t i = 0; i < 3; i++)
                ours(i, TAG_OURS, 0);
        make_plan(N);
        assert_fails("scratch.disk-missing", "holds data and was not touched");
}

static void two_volume_groups_of_ours_are_not_guessed_about(void **state) {
        (void) state;
        ours(0, TAG_OURS, 0);
        ours(1, TAG_OURS, 0);
        facts[1].vg = (char *) "other";
        make_plan(2);
        assert_fails("scratch.foreign-signature", "two volume groups");
}

static void a_file_system_with_our_label_is_adopted(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++) {
                sign(i, "linux_raid_member", "raid");
                facts[i].labelled = (char *) "/dev/md127";
                facts[i].holder = (char *) "md127";
        }
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_ADOPT_DEVICE);
        assert_string_equal(plan.device, "/dev/md127");
}

static void a_labelled_file_system_on_fewer_disks_fails(void **state) {
        (void) state;
        sign(0, "xfs", "filesystem");
        facts[0].labelled = (char *) "/dev/nvme0n1";
        make_plan(N);
        assert_fails("scratch.disk-missing", "lies on 1 of 4 local disks");
}

static void two_file_systems_with_our_label_are_not_guessed_about(void **state) {
        (void) state;
        for (size_t i = 0; i < 2; i++) {
                sign(i, "xfs", "filesystem");
                facts[i].labelled = disks[i].path;
        }
        make_plan(2);
        assert_fails("scratch.foreign-signature", "two file systems have the label");
}

#define KINDS 9
#define COMBINATIONS (KINDS * KINDS * KINDS * KINDS)

/* Makes disk i one of the kinds; false: it must not be written to, whatever the configuration
 * says of fewer disks. */
static bool make_kind(size_t i, unsigned kind) {
        switch (kind) {
        case 1:
                sign(i, "ext4", "filesystem");
                return false;
        case 2:
                ours(i, TAG_OURS, 0);
                return false;
        case 3:
                ours(i, TAG_OURS, 1);
                return false;
        case 4:
                facts[i].probe_error = -EIO;
                return false;
        case 5:
                sign(i, "LVM2_member", "raid");
                facts[i].orphan = true;
                return record.serials != NULL;
        case 6:
                leave_remains(i, "gpt");
                return false;
        case 7:
                facts[i].has_data = true;
                return false;
        case 8:
                facts[i].busy = true;
                return false;
        }
        return true;
}

/* Whatever is on the disks, and whether fewer may do or not: a disk that may hold data is never
 * among those that are written to. */
static void no_plan_ever_writes_to_a_disk_that_may_hold_data(void **state) {
        for (unsigned code = 0; code < COMBINATIONS * 4; code++) {
                unsigned rest = code / 4;
                bool may[N];

                setup(state);
                wish.allow_fewer = code & 1;
                record.serials = code & 2 ? all_serials : NULL;
                for (size_t i = 0; i < N; i++, rest /= KINDS)
                        may[i] = make_kind(i, rest % KINDS);
                make_plan(N);
                if (plan.action == SCRATCH_CREATE || plan.action == SCRATCH_REBUILD)
                        for (size_t k = 0; k < plan.n_use; k++)
                                assert_true(may[plan.use[k]]);
                teardown(state);
        }
        setup(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_users_volume_on_two_of_four_disks_is_taken_as_it_is),
                TEST(blank_disks_are_used),
                TEST(no_disks_are_nothing),
                TEST(no_disks_fail_where_required),
                TEST(allow_fewer_leaves_foreign_disks_out),
                TEST(where_no_disk_is_left_the_reason_is_that_of_the_disks),
                TEST(fewer_than_configured_fails),
                TEST(fewer_than_recorded_fails_with_the_serial),
                TEST(our_volume_group_is_adopted),
                TEST(an_unfinished_volume_group_is_rebuilt),
                TEST(a_volume_group_without_volumes_is_rebuilt),
                TEST(all_disks_wiped_are_made_afresh),
                TEST(some_disks_wiped_are_no_reason_to_give_up_the_rest),
                TEST(half_of_a_moved_set_is_not_rebuilt_over),
                TEST(a_partial_volume_goes_where_the_configuration_names_it),
                TEST(another_uuid_in_the_configuration_lets_nothing_go),
                TEST(a_whole_volume_is_kept_even_if_the_configuration_names_it),
                TEST(a_whole_set_of_another_machine_is_adopted),
                TEST(what_another_machine_began_is_left),
                TEST(an_unfinished_group_with_an_admins_volume_is_left),
                TEST(a_disk_that_is_there_twice_is_not_used),
                TEST(too_few_names_the_shape_and_what_was_left_out),
                TEST(a_member_that_is_away_is_not_rebuilt_over),
                TEST(a_member_that_is_away_without_record_is_not_rebuilt_over),
                TEST(allow_fewer_does_not_rebuild_over_an_absent_member),
                TEST(one_member_alone_is_not_rebuilt_over_whatever_fewer_may_be),
                TEST(a_whole_volume_group_beside_a_new_blank_disk_is_kept),
                TEST(two_volume_groups_of_ours_are_not_guessed_about),
                TEST(a_file_system_with_our_label_is_adopted),
                TEST(a_labelled_file_system_on_fewer_disks_fails),
                TEST(two_file_systems_with_our_label_are_not_guessed_about),
                TEST(no_plan_ever_writes_to_a_disk_that_may_hold_data),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
