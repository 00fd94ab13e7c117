/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* User data that makes volumes: found, waited for, and what it made taken. */

#include "root-fixture.h"
#include "steps/scratch/user-data.h"

#define CONFIG "/var/lib/cloud/instance/cloud-config.txt"

static void assert_finds(const char *expected) {
        _cleanup_free_ char *command = NULL;

        assert_return_code(user_data_find(&command), 0);
        if (!expected) {
                assert_null(command);
                return;
        }
        assert_non_null(command);
        assert_string_equal(command, expected);
}

static int setup(void **state) {
        if (root_setup(state) < 0)
                return -1;
        root_put(PATH_CLOUD_INIT_DATA, "{}");
        return 0;
}

static void the_documents_runcmd_is_found(void **state) {
        (void) state;
        root_put(CONFIG,
                        "#cloud-config\nruncmd:\n- vgcreate nvme /dev/nvme0n1 /dev/nvme1n1\n- mkfs.xfs -L localscratch /dev/nvme/lvol0\ntimezone: Asia/Tokyo\n");
        assert_finds("vgcreate");
}

static void lists_paths_and_strings_in_quotes_are_read(void **state) {
        (void) state;
        root_put(CONFIG, "runcmd:\n- [/usr/sbin/mkfs.xfs, -L, x, /dev/nvme0n1]\n");
        assert_finds("mkfs.xfs");
        root_put(CONFIG, "write_files:\n- content: \"#!/bin/sh\\nmdadm --create\\n\"\n");
        assert_finds("mdadm");
}

static void a_script_as_user_data_is_read(void **state) {
        (void) state;
        root_put("/var/lib/cloud/instance/scripts/part-001",
                        "#!/bin/sh\n# vgcreate is for others\nmkfs -t xfs /dev/nvme0n1\n");
        assert_finds("mkfs");
}

static void what_makes_no_volume_is_no_reason_to_wait(void **state) {
        (void) state;
        root_put(CONFIG,
                        "#cloud-config\n# vgcreate\nruncmd:\n- vgs\n- echo mkfs_later mymkfs.xfs\n- systemctl disable --now firewalld\n");
        assert_finds(NULL);
}

static void user_data_of_a_cloud_init_that_is_off_does_not_count(void **state) {
        _cleanup_free_ char *running = fb_path(PATH_CLOUD_INIT_DATA);

        (void) state;
        root_put(CONFIG, "runcmd:\n- vgcreate nvme /dev/nvme0n1\n");
        assert_int_equal(unlink(running), 0);
        assert_finds(NULL);
}

static StepContext *context(void) {
        static StepContext c;

        c = (StepContext) { .name = "scratch", .result = json_object_new_object() };
        return &c;
}

static void the_wait_is_over_when_cloud_init_is(void **state) {
        StepContext *c = context();

        (void) state;
        root_put(PATH_CLOUD_INIT_RESULT, "{}");
        assert_int_equal(user_data_wait(c, "vgcreate", 0), 0);
        json_object_put(c->result);
}

static void a_wait_in_vain_says_for_what_and_is_tried_again(void **state) {
        StepContext *c = context();

        (void) state;
        assert_int_equal(user_data_wait(c, "vgcreate", 0), -EAGAIN);
        assert_string_equal(json_get_string(c->result, "code"), "scratch.user-data");
        assert_non_null(strstr(json_get_string(c->result, "message"), "vgcreate"));
        json_object_put(c->result);
}

/* Neither could go first: cloud-init waits for the node, and the node for cloud-init. */
static void a_wait_for_who_waits_for_us_names_the_knot(void **state) {
        static const char *const waits[] = {
                "- until test -e /run/firstboot/ready; do sleep 1; done\n",
                "- firstbootctl status --wait\n",
                "- [firstbootctl, rerun, --wait, scratch]\n",
                "- systemctl start node-ready.target\n",
        };
        StepContext *plain = context();

        (void) state;
        root_put(CONFIG, "runcmd:\n- vgcreate a /dev/b\n- echo ready\n- firstbootctl status\n");
        assert_int_equal(user_data_wait(plain, "vgcreate", 0), -EAGAIN);
        assert_null(strstr(json_get_string(plain->result, "message"), "waits for the node"));
        json_object_put(plain->result);
        for (size_t i = 0; i < ELEMENTSOF(waits); i++) {
                _cleanup_free_ char *text = strf("runcmd:\n- vgcreate a /dev/b\n%s", waits[i]);
                StepContext *c = context();

                root_put(CONFIG, text);
                assert_int_equal(user_data_wait(c, "vgcreate", 0), -EAGAIN);
                assert_string_equal(json_get_string(c->result, "code"), "scratch.user-data");
                assert_non_null(strstr(
                                json_get_string(c->result, "message"), "waits for the node"));
                json_object_put(c->result);
        }
}

/* Local disks nvme0n1 and nvme1n1; dm-0 stands on them, dm-1 on the first and on sda. */
static Disk local[] = { { .name = (char *) "nvme0n1" }, { .name = (char *) "nvme1n1" } };
static const Disks disks = { .items = local, .n = 2 };

static void link_to(const char *name, const char *target) {
        _cleanup_free_ char *path = fb_path(name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(symlink(target, path), 0);
}

static void put_machine(const char *mount_number, const char *source) {
        _cleanup_free_ char *info = NULL, *mounts = NULL;

        root_put("/sys/devices/nvme0n1/size", "8");
        root_put("/sys/devices/nvme1n1/size", "8");
        root_put("/sys/devices/sda/size", "8");
        root_put("/sys/devices/dm-0/size", "8");
        root_put("/sys/devices/dm-1/size", "8");
        link_to("/sys/dev/block/253:0", "../../devices/dm-0");
        link_to("/sys/dev/block/253:1", "../../devices/dm-1");
        link_to("/sys/class/block/nvme0n1", "../../devices/nvme0n1");
        link_to("/sys/class/block/nvme1n1", "../../devices/nvme1n1");
        link_to("/sys/class/block/sda", "../../devices/sda");
        link_to("/sys/devices/dm-0/slaves/nvme0n1", "../../nvme0n1");
        link_to("/sys/devices/dm-0/slaves/nvme1n1", "../../nvme1n1");
        link_to("/sys/devices/dm-1/slaves/nvme0n1", "../../nvme0n1");
        link_to("/sys/devices/dm-1/slaves/sda", "../../sda");
        info = strf("30 1 %s / /mnt/localdisk rw - xfs %s rw\n", mount_number, source);
        mounts = strf("%s /mnt/localdisk xfs rw 0 0\n", source);
        root_put("/proc/self/mountinfo", info);
        root_put("/proc/self/mounts", mounts);
}

static void what_is_mounted_on_local_disks_is_the_volume_whatever_its_label(void **state) {
        DiskFacts facts[2] = {};

        (void) state;
        put_machine("253:0", "/dev/mapper/nvme-lvol0");
        assert_return_code(user_data_adopt(&disks, "/mnt/localdisk", facts), 0);
        for (size_t i = 0; i < 2; i++) {
                assert_non_null(facts[i].labelled);
                assert_string_equal(facts[i].labelled, "/dev/mapper/nvme-lvol0");
                disk_facts_done(&facts[i]);
        }
}

static void what_stands_on_other_disks_too_is_not(void **state) {
        DiskFacts facts[2] = {};

        (void) state;
        put_machine("253:1", "/dev/mapper/mixed");
        assert_return_code(user_data_adopt(&disks, "/mnt/localdisk", facts), 0);
        assert_null(facts[0].labelled);
        assert_null(facts[1].labelled);
}

static void what_is_mounted_elsewhere_is_not(void **state) {
        DiskFacts facts[2] = {};

        (void) state;
        put_machine("253:0", "/dev/mapper/nvme-lvol0");
        assert_return_code(user_data_adopt(&disks, "/scratch", facts), 0);
        assert_null(facts[0].labelled);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_documents_runcmd_is_found),
                TEST(lists_paths_and_strings_in_quotes_are_read),
                TEST(a_script_as_user_data_is_read),
                TEST(what_makes_no_volume_is_no_reason_to_wait),
                TEST(user_data_of_a_cloud_init_that_is_off_does_not_count),
                TEST(the_wait_is_over_when_cloud_init_is),
                TEST(a_wait_in_vain_says_for_what_and_is_tried_again),
                TEST(a_wait_for_who_waits_for_us_names_the_knot),
                TEST(what_is_mounted_on_local_disks_is_the_volume_whatever_its_label),
                TEST(what_stands_on_other_disks_too_is_not),
                TEST(what_is_mounted_elsewhere_is_not),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
