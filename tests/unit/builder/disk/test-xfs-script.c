/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/xfs-script.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <cmocka.h>

typedef struct World {
        char folder[64];
        char *tree, *work;
} World;

static char *in_tree(World *w, const char *name) {
        char *path = path_join(w->tree, name);

        assert_non_null(path);
        assert_int_equal(mkdir_parents(path, 0755), 0);
        return path;
}

static void put(World *w, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = in_tree(w, name);

        assert_int_equal(write_file_atomic(path, text, strlen(text), mode), 0);
}

static void put_link(World *w, const char *name, const char *target) {
        _cleanup_free_ char *path = in_tree(w, name);

        assert_int_equal(symlink(target, path), 0);
}

static void put_hard(World *w, const char *from, const char *to) {
        _cleanup_free_ char *a = in_tree(w, from), *b = in_tree(w, to);

        assert_int_equal(link(a, b), 0);
}

static void put_folder(World *w, const char *name, mode_t mode) {
        _cleanup_free_ char *path = in_tree(w, name);

        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        strcpy(w->folder, "/tmp/test-xfs-XXXXXX");
        if (!mkdtemp(w->folder))
                return -1;
        w->tree = path_join(w->folder, "tree");
        w->work = path_join(w->folder, "work");
        if (mkdir(w->tree, 0755) < 0 || mkdir(w->work, 0755) < 0)
                return -1;
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        rm_rf(w->folder);
        free(w->tree);
        free(w->work);
        free(w);
        return 0;
}

static int lists(World *w) {
        return xfs_write_lists(w->tree, "/tree", w->work, "/work", 1000000000);
}

static char *work_file(World *w, const char *name) {
        _cleanup_free_ char *path = path_join(w->work, name);
        char *text = NULL;

        assert_int_equal(read_file(path, 1024 * 1024, &text, NULL), 0);
        return text;
}

static void put_inodes(World *w, const char *text) {
        _cleanup_free_ char *path = path_join(w->work, XFS_INODES);

        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static void folders_open_and_close_in_order_of_names(void **state) {
        World *w = *state;
        put(w, "b/f", "x", 0644);
        put(w, "a/f", "x", 04755);
        assert_int_equal(lists(w), 0);

        _cleanup_free_ char *proto = work_file(w, XFS_PROTO);
        _cleanup_free_ char *expected = NULL;
        assert_true(asprintf(&expected,
                                    "/\n0 0\nd--755 %u %u\na d--755 %u %u\nf -u-755 %u %u /tree/a/f\n$\nb d--755 %u %u\n"
                                    "f ---644 %u %u /tree/b/f\n$\n$\n",
                                    getuid(), getgid(), getuid(), getgid(), getuid(), getgid(),
                                    getuid(), getgid(), getuid(), getgid()) > 0);
        assert_string_equal(proto, expected);
}

static void a_name_with_a_space_goes_through_an_alias(void **state) {
        World *w = *state;
        char target[64] = {};
        put(w, "a file", "x", 0644);
        assert_int_equal(lists(w), 0);

        _cleanup_free_ char *proto = work_file(w, XFS_PROTO),
                            *alias = path_join(w->work, "alias-0");
        assert_non_null(strstr(proto, "\na/file ---644 "));
        assert_non_null(strstr(proto, " /work/alias-0\n"));
        assert_true(readlink(alias, target, sizeof(target) - 1) > 0);
        assert_string_equal(target, "/tree/a file");
}

static void what_a_protofile_cannot_say_is_refused(void **state) {
        World *w = *state;
        put_link(w, "l", "to a place");
        assert_int_equal(lists(w), -EOPNOTSUPP);
}

static void a_tab_in_a_name_is_refused(void **state) {
        World *w = *state;
        put(w, "a\tb", "x", 0644);
        assert_int_equal(lists(w), -EOPNOTSUPP);
}

static void symbolic_links_keep_their_target(void **state) {
        World *w = *state;
        put_link(w, "bin", "usr/bin");
        assert_int_equal(lists(w), 0);
        _cleanup_free_ char *proto = work_file(w, XFS_PROTO);
        assert_non_null(strstr(proto, "\nbin l--777 "));
        assert_non_null(strstr(proto, " usr/bin\n"));
}

static void times_are_written_by_inode_and_clamped(void **state) {
        World *w = *state;
        _cleanup_free_ char *path = NULL;
        const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };

        put(w, "new", "x", 0644);
        put(w, "old", "x", 0644);
        path = in_tree(w, "old");
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(lists(w), 0);
        put_inodes(w, "rootino = 128\n        131 new\n        132 old\n");
        assert_int_equal(xfs_write_scripts(w->work), 0);

        _cleanup_free_ char *script = work_file(w, XFS_TIME_SCRIPT), *expected = NULL;
        assert_true(asprintf(&expected,
                                    "inode 128\nwrite core.mtime 0x%llx\ninode 131\nwrite "
                                    "core.mtime 0x%llx\ninode 132\nwrite core.mtime 0x%llx\n",
                                    (unsigned long long) xfs_bigtime(1000000000),
                                    (unsigned long long) xfs_bigtime(1000000000),
                                    (unsigned long long) xfs_bigtime(5)) > 0);
        assert_string_equal(script, expected);
}

static void sticky_bits_are_written_by_inode(void **state) {
        World *w = *state;
        put_folder(w, "tmp", 01777);
        assert_int_equal(lists(w), 0);
        put_inodes(w, "rootino = 128\n     524416 tmp/.\n");
        assert_int_equal(xfs_write_scripts(w->work), 0);

        _cleanup_free_ char *proto = work_file(w, XFS_PROTO),
                            *script = work_file(w, XFS_TIME_SCRIPT);
        assert_non_null(strstr(proto, "\ntmp d--777 "));
        assert_non_null(strstr(script, "inode 524416\n"));
        assert_non_null(strstr(script, "write core.mode 041777\n"));
}

static void further_names_become_links(void **state) {
        World *w = *state;
        put(w, "a/first", "x", 0644);
        put_hard(w, "a/first", "b/second");
        assert_int_equal(lists(w), 0);
        put_inodes(w, "rootino = 128\n        131 a/.\n        132 a/first\n     524416 b/.\n");
        assert_int_equal(xfs_write_scripts(w->work), 0);

        _cleanup_free_ char *proto = work_file(w, XFS_PROTO),
                            *script = work_file(w, XFS_LINK_SCRIPT);
        assert_null(strstr(proto, "second"));
        assert_string_equal(script, "inode 524416\nlink -i 132 second\n");
}

static void a_name_that_would_be_a_comment_is_given_afterwards(void **state) {
        World *w = *state;
        put(w, "d/:etc:x", "x", 0644);
        assert_int_equal(lists(w), 0);
        put_inodes(w, "rootino = 128\n        131 d/.\n        132 d/imgbuild-alias-0\n");
        assert_int_equal(xfs_write_scripts(w->work), 0);

        _cleanup_free_ char *proto = work_file(w, XFS_PROTO),
                            *script = work_file(w, XFS_LINK_SCRIPT);
        assert_non_null(strstr(proto, "\nimgbuild-alias-0 ---644 "));
        assert_non_null(strstr(proto, " /tree/d/:etc:x\n"));
        assert_string_equal(script, "inode 131\nlink -i 132 :etc:x\nunlink imgbuild-alias-0\n");
}

static void a_file_that_mkfs_left_out_is_an_error(void **state) {
        World *w = *state;
        put(w, "f", "x", 0644);
        assert_int_equal(lists(w), 0);
        put_inodes(w, "rootino = 128\n");
        assert_int_equal(xfs_write_scripts(w->work), -ENOENT);
}

static void bigtime_counts_from_1901(void **state _unused_) {
        assert_true(xfs_bigtime(-(INT64_C(1) << 31)) == 0);
        assert_true(xfs_bigtime(0) == UINT64_C(2147483648000000000));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                folders_open_and_close_in_order_of_names, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_name_with_a_space_goes_through_an_alias, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                what_a_protofile_cannot_say_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_tab_in_a_name_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(symbolic_links_keep_their_target, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                times_are_written_by_inode_and_clamped, setup, teardown),
                cmocka_unit_test_setup_teardown(sticky_bits_are_written_by_inode, setup, teardown),
                cmocka_unit_test_setup_teardown(further_names_become_links, setup, teardown),
                cmocka_unit_test_setup_teardown(a_name_that_would_be_a_comment_is_given_afterwards,
                                setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_file_that_mkfs_left_out_is_an_error, setup, teardown),
                cmocka_unit_test(bigtime_counts_from_1901),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
