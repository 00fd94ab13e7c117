/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "disk/output.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static char *formats[] = { (char *) "qcow2", NULL };
static Recipe recipe = { .name = (char *) "x", .disk = { .formats = formats } };
static const Plan plan = { .recipe = &recipe };

static void put_image(const char *folder, const char *text) {
        _cleanup_free_ char *disk = path_join(folder, "x.qcow2"),
                            *manifest = path_join(folder, "manifest.json"),
                            *sums = path_join(folder, "SHA256SUMS");

        put_file(disk, text);
        put_file(sums, text);
        put_file(manifest,
                        "{\"name\": \"x\", \"identity\": \"aa\", \"files\": [{\"name\": \"x.qcow2\"}]}");
}

static void assert_content(const char *path, const char *text) {
        _cleanup_free_ char *content = NULL;

        assert_int_equal(read_file(path, 100, &content, NULL), 0);
        assert_string_equal(content, text);
}

static int rebuild(void) {
        _cleanup_output_free_ Output *o = NULL;
        int r;

        r = output_open("out", &plan, true, &o);
        if (r < 0)
                return r;
        r = output_begin(o);
        if (r < 0)
                return r;
        put_image(output_draft(o), "new");
        return output_commit(o);
}

static void test_what_is_not_of_the_manifest_survives_a_rebuild(void **state _unused_) {
        put_image("out/x", "old");
        put_file("out/x/notes", "mine");
        put_file("out/x/x.vhd", "exported");
        put_file("out/x/.hidden", "mine");
        put_file("out/x/boots/1/console.log", "saved");

        assert_int_equal(rebuild(), 0);

        assert_content("out/x/x.qcow2", "new");
        assert_content("out/x/notes", "mine");
        assert_content("out/x/x.vhd", "exported");
        assert_content("out/x/.hidden", "mine");
        assert_content("out/x/boots/1/console.log", "saved");
        assert_int_equal(access("out/.x.new", F_OK), -1);
        assert_int_equal(access("out/.x.old", F_OK), -1);
}

static void test_signatures_of_the_image_before_go(void **state _unused_) {
        put_image("out/x", "old");
        put_file("out/x/release.sha256", "sums");
        put_file("out/x/release.sha256.minisig", "signature");
        put_file("out/x/release.sha256.asc", "signature");

        assert_int_equal(rebuild(), 0);

        assert_content("out/x/x.qcow2", "new");
        assert_int_equal(access("out/x/release.sha256", F_OK), -1);
        assert_int_equal(access("out/x/release.sha256.minisig", F_OK), -1);
        assert_int_equal(access("out/x/release.sha256.asc", F_OK), -1);
        assert_int_equal(access("out/.x.old", F_OK), -1);
}

static char *warning;

static void keep_warning(int level, const char *line, void *userdata _unused_) {
        if (level <= LOG_WARNING && !warning)
                warning = strdup(line);
}

static void test_an_exported_disk_of_the_build_before_is_told(void **state _unused_) {
        put_image("out/x", "old");
        put_file("out/x/x.vhd", "exported");
        put_file("out/x/x.vhd.from.json", "{\"image\": \"x.qcow2\", \"identity\": \"99\"}");
        log_set_writer(keep_warning, NULL);

        assert_int_equal(rebuild(), 0);

        log_set_writer(NULL, NULL);
        assert_non_null(warning);
        assert_non_null(strstr(warning, "out/x/x.vhd was exported from an earlier build"));
        free(TAKE_PTR(warning));
        assert_content("out/x/x.vhd", "exported");
}

static void test_what_the_manifest_names_goes(void **state _unused_) {
        put_image("out/x", "old");
        put_file("out/x/x.raw", "old");
        put_file("out/x/manifest.json",
                        "{\"name\": \"x\", \"identity\": \"aa\", \"files\": [{\"name\": \"x.raw\"}, {\"name\": \"x.qcow2\"}]}");

        assert_int_equal(rebuild(), 0);

        assert_content("out/x/x.qcow2", "new");
        assert_int_equal(access("out/x/x.raw", F_OK), -1);
}

static void test_a_draft_that_is_given_up_leaves_the_image(void **state _unused_) {
        Output *o = NULL;

        put_image("out/x", "old");
        assert_int_equal(output_open("out", &plan, true, &o), 0);
        assert_int_equal(output_begin(o), 0);
        put_file("out/.x.new/x.qcow2", "half");
        output_free(o);

        assert_content("out/x/x.qcow2", "old");
        assert_int_equal(access("out/.x.new", F_OK), -1);
}

static void test_a_draft_at_work_is_not_settled(void **state _unused_) {
        _cleanup_output_free_ Output *other = NULL, *o = NULL;

        assert_int_equal(output_open("out", &plan, true, &other), 0);
        assert_int_equal(output_begin(other), 0);
        assert_int_equal(output_open("out", &plan, true, &o), 0);
        assert_int_equal(output_settle(o), 0);
        assert_int_equal(access("out/.x.new", F_OK), 0);
}

static void test_a_lock_that_is_a_link_makes_nothing_elsewhere(void **state) {
        assert_int_equal(mkdir_p("out", 0755), 0);
        assert_int_equal(symlink("../elsewhere", "out/.x.lock"), 0);
        assert_true(rebuild() < 0);
        assert_true(was_logged(*state, "out/.x.lock: cannot lock it"));
        assert_int_equal(access("elsewhere", F_OK), -1);
}

static void test_an_interrupt_ends_the_wait_for_another_build(void **state _unused_) {
        _cleanup_close_ int fd = -EBADF;
        int status = 0, said[2];
        char byte;
        pid_t pid;

        assert_int_equal(mkdir_p("out", 0755), 0);
        fd = open("out/.x.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(flock(fd, LOCK_EX), 0);

        assert_int_equal(pipe2(said, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                alarm(60);
                if (dup2(said[1], STDERR_FILENO) < 0)
                        _exit(2);
                log_set_writer(NULL, NULL);
                _exit(interrupt_install() < 0 || rebuild() != -ECANCELED);
        }
        close(said[1]);
        assert_int_equal(read(said[0], &byte, 1), 1); /* that it waits */
        kill(pid, SIGINT);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        close(said[0]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(what_is_not_of_the_manifest_survives_a_rebuild),
                TEST(signatures_of_the_image_before_go),
                TEST(an_exported_disk_of_the_build_before_is_told),
                TEST(what_the_manifest_names_goes),
                TEST(a_draft_that_is_given_up_leaves_the_image),
                TEST(a_draft_at_work_is_not_settled),
                TEST(a_lock_that_is_a_link_makes_nothing_elsewhere),
                TEST(an_interrupt_ends_the_wait_for_another_build),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
