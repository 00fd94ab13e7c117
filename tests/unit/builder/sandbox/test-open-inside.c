/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A tree's links lead where they would in the booted image, and nowhere else. */

#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

static char path[64];
static int root_fd = -EBADF;

static void put(const char *name, const char *text) {
        _cleanup_free_ char *file = path_join(path, name);

        assert_int_equal(mkdir_parents(file, 0755), 0);
        assert_int_equal(write_file_atomic(file, text, strlen(text), 0644), 0);
}

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-inside.XXXXXX");
        assert_non_null(mkdtemp(path));
        put("etc/name", "inside\n");
        root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(root_fd >= 0);
        return 0;
}

static int teardown(void **state _unused_) {
        root_fd = safe_close(root_fd);
        return rm_rf(path);
}

static void assert_inside(const char *name) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        assert_int_equal(inside_read_file(root_fd, name, 100, &text, &size), 0);
        assert_string_equal(text, "inside\n");
        assert_int_equal(size, strlen("inside\n"));
}

static void a_leading_slash_does_not_matter(void **state _unused_) {
        assert_inside("etc/name");
        assert_inside("/etc/name");
        assert_inside("///etc/name");
}

static void an_empty_path_is_the_tree(void **state _unused_) {
        struct stat tree, st;

        _cleanup_close_ int fd = inside_open(root_fd, "", O_RDONLY | O_DIRECTORY),
                            slash = inside_open(root_fd, "/", O_PATH);
        assert_true(fd >= 0 && slash >= 0);
        assert_int_equal(fstat(root_fd, &tree), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_ino, tree.st_ino);
        assert_int_equal(fstat(slash, &st), 0);
        assert_int_equal(st.st_ino, tree.st_ino);
}

static void links_lead_nowhere_else(void **state _unused_) {
        assert_int_equal(symlinkat("/etc/name", root_fd, "absolute"), 0);
        assert_int_equal(symlinkat("../../../../../../etc/name", root_fd, "dots"), 0);
        assert_int_equal(symlinkat("/", root_fd, "top"), 0);
        assert_inside("absolute");
        assert_inside("dots");
        assert_inside("top/top/etc/name");
        assert_inside("../../etc/name");
}

/* A link of /proc names a file of this process, wherever that is. */
static void magic_links_are_not_followed(void **state _unused_) {
        _cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(proc >= 0);
        assert_int_equal(inside_open(proc, "self/root", O_PATH | O_DIRECTORY), -ELOOP);
        assert_int_equal(inside_open(proc, "self/cwd/.", O_PATH), -ELOOP);
}

static void what_is_not_there_is_said_so(void **state _unused_) {
        char *text = NULL;

        assert_int_equal(inside_open(root_fd, "etc/none", O_RDONLY), -ENOENT);
        assert_int_equal(inside_open(root_fd, "etc/name/x", O_RDONLY), -ENOTDIR);
        assert_int_equal(inside_read_file(root_fd, "etc/none", 100, &text, NULL), -ENOENT);
        assert_null(text);
}

static void only_regular_files_of_a_size_are_read(void **state _unused_) {
        char *text = NULL;

        assert_int_equal(mkfifoat(root_fd, "pipe", 0600), 0);
        assert_int_equal(inside_read_file(root_fd, "pipe", 100, &text, NULL), -EINVAL);
        assert_int_equal(inside_read_file(root_fd, "etc", 100, &text, NULL), -EINVAL);
        assert_int_equal(inside_read_file(root_fd, "etc/name", 6, &text, NULL), -EFBIG);
        assert_null(text);
}

static void what_a_link_leads_to_stays_when_it_is_removed(void **state _unused_) {
        put("outside/keep", "inside\n");
        assert_int_equal(symlinkat("/outside", root_fd, "inner"), 0);
        assert_int_equal(symlinkat("/outside/keep", root_fd, "last"), 0);

        _cleanup_free_ char *tree = strf("%s/tree", path), *away = strf("%s/tree/away", path),
                            *out = strf("%s/outside", path);
        assert_int_equal(mkdir(tree, 0755), 0);
        assert_int_equal(symlink(out, away), 0); /* of the host, and of nothing in the tree */
        _cleanup_close_ int tree_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(inside_remove(tree_fd, "away/keep"), 0);
        assert_inside("outside/keep");
        assert_int_equal(inside_remove(tree_fd, "away"), 0);
        assert_int_equal(faccessat(tree_fd, "away", F_OK, AT_SYMLINK_NOFOLLOW), -1);

        assert_int_equal(inside_remove(root_fd, "last"), 0);
        assert_inside("outside/keep");
        assert_int_equal(inside_remove(root_fd, "inner/keep"), 0); /* as the image would see it */
        assert_int_equal(inside_open(root_fd, "outside/keep", O_PATH), -ENOENT);
}

static void folders_are_removed_with_what_is_in_them(void **state _unused_) {
        put("var/lists/partial/x", "");
        assert_int_equal(inside_remove(root_fd, "/var/lists"), 0);
        assert_int_equal(inside_open(root_fd, "var/lists", O_PATH), -ENOENT);
        assert_int_equal(inside_remove(root_fd, "var/lists"), 0);
        assert_int_equal(inside_remove(root_fd, "none/at/all"), 0);
        assert_int_equal(inside_remove(root_fd, "var/.."), -EINVAL);
        assert_int_equal(inside_remove(root_fd, "/"), -EINVAL);
}

static void folders_are_made_as_the_image_would_see_them(void **state _unused_) {
        assert_int_equal(symlinkat("/etc", root_fd, "link"), 0);
        assert_int_equal(symlinkat("/none", root_fd, "dangling"), 0);

        _cleanup_close_ int fd = inside_make_folder(root_fd, "link//a/b", 0700);
        assert_true(fd >= 0);
        assert_int_equal(faccessat(root_fd, "etc/a/b", F_OK, 0), 0);
        assert_int_equal(inside_make_folder(root_fd, "dangling/a", 0755), -ENOTDIR);
        assert_int_equal(inside_make_folder(root_fd, "etc/name/a", 0755), -ENOTDIR);
}

static void of_an_output_only_files_are_read(void **state _unused_) {
        char *text = NULL;

        assert_int_equal(symlinkat("etc/name", root_fd, "link"), 0);
        assert_int_equal(mkfifoat(root_fd, "pipe", 0600), 0);
        put("file", "inside\n");
        assert_int_equal(inside_read_output(path, "link", 100, &text, NULL), -ELOOP);
        assert_int_equal(inside_read_output(path, "pipe", 100, &text, NULL), -EINVAL);
        assert_int_equal(inside_read_output(path, "etc", 100, &text, NULL), -EINVAL);
        assert_int_equal(inside_read_output(path, "none", 100, &text, NULL), -ENOENT);
        assert_int_equal(inside_read_output(path, "file", 6, &text, NULL), -EFBIG);
        assert_null(text);
        assert_int_equal(inside_read_output(path, "file", 7, &text, NULL), 0);
        assert_string_equal(text, "inside\n");
        free(text);
}

static void a_new_output_is_written_through_no_link(void **state _unused_) {
        assert_int_equal(symlinkat("etc/name", root_fd, "link"), 0);
        assert_int_equal(mkfifoat(root_fd, "pipe", 0600), 0);

        FILE *f = inside_print_output(path, "link");
        assert_non_null(f);
        fputs("new", f);
        fclose(f);
        assert_inside("etc/name");

        _cleanup_close_ int fd = inside_create_output(path, "pipe", 0600);
        assert_true(fd >= 0);
        assert_int_equal(inside_create_output(path, "etc", 0600), -EISDIR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A lease makes the kernel answer as renames on a busy machine do, for as long as we like. */
static void an_answer_that_passes_is_waited_for(void **state _unused_) {
        int ready[2], fd, status;
        char byte;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                fd = openat(root_fd, "etc/name", O_RDWR);
                signal(SIGIO, SIG_IGN);
                if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0 || write(ready[1], "", 1) != 1)
                        _exit(1);
                usleep(300000);
                _exit(0);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_inside("etc/name");
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(ready[0]);
        close(ready[1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_leading_slash_does_not_matter),
                TEST(an_empty_path_is_the_tree),
                TEST(links_lead_nowhere_else),
                TEST(magic_links_are_not_followed),
                TEST(what_is_not_there_is_said_so),
                TEST(only_regular_files_of_a_size_are_read),
                TEST(an_answer_that_passes_is_waited_for),
                TEST(what_a_link_leads_to_stays_when_it_is_removed),
                TEST(folders_are_removed_with_what_is_in_them),
                TEST(folders_are_made_as_the_image_would_see_them),
                TEST(of_an_output_only_files_are_read),
                TEST(a_new_output_is_written_through_no_link),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
