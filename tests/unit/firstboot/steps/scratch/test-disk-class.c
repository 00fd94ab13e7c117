/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a disk is taken for, by what is found on it, and what the admin reads of it. */

#include "scratch-plan-fixture.h"

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

static void a_foreign_disk_in_use_is_not_called_one_to_wipe(void **state) {
        (void) state;
        sign(1, "zfs_member", "filesystem");
        facts[1].busy = true;
        make_plan(N);
        assert_fails("scratch.in-use", "zfs_member filesystem, in use by");
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_foreign_signature_fails_with_device_serial_and_signature),
                TEST(every_foreign_disk_is_named),
                TEST(another_hosts_volume_group_is_foreign),
                TEST(our_tag_on_a_disk_with_a_second_signature_is_foreign),
                TEST(a_tag_that_only_resembles_ours_is_foreign),
                TEST(a_disk_that_cannot_be_read_fails),
                TEST(a_blank_disk_in_use_fails),
                TEST(data_without_signature_is_left_alone),
                TEST(data_without_signature_goes_where_the_serial_is_claimed),
                TEST(a_claim_is_for_its_own_serial),
                TEST(a_claim_lets_no_signature_go),
                TEST(remains_are_foreign),
                TEST(remains_of_our_own_half_made_group_are_taken_up),
                TEST(disks_whose_group_was_never_written_are_taken_up),
                TEST(a_lost_group_is_foreign_where_ours_was_finished),
                TEST(other_remains_are_foreign_while_ours_is_half_made),
                TEST(a_foreign_disk_in_use_is_not_called_one_to_wipe),
                TEST(an_orphan_on_record_is_used),
                TEST(an_orphan_not_on_record_is_foreign),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
