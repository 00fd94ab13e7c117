/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A layer that was packed is, planted again, the same layer, and its archive the same bytes. */

#include "stage/pack.h"
#include "stage/plant.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

static char top[64];
static char *tree, *archive, *out;

static int setup(void **state _unused_) {
        snprintf(top, sizeof(top), "/var/tmp/test-pack.XXXXXX"); /* where attributes can be set */
        assert_non_null(mkdtemp(top));
        tree = path_join(top, "tree");
        archive = path_join(top, "archive");
        out = path_join(top, "out");
        assert_int_equal(mkdir(tree, 0755), 0);
        return 0;
}

static int teardown(void **state _unused_) {
        free(tree);
        free(archive);
        free(out);
        return rm_rf(top);
}

static char *at(const char *name) {
        char *path = path_join(tree, name);

        assert_non_null(path);
        return path;
}

static void make_file(const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = at(name);

        assert_int_equal(write_file_atomic(path, text, strlen(text), mode), 0);
        assert_int_equal(chmod(path, mode), 0);
}

static void make_folder(const char *name) {
        _cleanup_free_ char *path = at(name);

        assert_int_equal(mkdir(path, 0750), 0);
}

static int pack(void) {
        _cleanup_close_ int fd = open(archive, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        return pack_layer(tree, false, 2, fd);
}

static int plant(bool userxattr, Planted *planted, char **ret_why) {
        _cleanup_close_ int fd = open(archive, O_RDONLY | O_CLOEXEC);
        const LayerRoom room = { .folder = out, .packed = 1 << 20, .userxattr = userxattr };

        assert_true(fd >= 0);
        assert_int_equal(rm_rf(out), 0);
        assert_int_equal(mkdir(out, 0755), 0);
        return plant_layer(fd, &room, planted, ret_why);
}

static void assert_same(bool userxattr) {
        _cleanup_free_ char *why = NULL;
        Planted planted = {};
        Digest before, after;
        int r;

        assert_int_equal(pack(), 0);
        r = plant(userxattr, &planted, &why);
        if (r < 0)
                fail_msg("%s", strempty(why));
        assert_int_equal(layer_portable_digest(tree, before), 0);
        assert_int_equal(layer_portable_digest(out, after), 0);
        assert_string_equal(before, after);
}

static struct stat stat_of(const char *name) {
        _cleanup_free_ char *path = path_join(out, name);
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st;
}

static void files_links_modes_and_times_come_back(void **state _unused_) {
        const struct timespec times[] = { { 1000000000, 123456789 }, { 1000000000, 123456789 } };
        _cleanup_free_ char *file = at("d/file"), *hard = at("d/hard"), *link = at("link"),
                            *pipe = at("pipe"), *folder = at("d");
        char name[201] = "d/";

        make_folder("d");
        make_file("d/file", "text", 04711);
        assert_int_equal(linkat(AT_FDCWD, file, AT_FDCWD, hard, 0), 0);
        assert_int_equal(symlink("/etc/shadow", link), 0);
        assert_int_equal(mkfifo(pipe, 0600), 0);
        make_file("d/\xff\xc3\n", "no name of a locale", 0644);
        memset(name + 2, 'n', sizeof(name) - 3);
        make_file(name, "long", 0644);
        assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
        assert_int_equal(utimensat(AT_FDCWD, folder, times, 0), 0);

        assert_same(false);
        assert_int_equal(stat_of("d/file").st_ino, stat_of("d/hard").st_ino);
        assert_int_equal(stat_of("d/file").st_mode, S_IFREG | 04711);
        assert_int_equal(stat_of("d").st_mtim.tv_nsec, 123456789);
}

static void holes_stay_holes(void **state _unused_) {
        _cleanup_free_ char *middle = at("middle"), *whole = at("whole"), *end = at("end");

        make_file("middle", "a", 0644);
        assert_int_equal(truncate(middle, 8 << 20), 0);
        {
                _cleanup_close_ int fd = open(middle, O_WRONLY | O_CLOEXEC);

                assert_int_equal(pwrite(fd, "b", 1, 5 << 20), 1);
        }
        make_file("whole", "", 0644);
        assert_int_equal(truncate(whole, 4 << 20), 0);
        make_file("end", "x", 0644);
        assert_int_equal(truncate(end, 3 << 20), 0);

        assert_same(false);
        assert_int_equal(stat_of("middle").st_size, 8 << 20);
        assert_true(stat_of("middle").st_blocks < 2048);
        assert_int_equal(stat_of("whole").st_size, 4 << 20);
        assert_int_equal(stat_of("whole").st_blocks, 0);
        assert_true(stat_of("end").st_blocks < 2048);
}

/* Root's alone, as root's overlayfs writes them. */
static void what_a_layer_hides_comes_back(void **state _unused_) {
        _cleanup_free_ char *whiteout = at("gone"), *folder = at("new"),
                            *made = path_join(out, "new");
        char value[8];

        if (mknod(whiteout, S_IFCHR, makedev(0, 0)) < 0)
                skip();
        make_folder("new");
        if (setxattr(folder, "trusted.overlay.opaque", "y", 1, 0) < 0)
                skip();
        assert_int_equal(setxattr(folder, "trusted.overlay.origin", "host's", 6, 0), 0);
        assert_int_equal(setxattr(folder, "user.mine", "1", 1, 0), 0);

        assert_same(false);
        assert_int_equal(stat_of("gone").st_mode & S_IFMT, S_IFCHR);
        assert_int_equal(stat_of("gone").st_rdev, 0);
        assert_int_equal(getxattr(made, "trusted.overlay.opaque", value, sizeof(value)), 1);
        assert_true(getxattr(made, "trusted.overlay.origin", value, sizeof(value)) < 0);

        assert_same(true);
        assert_int_equal(getxattr(made, "user.overlay.opaque", value, sizeof(value)), 1);
        assert_true(getxattr(made, "trusted.overlay.opaque", value, sizeof(value)) < 0);
}

/* For its owner, a user 4321, its group, the mask and all others, as the kernel has it. */
static const unsigned char access_list[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0,
        0xe1, 0x10, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4,
        0, 255, 255, 255, 255 };

static void give(const char *name, const char *attribute) {
        _cleanup_free_ char *path = at(name);

        if (setxattr(path, attribute, access_list, sizeof(access_list), 0) < 0)
                skip(); /* not on this file system */
}

/* What a folder gives to those that are made in it later, those in the archive do not get. */
static void access_lists_come_back_where_they_were(void **state _unused_) {
        make_folder("d");
        make_folder("d/plain");
        make_file("d/plain/file", "x", 0644);
        make_file("d/named", "x", 0644);
        give("d/named", "system.posix_acl_access");
        give("d", "system.posix_acl_default");

        assert_same(false);
}

static void the_same_layer_has_the_same_archive(void **state _unused_) {
        Digest first, second;

        make_folder("b");
        make_file("b/2", "2", 0600);
        make_file("a", "1", 0600);
        assert_int_equal(pack(), 0);
        assert_int_equal(digest_file(archive, first, NULL), 0);
        assert_int_equal(pack(), 0);
        assert_int_equal(digest_file(archive, second, NULL), 0);
        assert_string_equal(first, second);
}

static void a_socket_is_not_packed(void **state _unused_) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", tree);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(pack(), -ENOTSUP);
}

static void one_that_is_cut_off_is_told(void **state _unused_) {
        _cleanup_free_ char *why = NULL;
        Planted planted = {};

        make_file("a", "1", 0600);
        assert_int_equal(pack(), 0);
        assert_int_equal(truncate(archive, 30), 0);
        assert_int_equal(plant(false, &planted, &why), -EPIPE);
        assert_non_null(why);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(files_links_modes_and_times_come_back),
                TEST(holes_stay_holes),
                TEST(what_a_layer_hides_comes_back),
                TEST(access_lists_come_back_where_they_were),
                TEST(the_same_layer_has_the_same_archive),
                TEST(a_socket_is_not_packed),
                TEST(one_that_is_cut_off_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
