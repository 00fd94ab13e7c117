/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is done with disks, for everything that may be found on them. */

#include "steps/scratch/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N 4

/* Four disks S0 … S3, blank unless a test says otherwise. */
static Disk disks[N] = {
        { (char *) "nvme0n1", (char *) "/dev/nvme0n1", (char *) "M", (char *) "S0", 1000000000,
                        NULL, false },
        { (char *) "nvme1n1", (char *) "/dev/nvme1n1", (char *) "M", (char *) "S1", 1000000000,
                        NULL, false },
        { (char *) "nvme2n1", (char *) "/dev/nvme2n1", (char *) "M", (char *) "S2", 1000000000,
                        NULL, false },
        { (char *) "nvme3n1", (char *) "/dev/nvme3n1", (char *) "M", (char *) "S3", 1000000000,
                        NULL, false },
};
static char *all_serials[] = { (char *) "S0", (char *) "S1", (char *) "S2", (char *) "S3", NULL };
static DiskFacts facts[N];
static ScratchRecord record;
static ScratchWish wish;
static ScratchPlan plan;

static int setup(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++)
                facts[i] = (DiskFacts) { .disk = &disks[i] };
        record = (ScratchRecord) {};
        wish = (ScratchWish) { .vg = "localscratch", .label = "localscratch", .expected = -1 };
        plan = (ScratchPlan) {};
        return 0;
}

static int teardown(void **state) {
        (void) state;
        scratch_plan_done(&plan);
        return 0;
}

static void sign(size_t i, const char *type, const char *usage) {
        Signature *s = &facts[i].signatures[facts[i].n_signatures++];

        snprintf(s->type, sizeof(s->type), "%s", type);
        snprintf(s->usage, sizeof(s->usage), "%s", usage);
}

#define UUID "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg"

static void ours(size_t i, const char *tags, unsigned missing) {
        sign(i, "LVM2_member", "raid");
        facts[i].vg = (char *) "localscratch";
        facts[i].vg_uuid = (char *) UUID;
        facts[i].vg_tags = (char *) tags;
        facts[i].vg_missing = missing;
        facts[i].vg_volumes = 1;
}

/* Libblkid finds nothing, but something is left. */
static void leave_remains(size_t i, const char *type) {
        sign(i, type, "remains at byte 4096");
        facts[i].signatures[0].remains = true;
}

static void make_plan(size_t n) {
        assert_return_code(scratch_plan(facts, n, &record, &wish, &plan), 0);
}

static void assert_fails(const char *code, const char *text) {
        assert_int_equal(plan.action, SCRATCH_FAIL);
        assert_string_equal(plan.code, code);
        if (!strstr(plan.message, text))
                fail_msg("\"%s\" is not in \"%s\"", text, plan.message);
}

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

static void a_foreign_signature_fails_with_device_serial_and_signature(void **state) {
        (void) state;
        sign(2, "ext4", "filesystem");
        snprintf(facts[2].signatures[0].label, 64, "data");
        make_plan(N);
        assert_fails("scratch.foreign-signature",
                        "/dev/nvme2n1 (serial S2, 1.0 GB): ext4 filesystem \"data\"");
}

static void every_foreign_disk_is_named(void **state) {
        (void) state;
        sign(0, "gpt", "partition table");
        sign(3, "crypto_LUKS", "crypto");
        make_plan(N);
        assert_fails("scratch.foreign-signature", "gpt partition table");
        assert_non_null(strstr(plan.message, "crypto_LUKS"));
}

static void another_hosts_volume_group_is_foreign(void **state) {
        (void) state;
        sign(1, "LVM2_member", "raid");
        facts[1].vg = (char *) "vg0";
        facts[1].vg_tags = (char *) "";
        make_plan(N);
        assert_fails("scratch.foreign-signature", "of volume group vg0");
}

static void our_tag_on_a_disk_with_a_second_signature_is_foreign(void **state) {
        (void) state;
        ours(0, TAG_OURS, 0);
        sign(0, "ext4", "filesystem");
        make_plan(1);
        assert_int_equal(plan.action, SCRATCH_FAIL);
}

static void a_tag_that_only_resembles_ours_is_foreign(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++)
                ours(i, "firstboot.scratch2", 0);
        make_plan(N);
        assert_fails("scratch.foreign-signature", "localscratch");
}

static void a_disk_that_cannot_be_read_fails(void **state) {
        (void) state;
        facts[1].probe_error = -EIO;
        make_plan(N);
        assert_fails("scratch.probe-failed", "/dev/nvme1n1 (serial S1");
}

static void a_blank_disk_in_use_fails(void **state) {
        (void) state;
        facts[1].holder = (char *) "dm-3";
        make_plan(N);
        assert_fails("scratch.in-use", "in use by dm-3");
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

static void data_without_signature_is_left_alone(void **state) {
        (void) state;
        record.serials = all_serials;
        facts[2].has_data = true;
        facts[2].data_at = 77824;
        make_plan(N);
        assert_fails("scratch.unknown-data",
                        "/dev/nvme2n1 (serial S2, 1.0 GB): no signature, but data at byte 77824");
}

static void data_without_signature_goes_where_the_serial_is_claimed(void **state) {
        (void) state;
        wish.claim = (char *[]) { (char *) "S2", NULL };
        facts[2].has_data = true;
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, N);
}

static void a_claim_is_for_its_own_serial(void **state) {
        (void) state;
        wish.claim = (char *[]) { (char *) "S1", NULL };
        facts[2].has_data = true;
        make_plan(N);
        assert_fails("scratch.unknown-data", "serial S2");
}

static void a_claim_lets_no_signature_go(void **state) {
        (void) state;
        wish.claim = (char *[]) { (char *) "S2", NULL };
        sign(2, "ext4", "filesystem");
        make_plan(N);
        assert_fails("scratch.foreign-signature", "ext4");
}

static void remains_are_foreign(void **state) {
        (void) state;
        record.serials = all_serials;
        leave_remains(1, "LVM2_member");
        make_plan(N);
        assert_fails("scratch.foreign-signature", "LVM2_member remains");
}

static void remains_of_our_own_half_made_group_are_taken_up(void **state) {
        (void) state;
        record = (ScratchRecord) { all_serials, true };
        leave_remains(1, "LVM2_member");
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, N);
}

/* Power went between LVM's label and the group's metadata. */
static void lose_group(size_t i) {
        sign(i, "LVM2_member", "raid");
        facts[i].vg_lost = true;
}

static void disks_whose_group_was_never_written_are_taken_up(void **state) {
        (void) state;
        record = (ScratchRecord) { .serials = all_serials, .unfinished = true };
        lose_group(0);
        lose_group(1);
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, N);
}

static void a_lost_group_is_foreign_where_ours_was_finished(void **state) {
        (void) state;
        record = (ScratchRecord) { .serials = all_serials };
        lose_group(1);
        make_plan(N);
        assert_fails("scratch.foreign-signature",
                        "S1, 1.0 GB): LVM2_member raid of a volume group that no disk knows");
}

static void other_remains_are_foreign_while_ours_is_half_made(void **state) {
        (void) state;
        record = (ScratchRecord) { all_serials, true };
        leave_remains(1, "xfs");
        make_plan(N);
        assert_fails("scratch.foreign-signature", "xfs remains");
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

static void a_foreign_disk_in_use_is_not_called_one_to_wipe(void **state) {
        (void) state;
        sign(1, "zfs_member", "filesystem");
        facts[1].busy = true;
        make_plan(N);
        assert_fails("scratch.in-use", "zfs_member filesystem, in use by");
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

static void an_orphan_on_record_is_used(void **state) {
        (void) state;
        record.serials = all_serials;
        sign(1, "LVM2_member", "raid");
        facts[1].orphan = true;
        make_plan(N);
        assert_int_equal(plan.action, SCRATCH_CREATE);
        assert_int_equal(plan.n_use, N);
}

static void an_orphan_not_on_record_is_foreign(void **state) {
        (void) state;
        sign(1, "LVM2_member", "raid");
        facts[1].orphan = true;
        make_plan(N);
        assert_fails("scratch.foreign-signature", "LVM2_member");
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_users_volume_on_two_of_four_disks_is_taken_as_it_is),
                TEST(blank_disks_are_used),
                TEST(no_disks_are_nothing),
                TEST(no_disks_fail_where_required),
                TEST(a_foreign_signature_fails_with_device_serial_and_signature),
                TEST(every_foreign_disk_is_named),
                TEST(another_hosts_volume_group_is_foreign),
                TEST(our_tag_on_a_disk_with_a_second_signature_is_foreign),
                TEST(a_tag_that_only_resembles_ours_is_foreign),
                TEST(a_disk_that_cannot_be_read_fails),
                TEST(a_blank_disk_in_use_fails),
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
                TEST(data_without_signature_is_left_alone),
                TEST(data_without_signature_goes_where_the_serial_is_claimed),
                TEST(a_claim_is_for_its_own_serial),
                TEST(a_claim_lets_no_signature_go),
                TEST(remains_are_foreign),
                TEST(remains_of_our_own_half_made_group_are_taken_up),
                TEST(disks_whose_group_was_never_written_are_taken_up),
                TEST(a_lost_group_is_foreign_where_ours_was_finished),
                TEST(other_remains_are_foreign_while_ours_is_half_made),
                TEST(a_disk_that_is_there_twice_is_not_used),
                TEST(a_foreign_disk_in_use_is_not_called_one_to_wipe),
                TEST(too_few_names_the_shape_and_what_was_left_out),
                TEST(a_member_that_is_away_is_not_rebuilt_over),
                TEST(a_member_that_is_away_without_record_is_not_rebuilt_over),
                TEST(allow_fewer_does_not_rebuild_over_an_absent_member),
                TEST(one_member_alone_is_not_rebuilt_over_whatever_fewer_may_be),
                TEST(a_whole_volume_group_beside_a_new_blank_disk_is_kept),
                TEST(two_volume_groups_of_ours_are_not_guessed_about),
                TEST(an_orphan_on_record_is_used),
                TEST(an_orphan_not_on_record_is_foreign),
                TEST(a_file_system_with_our_label_is_adopted),
                TEST(a_labelled_file_system_on_fewer_disks_fails),
                TEST(two_file_systems_with_our_label_are_not_guessed_about),
                TEST(no_plan_ever_writes_to_a_disk_that_may_hold_data),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
