/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "no-rename-flags.h"
#include "recipe-fixture.h"

#include "disk/place.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MANIFEST(name) \
        "{\"name\": \"" name "\", \"identity\": \"aa\", \"files\": [{\"name\": \"x.qcow2\"}]}"
#define SYSCALLS_MAX 4000

static char *const files[] = { (char *) "x.qcow2", NULL };

static void put_image(const char *folder, const char *text) {
        _cleanup_free_ char *disk = path_join(folder, "x.qcow2"),
                            *manifest = path_join(folder, "manifest.json");

        put_file(disk, text);
        put_file(manifest, MANIFEST("x"));
}

static bool has_content(const char *path, const char *text) {
        _cleanup_free_ char *content = NULL;

        return read_file(path, 100, &content, NULL) >= 0 && streq(content, text);
}

static int with_place(int (*fn)(Place *p)) {
        Place p = {};
        int r;

        r = place_open("out", "x", &p);
        if (r < 0)
                return r;
        r = fn(&p);
        place_done(&p);
        return r;
}

static int check(Place *p) {
        return place_check(p, files);
}

static int settle(Place *p) {
        return place_settle(p);
}

static int put(Place *p) {
        return place_put(p);
}

static int check_and_put(Place *p) {
        int r = place_check(p, files);

        return r < 0 ? r : place_put(p);
}

static void assert_check_refused(void **state, const char *message) {
        assert_int_equal(with_place(check), -EEXIST);
        assert_true(was_logged(*state, message));
}

/* --- what may be replaced --------------------------------------------------------------------- */

static void test_nothing_an_empty_folder_and_our_image_may_be_replaced(void **state _unused_) {
        assert_int_equal(with_place(check), 0);
        assert_int_equal(mkdir_p("out/x", 0755), 0);
        assert_int_equal(with_place(check), 0);
        put_image("out/x", "old");
        put_file("out/x/notes", "mine");
        assert_int_equal(with_place(check), 0);
}

static void test_a_folder_without_manifest_is_refused_by_name(void **state) {
        put_file("out/x/thesis", "mine");
        assert_check_refused(state, "out/x holds thesis and no manifest.json");
}

static void test_a_folder_with_a_damaged_manifest_is_refused(void **state) {
        put_image("out/x", "old");
        put_file("out/x/manifest.json", "{");
        assert_check_refused(state, "out/x holds manifest.json and no manifest.json of an image x");
}

static void test_another_images_folder_is_refused(void **state) {
        put_image("out/x", "old");
        put_file("out/x/manifest.json", MANIFEST("y"));
        assert_check_refused(state, "no manifest.json of an image x");
}

static void test_a_foreign_file_of_a_name_that_is_made_is_refused(void **state) {
        put_file("out/x/manifest.json", "{\"name\": \"x\", \"identity\": \"aa\", \"files\": []}");
        put_file("out/x/x.qcow2", "mine");
        assert_check_refused(state, "out/x/x.qcow2 is not from the last build");
}

static void test_a_link_is_refused(void **state) {
        put_image("elsewhere", "old");
        assert_int_equal(mkdir_p("out", 0755), 0);
        assert_int_equal(symlink("../elsewhere", "out/x"), 0);
        assert_check_refused(state, "out/x is not a folder");
}

/* --- what somebody else put there ------------------------------------------------------------- */

static void test_a_pipe_for_a_manifest_is_not_waited_for(void **state) {
        assert_int_equal(mkdir_p("out/x", 0755), 0);
        assert_int_equal(mkfifo("out/x/manifest.json", 0644), 0);
        assert_check_refused(state, "out/x holds manifest.json and no manifest.json of an image x");
}

static void test_a_manifest_behind_a_link_is_none(void **state) {
        put_image("elsewhere", "old");
        assert_int_equal(mkdir_p("out/x", 0755), 0);
        assert_int_equal(symlink("../../elsewhere/manifest.json", "out/x/manifest.json"), 0);
        assert_check_refused(state, "no manifest.json of an image x");
}

static void test_a_link_for_a_draft_goes_and_what_it_leads_to_stays(void **state _unused_) {
        put_image("elsewhere", "theirs");
        put_file("elsewhere/notes", "theirs");
        put_image("out/x", "old");
        assert_int_equal(symlink("../elsewhere", "out/.x.new"), 0);
        assert_int_equal(with_place(settle), 0);
        assert_true(has_content("elsewhere/x.qcow2", "theirs"));
        assert_true(has_content("elsewhere/notes", "theirs"));
        assert_true(has_content("out/x/x.qcow2", "old"));
        assert_int_equal(access("out/.x.new", F_OK), -1);
}

static void test_a_link_for_the_image_before_is_refused(void **state) {
        put_image("elsewhere", "theirs");
        put_file("elsewhere/notes", "theirs");
        put_image("out/x", "old");
        assert_int_equal(symlink("../elsewhere", "out/.x.old"), 0);
        assert_int_equal(with_place(settle), -EEXIST);
        assert_true(was_logged(*state, "out/.x.old is not a folder"));
        assert_true(has_content("elsewhere/x.qcow2", "theirs"));
        assert_true(has_content("elsewhere/notes", "theirs"));
}

static void test_the_check_leaves_nothing_behind(void **state _unused_) {
        assert_int_equal(with_place(check), 0);
        assert_int_equal(rmdir("out"), 0);
}

/* --- replacing -------------------------------------------------------------------------------- */

static void test_a_foreign_file_in_the_way_is_kept_under_another_name(void **state _unused_) {
        put_file("out/x/manifest.json", "{\"name\": \"x\", \"identity\": \"aa\", \"files\": []}");
        assert_int_equal(with_place(check), 0);
        put_file("out/x/x.qcow2", "mine, made during the build");
        put_image("out/.x.new", "new");
        assert_int_equal(with_place(put), 0);
        assert_true(has_content("out/x/x.qcow2", "new"));
        assert_true(has_content("out/x/x.qcow2.kept-1", "mine, made during the build"));
}

static void test_a_folder_that_lost_its_manifest_is_carried_over_whole(void **state _unused_) {
        put_file("out/x/x.qcow2", "old");
        put_file("out/x/notes", "mine");
        put_image("out/.x.new", "new");
        assert_int_equal(with_place(put), 0);
        assert_true(has_content("out/x/x.qcow2", "new"));
        assert_true(has_content("out/x/x.qcow2.kept-1", "old"));
        assert_true(has_content("out/x/notes", "mine"));
}

static int put_on_nfs(void) {
        if (refuse_rename_flags() < 0)
                return 2;
        if (renameat2(AT_FDCWD, "out/x", AT_FDCWD, "out/.x.new", RENAME_EXCHANGE) >= 0)
                return 3; /* no double */
        return with_place(check_and_put) < 0;
}

static void test_without_exchange_the_image_is_replaced_in_two_steps(void **state _unused_) {
        int status = 0;
        pid_t pid;

        put_image("out/x", "old");
        put_file("out/x/notes", "mine");
        put_image("out/.x.new", "new");
        pid = fork();
        if (pid == 0)
                _exit(put_on_nfs());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(has_content("out/x/x.qcow2", "new"));
        assert_true(has_content("out/x/notes", "mine"));
        assert_int_equal(access("out/.x.old", F_OK), -1);
        assert_int_equal(access("out/.x.new", F_OK), -1);
}

/* --- killed at every system call -------------------------------------------------------------- */

static void prepare_replacement(void) {
        assert_int_equal(rm_rf("out"), 0);
        put_image("out/x", "old");
        put_file("out/x/notes", "mine");
        put_file("out/x/boots/1/console.log", "saved");
        put_image("out/.x.new", "new");
}

_noreturn_ static void replace_traced(bool nfs) {
        if (nfs && refuse_rename_flags() < 0)
                _exit(2);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                _exit(3);
        raise(SIGSTOP);
        _exit(with_place(check_and_put) < 0);
}

/* Whether it was killed at its nth stop; false: it came to its end, and well. */
static bool replace_killed_at(size_t n, bool nfs) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
                replace_traced(nfs);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (!WIFSTOPPED(status)) {
                        assert_true(WIFEXITED(status));
                        assert_int_equal(WEXITSTATUS(status), 0);
                        return false;
                }
        }
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return true;
}

/* As a build after it does: settled, then replaced by its own image. */
static void kill_at_every_call(bool nfs) {
        size_t n, old = 0, new = 0;

        for (n = 1; n < SYSCALLS_MAX; n++) {
                prepare_replacement();
                if (!replace_killed_at(n, nfs))
                        break;
                assert_int_equal(with_place(settle), 0);

                old += has_content("out/x/x.qcow2", "old");
                new += has_content("out/x/x.qcow2", "new");
                assert_int_equal(old + new, n);
                assert_true(has_content("out/x/manifest.json", MANIFEST("x")));
                assert_true(has_content("out/x/notes", "mine"));
                assert_true(has_content("out/x/boots/1/console.log", "saved"));
                assert_int_equal(access("out/.x.old", F_OK), -1);
                assert_int_equal(access("out/.x.new", F_OK), -1);
                assert_int_equal(rm_rf("out/x"), 0);
                assert_int_equal(rmdir("out"), 0); /* no probe's folder either */
        }
        assert_true(old > 10);
        assert_true(new > 10);
        assert_true(n < SYSCALLS_MAX);
}

static void test_killed_at_any_moment_nothing_is_lost(void **state _unused_) {
        kill_at_every_call(false);
}

static void test_killed_at_any_moment_nothing_is_lost_without_exchange(void **state _unused_) {
        kill_at_every_call(true);
}

static void test_half_a_draft_is_removed(void **state _unused_) {
        put_image("out/x", "old");
        put_file("out/.x.new/x.qcow2", "half");
        assert_int_equal(with_place(settle), 0);
        assert_true(has_content("out/x/x.qcow2", "old"));
        assert_int_equal(access("out/.x.new", F_OK), -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(nothing_an_empty_folder_and_our_image_may_be_replaced),
                TEST(a_folder_without_manifest_is_refused_by_name),
                TEST(a_folder_with_a_damaged_manifest_is_refused),
                TEST(another_images_folder_is_refused),
                TEST(a_foreign_file_of_a_name_that_is_made_is_refused),
                TEST(a_link_is_refused),
                TEST(a_pipe_for_a_manifest_is_not_waited_for),
                TEST(a_manifest_behind_a_link_is_none),
                TEST(a_link_for_a_draft_goes_and_what_it_leads_to_stays),
                TEST(a_link_for_the_image_before_is_refused),
                TEST(the_check_leaves_nothing_behind),
                TEST(a_foreign_file_in_the_way_is_kept_under_another_name),
                TEST(a_folder_that_lost_its_manifest_is_carried_over_whole),
                TEST(without_exchange_the_image_is_replaced_in_two_steps),
                TEST(killed_at_any_moment_nothing_is_lost),
                TEST(killed_at_any_moment_nothing_is_lost_without_exchange),
                TEST(half_a_draft_is_removed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
