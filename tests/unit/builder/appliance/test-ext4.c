/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Systems on ext4 as mke2fs makes them and debugfs breaks them, read without an appliance; tar is
 * the judge of what comes out. */

#include "folder-fixture.h"
#include "log-fixture.h"

#include "appliance/ext4.h"
#include "shared/spawn.h"

#include <fcntl.h>

static void sh(const char *script) {
        int status;

        assert_int_equal(spawn_run(NULL, ARGV("sh", "-ec", (char *) script), &status), 0);
        if (status != 0)
                fail_msg("exit code %d: %s", status, script);
}

#define TREE                                                                    \
        "mkdir -p tree/etc tree/dev tree/srv; echo ID=x >tree/etc/os-release; " \
        "echo 'LABEL=root / ext4 defaults 0 1' >tree/etc/fstab; "
/* One partition of 30 MiB. KIND: mke2fs' options. */
#define DISK(kind)                                                    \
        "truncate -s 40M disk; printf '1M,30M\\n' | sfdisk -q disk; " \
        "mke2fs -q -F -L root -d tree -E offset=1048576 " kind " disk 30M 2>/dev/null; "
#define DEBUGFS(command) "debugfs -w -R '" command "' 'disk?offset=1048576' 2>/dev/null >&2; "
/* What is to be the same on both sides. */
#define LIST                                                                                              \
        "(find . -printf '%p %y %m %U %G %l %n %s %TY-%Tm-%Td %TH:%TM:%TS\\n' | grep -v '^[.] ' | sort; " \
        "find . -type f -print0 | sort -z | xargs -0 sha256sum; getfattr -Rhdm - . | grep -v '^$'; getfacl -pR .)"
#define UNPACK \
        "mkdir out; tar -C out --warning=no-unknown-keyword --xattrs --xattrs-include='*' -xpf tar; "

static int open_system(const char *root, Ext4System *ret) {
        _cleanup_close_ int disk = open("disk", O_RDONLY | O_CLOEXEC);

        assert_true(disk >= 0);
        return ext4_system_open(disk, root, ret);
}

static int pour(char **ret_why) {
        _cleanup_ext4_system_ Ext4System s = {};
        _cleanup_close_ int to = open("tar", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(to >= 0);
        assert_int_equal(open_system(NULL, &s), 1);
        return ext4_pour(&s, to, ret_why);
}

static void assert_poured(void) {
        _cleanup_free_ char *why = NULL;
        int r = pour(&why);

        if (r < 0)
                fail_msg("%s", why ? why : strerror(-r));
        sh(UNPACK);
}

static void assert_damaged(const char *says) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(pour(&why), -EBADMSG);
        if (!strstr(why, says))
                fail_msg("%s: not about %s", why, says);
}

static void assert_not_for_us(const char *root) {
        _cleanup_ext4_system_ Ext4System s = {};

        assert_int_equal(open_system(root, &s), 0);
}

#define MUCH                                                                                                              \
        "cd tree/srv; mkdir -p many deep/er/still; for i in $(seq 300); do echo $i >many/file-$i; done; "                 \
        "seq 30000 >large; : >empty; ln large many/large; ln -s short fast; ln -s $(printf 'long%.0s/' $(seq 30)) slow; " \
        "mkfifo pipe; mknod null c 1 3; mknod disk b 259 70000; echo x >'name \\ with'; "                                 \
        "setfacl -m u:4321:rw large; setfacl -d -m u:4321:rwx deep; setfattr -n user.comment -v 'a comment' large; "      \
        "setfattr -n trusted.mark -v 0x0001ff many; setfattr -n user.big -v $(printf 'v%.0s' $(seq 700)) empty; "         \
        "chown -h 4321:70000 fast large; chmod 4751 many/file-1; chmod 1777 deep; cd ../..; rmdir tree/dev; "             \
        "find tree -exec touch -hd '2001-02-03 04:05:06Z' {} +; "

static void all_that_a_file_system_holds_comes_out(void **state _unused_) {
        sh(TREE MUCH DISK("-t ext4"));
        assert_poured();
        sh("(cd tree && " LIST ") >a; (cd out && " LIST ") >b; diff a b");
}

static void an_ext2_too(void **state _unused_) {
        sh(TREE MUCH "seq 900000 >tree/srv/indirect; touch -hd '2001-02-03 04:05:06Z' tree/srv tree/srv/indirect; " DISK(
                        "-t ext2 -b 1024"));
        assert_poured();
        sh("(cd tree && " LIST ") >a; (cd out && " LIST ") >b; diff a b");
}

static void files_within_their_inodes(void **state _unused_) {
        sh(TREE "echo small >tree/srv/small; ln -s $(printf 'long%.0s/' $(seq 14)) tree/srv/link; " DISK(
                        "-t ext4 -I 512 -O inline_data"));
        assert_poured();
        sh("cmp tree/srv/small out/srv/small; test $(readlink out/srv/link) = $(readlink tree/srv/link)");
}

static void holes_stay_holes(void **state _unused_) {
        sh(TREE "truncate -s 3G tree/srv/hole tree/srv/sparse; echo middle | dd of=tree/srv/sparse bs=1 seek=1G conv=notrunc status=none; " DISK(
                        "-t ext4"));
        assert_poured();
        sh("cmp tree/srv/sparse out/srv/sparse; test $(stat -c %s out/srv/hole) = 3221225472; "
           "test $(stat -c %b out/srv/hole) = 0; test $(stat -c %b out/srv/sparse) -le 16; test $(stat -c %s tar) -lt 200000");
}

static void what_was_reserved_and_never_written_is_zero(void **state _unused_) {
        sh(TREE "yes secret | head -c 4M >tree/srv/junk; : >tree/srv/reserved; " DISK(
                        "-t ext4") DEBUGFS("rm /srv/junk") DEBUGFS("fallocate /srv/reserved 0 500")
                                        DEBUGFS("sif /srv/reserved size 2000000"));
        assert_poured();
        sh("test $(stat -c %s out/srv/reserved) = 2000000; ! grep -q secret out/srv/reserved");
}

static void nanoseconds_and_years_beyond_2038(void **state _unused_) {
        sh(TREE "echo x >tree/srv/late; " DISK("-t ext4")
                                        DEBUGFS("sif /srv/late mtime_lo 0x00000001") DEBUGFS(
                                                        "sif /srv/late mtime_extra 0x1d6f3455"));
        assert_poured();
        sh("test \"$(TZ=UTC stat -c %y out/srv/late)\" = '2106-02-07 06:28:17.123456789 +0000'");
}

static void folders_that_a_system_mounts_over_are_empty(void **state _unused_) {
        sh(TREE "mkdir -p tree/tmp tree/run tree/boot/loader/entries; touch tree/dev/x tree/tmp/x tree/run/x tree/boot/loader/entries/x; " DISK(
                        "-t ext4"));
        assert_poured();
        sh("test -z \"$(find out -name x -o -name lost+found)\"; test -d out/tmp -a -d out/boot/loader/entries");
}

/* Berkeley DB's memory of another boot: rpm waits for who has died with it. */
static void what_rpm_s_database_shared_while_it_was_open_stays_behind(void **state _unused_) {
        sh(TREE "mkdir -p tree/var/lib/rpm tree/srv; touch tree/var/lib/rpm/__db.001 tree/var/lib/rpm/Packages tree/srv/__db.001; " DISK(
                        "-t ext4"));
        assert_poured();
        sh("test ! -e out/var/lib/rpm/__db.001 -a -e out/var/lib/rpm/Packages -a -e out/srv/__db.001");
}

static void a_file_system_apart_is_where_fstab_says(void **state _unused_) {
        sh(TREE "echo 'LABEL=boot /boot ext4 defaults 0 2' >>tree/etc/fstab; echo 'UUID=ABCD-1234 /boot/efi vfat umask=0077 0 1' >>tree/etc/fstab; mkdir -p tree/boot/below boot/efi; echo k >boot/vmlinuz; "
                "truncate -s 60M disk; printf '1M,30M\\n32M,10M\\n43M,10M\\n' | sfdisk -q disk; mke2fs -q -F -L root -t ext4 -d tree -E offset=1048576 disk 30M; "
                "mke2fs -q -F -L boot -t ext4 -d boot -E offset=$((32 << 20)) disk 10M 2>/dev/null; truncate -s 10M esp; mkfs.vfat -i ABCD1234 esp >/dev/null; dd if=esp of=disk bs=1M seek=43 conv=notrunc status=none");
        assert_poured();
        sh("test -s out/boot/vmlinuz -a -d out/boot/efi -a ! -e out/boot/below -a ! -e out/boot/lost+found");
}

static void a_system_is_looked_for_where_the_recipe_says(void **state _unused_) {
        _cleanup_ext4_system_ Ext4System s = {};

        sh(TREE DISK("-t ext4"));
        assert_int_equal(open_system("/dev/sda1", &s), 1);
        assert_not_for_us("/dev/sda2");
        assert_not_for_us("/dev/vg/root");
}

static void a_second_file_system_that_fstab_does_not_name(void **state _unused_) {
        sh(TREE "truncate -s 60M disk; printf '1M,30M\\n32M,10M\\n' | sfdisk -q disk; mke2fs -q -F -L root -t ext4 -d tree -E offset=1048576 disk 30M; "
                "mke2fs -q -F -t ext4 -E offset=$((32 << 20)) disk 10M 2>/dev/null");
        assert_not_for_us(NULL);
}

static void another_kind_of_file_system(void **state _unused_) {
        sh(TREE "truncate -s 60M disk; printf '1M,30M\\n32M,20M\\n' | sfdisk -q disk; mke2fs -q -F -L root -t ext4 -d tree -E offset=1048576 disk 30M 2>/dev/null; "
                "truncate -s 20M luks; echo x | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 luks -; dd if=luks of=disk bs=1M seek=32 conv=notrunc status=none");
        assert_not_for_us(NULL);
}

static void a_line_of_fstab_that_is_not_understood(void **state _unused_) {
        sh(TREE "echo 'UUID=12345678-0000-0000-0000-000000000000 /var ext4 defaults 0 2' >>tree/etc/fstab; " DISK(
                        "-t ext4"));
        assert_not_for_us(NULL);
}

static void a_system_that_was_not_shut_down(void **state _unused_) {
        sh(TREE DISK("-t ext4") DEBUGFS("ssv state 0"));
        assert_not_for_us(NULL);
}

static void a_journal_that_has_to_be_read(void **state _unused_) {
        sh(TREE DISK("-t ext4") DEBUGFS("feature needs_recovery"));
        assert_not_for_us(NULL);
}

static void a_file_system_that_is_longer_than_its_partition(void **state _unused_) {
        sh(TREE DISK("-t ext4") "printf '1M,20M\\n' | sfdisk -q --no-reread disk");
        assert_not_for_us(NULL);
}

/* Of holes alone: without an end to it, an hour's. */
static void a_file_that_is_larger_than_any_can_be_is_damage(void **state _unused_) {
        sh(TREE "echo x >tree/srv/file; " DISK("-t ext4")
                                        DEBUGFS("sif /srv/file size 0x7ffffffffff00000"));
        assert_damaged("/srv/file: it is larger than a file can be");
}

static void a_folder_in_itself_ends_it(void **state _unused_) {
        sh(TREE "mkdir tree/srv/inside; " DISK("-t ext4") DEBUGFS("ln /srv /srv/inside/again"));
        assert_damaged("/srv/inside/again: this folder is in several others");
}

static void a_name_of_a_deleted_file(void **state _unused_) {
        sh(TREE "echo x >tree/srv/gone; " DISK("-t ext4") DEBUGFS("ln /srv/gone /srv/ghost")
                                        DEBUGFS("sif /srv/gone links_count 0"));
        assert_damaged("leads to a file that was deleted");
}

static void a_name_with_a_slash(void **state _unused_) {
        sh(TREE "echo x >tree/srv/a0b; " DISK(
                        "-t ext4 -O ^metadata_csum") "offset=$(grep -abo a0b disk | head -n 1 | cut -d: -f1); printf / | dd of=disk bs=1 seek=$((offset + 1)) conv=notrunc status=none");
        assert_damaged("a name that none can have");
}

static void a_folder_whose_sum_is_wrong(void **state _unused_) {
        sh(TREE "echo x >tree/srv/a0b; " DISK(
                        "-t ext4 -O metadata_csum") "offset=$(grep -abo a0b disk | head -n 1 | cut -d: -f1); printf c | dd of=disk bs=1 seek=$((offset + 1)) conv=notrunc status=none");
        assert_damaged("/srv: ");
}

static void blocks_beyond_the_disk(void **state _unused_) {
        sh(TREE "seq 3000 >tree/srv/file; " DISK("-t ext2")
                                        DEBUGFS("sif /srv/file block[0] 0x7fffffff"));
        assert_damaged("/srv/file: ");
}

static int stream(const char *format, int *ret_size) {
        _cleanup_close_ int to = open("tar", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        struct stat st;
        int r;

        lines = strv_free(lines);
        log_begin();
        r = ext4_stream("image", format, NULL, ".", to);
        log_end();
        assert_int_equal(fstat(to, &st), 0);
        *ret_size = (int) st.st_size;
        return r;
}

static void a_process_without_rights_does_it(void **state _unused_) {
        int size;

        sh(TREE MUCH DISK("-t ext4") "ln disk image");
        assert_int_equal(stream("raw", &size), 1);
        sh(UNPACK "(cd tree && " LIST ") >a; (cd out && " LIST ") >b; diff a b");
}

static void a_qcow2_is_made_raw_for_it_and_that_is_gone_afterwards(void **state _unused_) {
        int size;

        sh(TREE DISK("-t ext4") "qemu-img convert -c -O qcow2 disk image");
        assert_int_equal(stream("qcow2", &size), 1);
        sh(UNPACK "cmp tree/etc/fstab out/etc/fstab; test ! -e disk.raw");
}

static void who_waits_no_longer_is_not_waited_for(void **state) {
        _cleanup_free_ char *path = strf("%s/bin:%s", (const char *) *state, getenv("PATH")),
                            *before = strdup(getenv("PATH"));
        int fds[2];
        time_t begin;

        sh("mkdir bin; printf '#!/bin/sh\\nexec sleep 20\\n' >bin/qemu-img; chmod +x bin/qemu-img; : >image");
        assert_int_equal(pipe(fds), 0);
        close(fds[0]);
        setenv("PATH", path, 1);
        begin = time(NULL);
        assert_int_equal(ext4_stream("image", "qcow2", NULL, ".", fds[1]), -ECANCELED);
        setenv("PATH", before, 1);
        close(fds[1]);
        assert_true(time(NULL) - begin < 10);
}

static void what_is_not_for_it_has_nothing_written(void **state _unused_) {
        int size;

        sh(TREE DISK("-t ext4") DEBUGFS("ssv state 0") "ln disk image");
        assert_int_equal(stream("raw", &size), 0);
        assert_int_equal(size, 0);
        assert_int_equal(strv_length(lines), 0);
}

static void damage_is_told_once(void **state _unused_) {
        int size;

        sh(TREE "mkdir tree/srv/inside; " DISK("-t ext4")
                                        DEBUGFS("ln /srv /srv/inside/again") "ln disk image");
        assert_int_equal(stream("raw", &size), -EIO);
        assert_int_equal(strv_length(lines), 1);
        assert_non_null(strstr(lines[0],
                        "image: its files cannot all be read, so it is damaged or was cut off: /srv/inside/again"));
        lines = strv_free(lines);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(all_that_a_file_system_holds_comes_out),
                TEST(an_ext2_too),
                TEST(files_within_their_inodes),
                TEST(holes_stay_holes),
                TEST(what_was_reserved_and_never_written_is_zero),
                TEST(nanoseconds_and_years_beyond_2038),
                TEST(folders_that_a_system_mounts_over_are_empty),
                TEST(what_rpm_s_database_shared_while_it_was_open_stays_behind),
                TEST(a_file_that_is_larger_than_any_can_be_is_damage),
                TEST(a_file_system_apart_is_where_fstab_says),
                TEST(a_system_is_looked_for_where_the_recipe_says),
                TEST(a_second_file_system_that_fstab_does_not_name),
                TEST(another_kind_of_file_system),
                TEST(a_line_of_fstab_that_is_not_understood),
                TEST(a_system_that_was_not_shut_down),
                TEST(a_journal_that_has_to_be_read),
                TEST(a_file_system_that_is_longer_than_its_partition),
                TEST(a_folder_in_itself_ends_it),
                TEST(a_name_of_a_deleted_file),
                TEST(a_name_with_a_slash),
                TEST(a_folder_whose_sum_is_wrong),
                TEST(blocks_beyond_the_disk),
                TEST(a_process_without_rights_does_it),
                TEST(a_qcow2_is_made_raw_for_it_and_that_is_gone_afterwards),
                TEST(who_waits_no_longer_is_not_waited_for),
                TEST(what_is_not_for_it_has_nothing_written),
                TEST(damage_is_told_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
