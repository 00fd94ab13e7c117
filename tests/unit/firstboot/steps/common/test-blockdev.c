/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which disks are local, by a sysfs of our own making. */

#include "root-fixture.h"
#include "steps/common/blockdev.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

static void link_to(const char *name, const char *target) {
        _cleanup_free_ char *path = fb_path(name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(symlink(target, path), 0);
}

static void disk(const char *name, const char *model, const char *serial, const char *transport,
                const char *sectors, const char *number) {
        _cleanup_free_ char *folder = strf("/sys/block/%s", name),
                            *a = strf("%s/device/model", folder),
                            *b = strf("%s/device/serial", folder),
                            *c = strf("%s/device/transport", folder), *d = strf("%s/size", folder),
                            *e = strf("/sys/dev/block/%s", number),
                            *f = strf("../../block/%s", name),
                            *g = strf("/sys/class/block/%s", name);

        root_put(a, model);
        root_put(b, serial);
        root_put(c, transport);
        root_put(d, sectors);
        link_to(e, f);
        link_to(g, f);
}

static int setup(void **state) {
        if (root_setup(state) < 0)
                return -1;
        root_put("/proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/root rw\n");
        root_put("/proc/swaps", "Filename Type Size Used Priority\n");
        return 0;
}

static Disks local(char *const *patterns) {
        Disks d = {};

        assert_return_code(disks_local(patterns, &d), 0);
        return d;
}

static void disks_are_ordered_by_serial(void **state) {
        (void) state;
        disk("nvme0n1", "Micron_9300                             ", "BBB   \n", "pcie\n", "1000\n",
                        "259:10");
        disk("nvme1n1", "Micron_9300\n", "AAA\n", "pcie\n", "1000\n", "259:11");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 2);
        assert_string_equal(d.items[0].serial, "AAA");
        assert_string_equal(d.items[1].path, "/dev/nvme0n1");
        assert_string_equal(d.items[1].model, "Micron_9300");
        assert_true(d.items[0].bytes == 512000);
}

static void network_volumes_are_left_out(void **state) {
        (void) state;
        disk("nvme0n1", "Amazon Elastic Block Store\n", "vol1\n", "pcie\n", "1000\n", "259:10");
        disk("nvme1n1", "Amazon EC2 NVMe Instance Storage\n", "AWS1\n", "pcie\n", "1000\n",
                        "259:11");
        disk("nvme2n1", "nvme_card-pd\n", "p\n", "pcie\n", "1000\n", "259:12");
        disk("nvme3n1", "MSFT NVMe Accelerator v1.0\n", "p\n", "pcie\n", "1000\n", "259:13");
        disk("nvme4n1", "Linux\n", "t\n", "tcp\n", "1000\n", "259:14");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.items[0].name, "nvme1n1");
}

static void the_disk_of_the_root_partition_is_left_out(void **state) {
        (void) state;
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:10");
        root_put("/sys/block/nvme0n1/nvme0n1p1/partition", "1\n");
        link_to("/sys/dev/block/259:1", "../../block/nvme0n1/nvme0n1p1");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_int_equal(d.n_others, 1);
        assert_string_equal(d.items[0].serial, "B");
}

static void disks_below_a_root_on_lvm_are_left_out(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 253:0 / / rw - xfs /dev/mapper/vg-root rw\n");
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:10");
        disk("nvme2n1", "M\n", "C\n", "pcie\n", "1000\n", "259:20");
        root_put("/sys/block/nvme0n1/nvme0n1p3/partition", "3\n");
        link_to("/sys/class/block/nvme0n1p3", "../../block/nvme0n1/nvme0n1p3");
        root_put("/sys/block/dm-0/dev", "253:0\n");
        link_to("/sys/dev/block/253:0", "../../block/dm-0");
        link_to("/sys/block/dm-0/slaves/nvme0n1p3", "../../nvme0n1/nvme0n1p3");
        link_to("/sys/block/dm-0/slaves/nvme2n1", "../../nvme2n1");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.items[0].serial, "B");
}

static void a_disk_with_swap_in_use_is_left_out(void **state) {
        (void) state;
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        root_put("/proc/swaps",
                        "Filename Type Size Used Priority\n/dev/nvme0n1 partition 1 0 -2\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

static void paths_of_multipath_and_empty_namespaces_are_no_disks(void **state) {
        (void) state;
        disk("nvme0c0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "0\n", "259:1");
        disk("sda", "M\n", "C\n", "pcie\n", "1000\n", "8:0");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

static void models_can_be_chosen(void **state) {
        char *const *patterns = ARGV("Micron*");

        (void) state;
        disk("nvme0n1", "Micron_9300\n", "A\n", "pcie\n", "1000\n", "259:10");
        disk("nvme1n1", "Samsung\n", "B\n", "pcie\n", "1000\n", "259:11");
        _cleanup_disks_ Disks d = local(patterns);
        assert_int_equal(d.n, 1);
}

static void holders_are_partitions_and_mapped_devices(void **state) {
        _cleanup_strv_free_ char **holders = NULL;

        (void) state;
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:10");
        root_put("/sys/block/nvme0n1/nvme0n1p1/dev", "259:12\n");
        link_to("/sys/class/block/nvme0n1p1", "../../block/nvme0n1/nvme0n1p1");
        root_put("/sys/block/dm-1/dev", "253:1\n");
        link_to("/sys/class/block/dm-1", "../../block/dm-1");
        link_to("/sys/block/nvme0n1/holders/dm-1", "../../dm-1");
        assert_return_code(disk_holders("nvme0n1", &holders), 0);
        assert_int_equal(strv_length(holders), 2);
        assert_true(strv_contains(holders, "253:1"));
        assert_true(strv_contains(holders, "259:12"));
}

/* The head of a multipath namespace: its device is a subsystem, which knows its controllers. */
static void head(const char *name, const char *number, const char *serial) {
        _cleanup_free_ char *folder = strf("/sys/block/%s", name),
                            *transport = strf("%s/device/transport", folder), *path = NULL;

        disk(name, "M\n", serial, "", "1000\n", number);
        path = fb_path(transport);
        assert_return_code(unlink(path), 0);
}

static void controller(const char *name, const char *controller, const char *transport) {
        _cleanup_free_ char *path = strf("/sys/block/%s/device/%s/transport", name, controller);

        root_put(path, transport);
}

static void a_namespace_of_a_fabric_is_not_local(void **state) {
        (void) state;
        head("nvme0n1", "259:10", "A\n");
        controller("nvme0n1", "nvme0", "tcp\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

static void a_namespace_without_controllers_is_not_local(void **state) {
        (void) state;
        head("nvme0n1", "259:10", "A\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

static void one_controller_on_a_fabric_is_one_too_many(void **state) {
        (void) state;
        head("nvme0n1", "259:10", "A\n");
        controller("nvme0n1", "nvme0", "pcie\n");
        controller("nvme0n1", "nvme1", "rdma\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

static void a_multipath_namespace_on_pcie_is_local(void **state) {
        (void) state;
        head("nvme0n1", "259:10", "A\n");
        controller("nvme0n1", "nvme0", "pcie\n");
        controller("nvme0n1", "nvme1", "pcie\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
}

static void one_disk_by_two_ways_is_marked(void **state) {
        (void) state;
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:10");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:11");
        disk("nvme2n1", "M\n", "C\n", "pcie\n", "1000\n", "259:12");
        root_put("/sys/block/nvme0n1/wwid", "eui.1\n");
        root_put("/sys/block/nvme1n1/wwid", "eui.2\n");
        root_put("/sys/block/nvme2n1/wwid", "eui.1\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 3);
        assert_true(d.items[0].twice);
        assert_false(d.items[1].twice);
        assert_true(d.items[2].twice);
}

static void the_systems_disk_by_another_way_is_marked(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 259:0 / / rw - ext4 /dev/nvme0n1 rw\n");
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:11");
        root_put("/sys/block/nvme0n1/wwid", "eui.1\n");
        root_put("/sys/block/nvme1n1/wwid", "eui.1\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_true(d.items[0].twice);
}

static void controllers_made_of_software_need_to_be_named(void **state) {
        char *const *patterns = ARGV("Some*");

        (void) state;
        disk("nvme0n1", "Some Cloud Volume\n", "A\n", "pcie\n", "1000\n", "259:10");
        disk("nvme1n1", "QEMU NVMe Ctrl\n", "B\n", "pcie\n", "1000\n", "259:11");
        disk("nvme2n1", "Amazon EC2 NVMe Instance Storage\n", "C\n", "pcie\n", "1000\n", "259:12");
        disk("nvme3n1", "SAMSUNG MZ\n", "D\n", "pcie\n", "1000\n", "259:13");
        root_put("/sys/block/nvme0n1/device/device/vendor", "0x15b3\n");
        root_put("/sys/block/nvme2n1/device/device/vendor", "0x1d0f\n");
        root_put("/sys/block/nvme3n1/device/device/vendor", "0x144d\n");
        _cleanup_disks_ Disks all = local(NULL);
        assert_int_equal(all.n, 2);
        assert_string_equal(all.items[0].serial, "C");
        assert_string_equal(all.items[1].serial, "D");
        assert_int_equal(strv_length(all.emulated), 2);
        assert_string_equal(all.emulated[0], "/dev/nvme0n1 (model Some Cloud Volume)");

        _cleanup_disks_ Disks named = local(patterns);
        assert_int_equal(named.n, 1);
        assert_string_equal(named.items[0].serial, "A");
        assert_int_equal(named.n_others, 3);
}

static void a_new_model_of_a_clouds_own_controller_is_not_local(void **state) {
        (void) state;
        disk("nvme0n1", "Amazon Something New\n", "A\n", "pcie\n", "1000\n", "259:10");
        root_put("/sys/block/nvme0n1/device/device/vendor", "0x1d0f\n");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 0);
}

/* btrfs has a device number of its own, of which sysfs knows nothing. */
static void all_disks_of_a_btrfs_root_are_left_out(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 0:27 /@ / rw - btrfs /dev/nvme0n1p2 rw\n");
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:10");
        disk("nvme2n1", "M\n", "C\n", "pcie\n", "1000\n", "259:20");
        root_put("/dev/nvme0n1p2", "");
        root_put("/sys/block/nvme0n1/nvme0n1p2/partition", "2\n");
        link_to("/sys/class/block/nvme0n1p2", "../../block/nvme0n1/nvme0n1p2");
        root_put("/sys/fs/btrfs/features/raid56", "1\n");
        root_put("/sys/fs/btrfs/u-u-i-d/devices/nvme0n1p2", "");
        root_put("/sys/fs/btrfs/u-u-i-d/devices/nvme2n1", "");
        root_put("/sys/fs/btrfs/another/devices/nvme1n1", "");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.items[0].serial, "B");
}

static void the_disk_of_an_encrypted_root_is_left_out(void **state) {
        (void) state;
        root_put("/proc/self/mountinfo", "22 1 0:27 /@ / rw - btrfs /dev/mapper/root rw\n");
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:10");
        root_put("/dev/dm-0", "");
        link_to("/dev/mapper/root", "../dm-0");
        root_put("/sys/block/dm-0/dev", "253:0\n");
        link_to("/sys/class/block/dm-0", "../../block/dm-0");
        root_put("/sys/block/nvme0n1/nvme0n1p3/partition", "3\n");
        link_to("/sys/class/block/nvme0n1p3", "../../block/nvme0n1/nvme0n1p3");
        link_to("/sys/block/dm-0/slaves/nvme0n1p3", "../../nvme0n1/nvme0n1p3");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.items[0].serial, "B");
}

/* A live system: a file on the disk is the root file system's device. */
static void the_disk_of_a_root_image_is_left_out(void **state) {
        _cleanup_free_ char *image = fb_path("/images/root.img"), *number = NULL;
        struct stat st;

        (void) state;
        root_put("/proc/self/mountinfo", "22 1 7:0 / / rw - squashfs /dev/loop0 ro\n");
        root_put("/images/root.img", "");
        assert_return_code(stat(image, &st), errno);
        disk("nvme0n1", "M\n", "A\n", "pcie\n", "1000\n", "259:0");
        disk("nvme1n1", "M\n", "B\n", "pcie\n", "1000\n", "259:10");
        number = strf("/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
        link_to(number, "../../block/nvme0n1");
        root_put("/sys/block/loop0/loop/backing_file", "/images/root.img\n");
        link_to("/sys/dev/block/7:0", "../../block/loop0");
        _cleanup_disks_ Disks d = local(NULL);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.items[0].serial, "B");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(disks_are_ordered_by_serial),
                TEST(network_volumes_are_left_out),
                TEST(the_disk_of_the_root_partition_is_left_out),
                TEST(disks_below_a_root_on_lvm_are_left_out),
                TEST(a_disk_with_swap_in_use_is_left_out),
                TEST(paths_of_multipath_and_empty_namespaces_are_no_disks),
                TEST(models_can_be_chosen),
                TEST(holders_are_partitions_and_mapped_devices),
                TEST(a_namespace_of_a_fabric_is_not_local),
                TEST(a_namespace_without_controllers_is_not_local),
                TEST(one_controller_on_a_fabric_is_one_too_many),
                TEST(a_multipath_namespace_on_pcie_is_local),
                TEST(one_disk_by_two_ways_is_marked),
                TEST(the_systems_disk_by_another_way_is_marked),
                TEST(controllers_made_of_software_need_to_be_named),
                TEST(a_new_model_of_a_clouds_own_controller_is_not_local),
                TEST(all_disks_of_a_btrfs_root_are_left_out),
                TEST(the_disk_of_an_encrypted_root_is_left_out),
                TEST(the_disk_of_a_root_image_is_left_out),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
