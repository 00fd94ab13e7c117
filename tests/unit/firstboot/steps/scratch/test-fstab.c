/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lines of /etc/fstab that must not stop a boot. */

#include "root-fixture.h"
#include "steps/scratch/fstab.h"

#include <sys/stat.h>

#define ROOT "PARTUUID=1 / ext4 defaults 0 1\n"
#define DOCUMENT "LABEL=localscratch /mnt/localdisk/ xfs defaults,noatime 0 0\n"

static void assert_becomes(const char *before, int result, const char *after) {
        _cleanup_free_ char *path = fb_path("/etc/fstab"), *text = NULL;

        root_put("/etc/fstab", before);
        assert_int_equal(fstab_let_fail("/mnt/localdisk"), result);
        assert_return_code(read_file(path, 4096, &text, NULL), 0);
        assert_string_equal(text, after);
}

static void the_documents_line_gets_nofail(void **state) {
        (void) state;
        assert_becomes(ROOT DOCUMENT, 1,
                        ROOT
                        "LABEL=localscratch /mnt/localdisk/ xfs defaults,noatime,nofail 0 0\n");
}

static void tabs_and_missing_fields_are_kept(void **state) {
        (void) state;
        assert_becomes("\tLABEL=x\t/mnt/localdisk  xfs\tdefaults", 1,
                        "\tLABEL=x\t/mnt/localdisk  xfs\tdefaults,nofail");
}

static void a_line_that_may_fail_is_left(void **state) {
        (void) state;
        assert_becomes("LABEL=x /mnt/localdisk xfs nofail 0 0\n", 0,
                        "LABEL=x /mnt/localdisk xfs nofail 0 0\n");
        assert_becomes("LABEL=x /mnt/localdisk xfs noauto 0 0\n", 0,
                        "LABEL=x /mnt/localdisk xfs noauto 0 0\n");
}

static void other_lines_and_comments_are_left(void **state) {
        (void) state;
        assert_becomes(ROOT
                        "# LABEL=x /mnt/localdisk xfs defaults 0 0\nLABEL=y /mnt/localdisk2 xfs defaults\n\n",
                        0,
                        ROOT
                        "# LABEL=x /mnt/localdisk xfs defaults 0 0\nLABEL=y /mnt/localdisk2 xfs defaults\n\n");
        assert_becomes("LABEL=x /mnt/localdisk xfs\n", 0, "LABEL=x /mnt/localdisk xfs\n");
}

static void without_the_file_nothing_is_made(void **state) {
        _cleanup_free_ char *path = fb_path("/etc/fstab");

        (void) state;
        assert_int_equal(fstab_let_fail("/mnt/localdisk"), 0);
        assert_int_equal(access(path, F_OK), -1);
}

/* As configuration management has it. */
static void a_link_stays_one(void **state) {
        _cleanup_free_ char *path = fb_path("/etc/fstab"), *managed = fb_path("/etc/managed/fstab"),
                            *text = NULL;
        struct stat st;

        (void) state;
        root_put("/etc/managed/fstab", DOCUMENT);
        assert_return_code(symlink("managed/fstab", path), errno);
        assert_int_equal(fstab_let_fail("/mnt/localdisk"), 1);
        assert_return_code(lstat(path, &st), errno);
        assert_true(S_ISLNK(st.st_mode));
        assert_return_code(read_file(managed, 4096, &text, NULL), 0);
        assert_non_null(strstr(text, ",nofail"));
}

/* What is not a file is not ours, and is not waited for either. */
static void a_pipe_is_left(void **state) {
        _cleanup_free_ char *path = fb_path("/etc/fstab");
        struct stat st;

        (void) state;
        root_put("/etc/x", "");
        assert_return_code(mkfifo(path, 0600), errno);
        alarm(60);
        assert_true(fstab_let_fail("/mnt/localdisk") < 0);
        alarm(0);
        assert_return_code(lstat(path, &st), errno);
        assert_true(S_ISFIFO(st.st_mode));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(the_documents_line_gets_nofail),
                TEST(tabs_and_missing_fields_are_kept),
                TEST(a_line_that_may_fail_is_left),
                TEST(other_lines_and_comments_are_left),
                TEST(without_the_file_nothing_is_made),
                TEST(a_link_stays_one),
                TEST(a_pipe_is_left),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
