/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Overlays' files land where the image would find them, and nowhere else. */

#include "sandbox/copy-tree.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

static char top[64];
static char *source, *root, *outside;

static void discard(int level _unused_, const char *line _unused_, void *userdata _unused_) {
}

static int setup(void **state _unused_) {
        snprintf(top, sizeof(top), "/tmp/test-copy-tree.XXXXXX");
        assert_non_null(mkdtemp(top));
        source = path_join(top, "source");
        root = path_join(top, "root");
        outside = path_join(top, "outside");
        assert_int_equal(mkdir(source, 0755), 0);
        assert_int_equal(mkdir(root, 0755), 0);
        assert_int_equal(mkdir(outside, 0755), 0);
        return 0;
}

static int teardown(void **state _unused_) {
        free(source);
        free(root);
        free(outside);
        log_set_writer(NULL, NULL);
        return rm_rf(top);
}

static void put(const char *folder, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), mode), 0);
}

static void folder(const char *below, const char *name, mode_t mode) {
        _cleanup_free_ char *path = path_join(below, name);

        assert_int_equal(mkdir_p(path, mode), 0);
        assert_int_equal(chmod(path, mode), 0);
}

static void link_to(const char *target, const char *below, const char *name) {
        _cleanup_free_ char *path = path_join(below, name);

        assert_int_equal(symlink(target, path), 0);
}

static mode_t mode_of(const char *name) {
        _cleanup_free_ char *path = path_join(root, name);
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode;
}

static void has(const char *below, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(below, name), *got = NULL;

        assert_int_equal(read_file(path, 1000, &got, NULL), 0);
        assert_string_equal(got, text);
}

static int copy(const CopyOptions *options) {
        CopyOptions o = options ? *options : (CopyOptions) {};

        o.what = "files";
        return copy_tree(source, root, "/", &o);
}

static void links_of_the_image_are_followed_inside_it(void **state _unused_) {
        folder(root, "usr/lib", 0755);
        link_to("usr/lib", root, "lib");
        link_to("/usr/lib", root, "absolute");
        put(source, "lib/one", "1", 0644);
        put(source, "absolute/two", "2", 0644);
        assert_int_equal(copy(NULL), 0);
        has(root, "usr/lib/one", "1");
        has(root, "usr/lib/two", "2");
        assert_true(S_ISLNK(mode_of("lib")));
}

static void no_link_of_the_image_leads_out_of_it(void **state _unused_) {
        _cleanup_free_ char *escaped = path_join(outside, "file");

        link_to("../outside", root, "up");
        link_to(outside, root, "absolute");
        log_set_writer(discard, NULL);
        put(source, "up/file", "x", 0644);
        (void) copy(NULL);
        assert_int_equal(access(escaped, F_OK), -1);
        _cleanup_free_ char *up = path_join(source, "up");
        assert_int_equal(rm_rf(up), 0);
        put(source, "absolute/file", "x", 0644);
        (void) copy(NULL);
        assert_int_equal(access(escaped, F_OK), -1);
}

static void folders_that_are_there_keep_their_modes(void **state _unused_) {
        folder(root, "etc/secret", 0700);
        put(source, "etc/secret/file", "x", 0644);
        folder(source, "etc/secret", 0755);
        assert_int_equal(copy(&(CopyOptions) { .git_modes = true }), 0);
        assert_int_equal(mode_of("etc/secret") & 07777, 0700);
}

static void git_modes_are_normalised(void **state _unused_) {
        put(source, "plain", "x", 0600);
        put(source, "program", "x", 0700);
        folder(source, "folder", 0770);
        assert_int_equal(copy(&(CopyOptions) { .git_modes = true }), 0);
        assert_int_equal(mode_of("plain") & 07777, 0644);
        assert_int_equal(mode_of("program") & 07777, 0755);
        assert_int_equal(mode_of("folder") & 07777, 0755);
}

static void other_modes_are_kept_as_they_are(void **state _unused_) {
        put(source, "helper", "x", 04755);
        assert_int_equal(copy(NULL), 0);
        assert_int_equal(mode_of("helper") & 07777, 04755);
}

static void modes_that_the_overlay_names_win(void **state _unused_) {
        _cleanup_json_ json_object *modes = json_object_new_object();

        assert_int_equal(json_set_string(modes, "etc/key", "0600"), 0);
        assert_int_equal(json_set_string(modes, "etc/folder", "0750"), 0);
        put(source, "etc/key", "x", 0644);
        folder(source, "etc/folder", 0755);
        folder(root, "etc/folder", 0755);
        assert_int_equal(copy(&(CopyOptions) { .git_modes = true, .modes = modes }), 0);
        assert_int_equal(mode_of("etc/key") & 07777, 0600);
        assert_int_equal(mode_of("etc/folder") & 07777, 0750);
}

static void a_file_replaces_a_link(void **state _unused_) {
        put(outside, "target", "untouched", 0644);
        link_to("../../outside/target", root, "file");
        put(source, "file", "new", 0644);
        assert_int_equal(copy(NULL), 0);
        has(root, "file", "new");
        has(outside, "target", "untouched");
        assert_true(S_ISREG(mode_of("file")));
}

static void links_are_copied_as_links(void **state _unused_) {
        link_to("/etc/somewhere", source, "link");
        assert_int_equal(copy(NULL), 0);
        assert_true(S_ISLNK(mode_of("link")));
}

static void a_folder_in_the_way_is_an_error(void **state _unused_) {
        log_set_writer(discard, NULL);
        put(root, "etc/thing/inside", "x", 0644);
        put(source, "etc/thing", "x", 0644);
        assert_int_equal(copy(NULL), -EISDIR);
        has(root, "etc/thing/inside", "x");
}

static bool only_modules(const char *path, void *userdata _unused_) {
        return startswith(path, "lib/modules");
}

static void only_what_is_wanted_is_copied(void **state _unused_) {
        _cleanup_free_ char *other = path_join(root, "etc");

        put(source, "lib/modules/x", "x", 0644);
        put(source, "etc/file", "x", 0644);
        assert_int_equal(copy(&(CopyOptions) { .wanted = only_modules }), 0);
        has(root, "lib/modules/x", "x");
        assert_int_equal(access(other, F_OK), -1);
}

static void a_large_file_arrives_whole(void **state _unused_) {
        _cleanup_free_ char *text = malloc(5 << 20), *path = path_join(root, "deep/large"),
                            *from = path_join(source, "large");
        struct stat st;

        memset(text, 'x', 5 << 20);
        assert_int_equal(write_file_atomic(from, text, 5 << 20, 0644), 0);
        assert_int_equal(copy_file(from, root, "/deep/large", 0640), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 5 << 20);
        assert_int_equal(st.st_mode & 07777, 0640);
}

static void holes_stay_holes(void **state _unused_) {
        _cleanup_free_ char *from = path_join(source, "sparse"), *to = path_join(root, "sparse");
        _cleanup_close_ int fd = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        char text[4] = "";
        struct stat st;

        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, "one", 3, 1 << 20), 3);
        assert_int_equal(ftruncate(fd, 10LL << 30), 0);
        assert_int_equal(copy_tree(source, root, "", &(CopyOptions) { .what = "files" }), 0);

        assert_int_equal(stat(to, &st), 0);
        assert_int_equal(st.st_size, 10LL << 30);
        assert_true(st.st_blocks * 512 < 1 << 20);
        close(fd);
        fd = open(to, O_RDONLY | O_CLOEXEC);
        assert_int_equal(pread(fd, text, 3, 1 << 20), 3);
        assert_string_equal(text, "one");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(links_of_the_image_are_followed_inside_it),
                TEST(no_link_of_the_image_leads_out_of_it),
                TEST(folders_that_are_there_keep_their_modes),
                TEST(git_modes_are_normalised),
                TEST(other_modes_are_kept_as_they_are),
                TEST(modes_that_the_overlay_names_win),
                TEST(a_file_replaces_a_link),
                TEST(links_are_copied_as_links),
                TEST(a_folder_in_the_way_is_an_error),
                TEST(only_what_is_wanted_is_copied),
                TEST(a_large_file_arrives_whole),
                TEST(holes_stay_holes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
