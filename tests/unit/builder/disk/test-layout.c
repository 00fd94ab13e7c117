/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char tree_digest[] =
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char other_digest[] =
                "baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static Recipe recipe_with(const char *filesystem, bool bios, uint64_t size) {
        static char *uefi_only[] = { (char *) "uefi", NULL },
                    *both[] = { (char *) "uefi", (char *) "bios", NULL };

        return (Recipe) { .disk = { .size = size,
                                          .filesystem = (char *) filesystem,
                                          .firmware = bios ? both : uefi_only } };
}

static Layout make(const Recipe *recipe, uint64_t bytes, uint64_t inodes) {
        Layout l;
        uint64_t needed;

        assert_int_equal(layout_make(recipe, tree_digest, &(TreeSize) { bytes, inodes }, &l,
                                         &needed),
                        0);
        return l;
}

static void partitions_are_aligned_and_do_not_overlap(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", true, 4 * GIB + 12345);
        Layout l = make(&recipe, GIB, 30000);

        assert_int_equal(l.size, 4 * GIB);
        assert_int_equal(l.bios_start, MIB);
        assert_int_equal(l.esp_start, l.bios_start + BIOS_SIZE);
        assert_int_equal(l.root_start, l.esp_start + ESP_SIZE);
        assert_int_equal(l.root_start % MIB, 0);
        assert_int_equal(l.root_start + l.root_size + GPT_TAIL, l.size);
}

static void without_bios_there_is_no_bios_partition(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", false, 0);
        Layout l = make(&recipe, GIB, 30000);

        assert_int_equal(l.bios_start, 0);
        assert_int_equal(l.esp_start, MIB);
        _cleanup_free_ char *script = layout_sfdisk_script(&l);
        assert_null(strstr(script, "bios"));
}

static void size_left_out_gives_a_quarter_of_room(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", false, 0);
        Layout l = make(&recipe, 2 * GIB, 60000);

        assert_true(l.root_size >= 2 * GIB + GIB / 2);
        assert_true(l.root_size < 3 * GIB);
}

static void too_small_a_disk_says_what_it_needs(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", false, GIB);
        TreeSize tree = { 2 * GIB, 60000 };
        uint64_t needed = 0;
        Layout l;

        assert_int_equal(layout_make(&recipe, tree_digest, &tree, &l, &needed), -ENOSPC);
        recipe.disk.size = needed;
        assert_int_equal(layout_make(&recipe, tree_digest, &tree, &l, &needed), 0);
}

static void xfs_is_never_smaller_than_mkfs_takes(void **state _unused_) {
        Recipe recipe = recipe_with("xfs", false, 0);
        Layout l = make(&recipe, 10 * MIB, 100);

        assert_true(l.root_size >= 300 * MIB);
}

static void many_small_files_get_more_inodes(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", false, 0);
        Layout few = make(&recipe, GIB, 30000), many = make(&recipe, GIB, 200000);

        assert_int_equal(few.inode_ratio, 16384);
        assert_true(many.root_size / many.inode_ratio >= 250000);
}

static void identifiers_depend_on_the_tree_alone(void **state _unused_) {
        Recipe small = recipe_with("ext4", false, 0), large = recipe_with("xfs", true, 8 * GIB);
        Layout a = make(&small, GIB, 30000), b = make(&large, GIB, 30000), c;
        uint64_t needed;

        assert_string_equal(a.root_uuid, b.root_uuid);
        assert_string_equal(a.esp_id, b.esp_id);
        assert_int_equal(layout_make(&small, other_digest, &(TreeSize) { GIB, 30000 }, &c, &needed),
                        0);
        assert_string_not_equal(a.root_uuid, c.root_uuid);
        assert_string_not_equal(a.disk_guid, c.disk_guid);
}

static void identifiers_differ_from_each_other(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", true, 0);
        Layout l = make(&recipe, GIB, 30000);
        const char *all[] = { l.disk_guid, l.bios_guid, l.esp_guid, l.root_guid, l.root_uuid,
                l.hash_seed };

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                for (size_t k = i + 1; k < ELEMENTSOF(all); k++)
                        assert_string_not_equal(all[i], all[k]);
}

static void uuids_are_of_version_8(void **state _unused_) {
        char uuid[37];

        assert_int_equal(derive_uuid(tree_digest, "root", uuid), 0);
        assert_int_equal(strlen(uuid), 36);
        assert_int_equal(uuid[14], '8');
        assert_non_null(strchr("89ab", uuid[19]));
        for (size_t i = 0; i < 36; i++)
                assert_true(i == 8 || i == 13 || i == 18 || i == 23
                                                ? uuid[i] == '-'
                                                : !!strchr("0123456789abcdef", uuid[i]));
}

static void esp_serial_is_what_fat_tools_print(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", false, 0);
        Layout l = make(&recipe, GIB, 30000);

        assert_int_equal(strlen(l.esp_id), 9);
        assert_int_equal(l.esp_id[4], '-');
        for (const char *p = l.esp_id; *p; p++)
                assert_non_null(strchr("0123456789ABCDEF-", *p));
}

static void fstab_names_root_and_never_blocks_on_the_esp(void **state _unused_) {
        Recipe recipe = recipe_with("xfs", false, 0);
        Layout l = make(&recipe, GIB, 30000);
        _cleanup_free_ char *text = layout_fstab(&l), *root = strf("UUID=%s / xfs ", l.root_uuid),
                            *esp = strf("UUID=%s /boot/efi vfat umask=0077,nofail", l.esp_id);

        assert_non_null(strstr(text, root));
        assert_non_null(strstr(text, esp));
}

static void fstab_without_uefi_has_no_esp(void **state _unused_) {
        static char *bios[] = { (char *) "bios", NULL };
        Recipe recipe = { .disk = { .filesystem = (char *) "ext4", .firmware = bios } };
        Layout l = make(&recipe, GIB, 30000);
        _cleanup_free_ char *text = layout_fstab(&l);

        assert_null(strstr(text, "vfat"));
        assert_int_equal(l.esp_start, 0);
}

static void grub_boots_the_kernel_with_a_serial_console(void **state _unused_) {
        Layout l = { .root_uuid = "1-2" };
        _cleanup_free_ char *text = layout_grub_config(
                        &l, &(BootKernel) { "6.12-x", "/boot/initrd.img-6.12-x", "" });

        assert_non_null(strstr(text,
                        "linux /boot/vmlinuz-6.12-x root=UUID=1-2 ro console=tty0 console=ttyS0,115200\n"));
        assert_non_null(strstr(text, "initrd /boot/initrd.img-6.12-x\n"));
}

static void a_console_of_the_recipe_replaces_ours(void **state _unused_) {
        Layout l = { .root_uuid = "1-2" };
        _cleanup_free_ char *text =
                        layout_grub_config(&l, &(BootKernel) { "6.12-x", "/boot/initrd.img-6.12-x",
                                                               "quiet console=ttyAMA0" });

        assert_non_null(strstr(text, "root=UUID=1-2 ro 'quiet' 'console=ttyAMA0'\n"));
        assert_null(strstr(text, "ttyS0,"));
}

static void grub_takes_the_command_line_literally(void **state _unused_) {
        Layout l = { .root_uuid = "1-2" };
        _cleanup_free_ char *text = layout_grub_config(
                        &l, &(BootKernel) { "6.12-x", "/boot/initrd.img-6.12-x",
                                            "a=$(reboot);'x} dyndbg=\"file a.c +p\"" });

        assert_non_null(strstr(text, " 'a=$(reboot);'\\''x}' 'dyndbg=file a.c +p'\n"));
}

static void an_entry_for_the_boot_loader_specification_says_the_same(void **state _unused_) {
        Layout l = { .root_uuid = "1-2" };
        _cleanup_free_ char *text = layout_bls_entry(&l, "rocky 9",
                        &(BootKernel) { "5.14-x", "/boot/initramfs-5.14-x.img", "quiet" });

        assert_string_equal(text,
                        "title rocky 9 (5.14-x)\nversion 5.14-x\nlinux /boot/vmlinuz-5.14-x\n"
                        "initrd /boot/initramfs-5.14-x.img\n"
                        "options root=UUID=1-2 ro console=tty0 console=ttyS0,115200 quiet\n"
                        "grub_users $grub_users\ngrub_arg --unrestricted\ngrub_class kernel\n");
}

static void the_command_line_splits_as_the_kernel_does(void **state _unused_) {
        _cleanup_strv_free_ char **words = cmdline_split(" a  b=\"c d\"\te\"\"f\n");

        assert_int_equal(strv_length(words), 3);
        assert_string_equal(words[0], "a");
        assert_string_equal(words[1], "b=c d");
        assert_string_equal(words[2], "ef");
}

static void an_empty_command_line_has_no_words(void **state _unused_) {
        _cleanup_strv_free_ char **words = cmdline_split("  ");

        assert_non_null(words);
        assert_int_equal(strv_length(words), 0);
}

static void sfdisk_script_says_everything_that_could_be_random(void **state _unused_) {
        Recipe recipe = recipe_with("ext4", true, 4 * GIB);
        Layout l = make(&recipe, GIB, 30000);
        _cleanup_free_ char *
                        script = layout_sfdisk_script(&l),
                       *label = strf("label-id: %s\n", l.disk_guid),
                       *root = strf("start=130MiB, size=3965MiB, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, uuid=%s, name=\"root\"\n",
                                       l.root_guid);

        assert_non_null(strstr(script, label));
        assert_non_null(strstr(script, root));
        assert_non_null(strstr(script, l.esp_guid));
        assert_non_null(strstr(script, l.bios_guid));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(partitions_are_aligned_and_do_not_overlap),
                cmocka_unit_test(without_bios_there_is_no_bios_partition),
                cmocka_unit_test(size_left_out_gives_a_quarter_of_room),
                cmocka_unit_test(too_small_a_disk_says_what_it_needs),
                cmocka_unit_test(xfs_is_never_smaller_than_mkfs_takes),
                cmocka_unit_test(many_small_files_get_more_inodes),
                cmocka_unit_test(identifiers_depend_on_the_tree_alone),
                cmocka_unit_test(identifiers_differ_from_each_other),
                cmocka_unit_test(uuids_are_of_version_8),
                cmocka_unit_test(esp_serial_is_what_fat_tools_print),
                cmocka_unit_test(fstab_names_root_and_never_blocks_on_the_esp),
                cmocka_unit_test(fstab_without_uefi_has_no_esp),
                cmocka_unit_test(grub_boots_the_kernel_with_a_serial_console),
                cmocka_unit_test(a_console_of_the_recipe_replaces_ours),
                cmocka_unit_test(grub_takes_the_command_line_literally),
                cmocka_unit_test(an_entry_for_the_boot_loader_specification_says_the_same),
                cmocka_unit_test(the_command_line_splits_as_the_kernel_does),
                cmocka_unit_test(an_empty_command_line_has_no_words),
                cmocka_unit_test(sfdisk_script_says_everything_that_could_be_random),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
