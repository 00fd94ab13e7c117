/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which disks are local, by a sysfs of our own making. */

#include "root-fixture.h"
#include "steps/common/blockdev.h"

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
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
