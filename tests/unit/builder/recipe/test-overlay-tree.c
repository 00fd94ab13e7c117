/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "recipe-fixture.h"

static void a_path_leading_out_is_refused(void **state) {
        put_script("overlays/two/evil.sh");
        assert_overlay_refused(*state, ", \"run\": [\"../two/evil.sh\"]",
                        "$.run[0]: \"../two/evil.sh\" is not a path inside the overlay (relative, without \"..\")");
        assert_overlay_refused(*state, ", \"run\": [{\"script\": \"/bin/sh\"}]",
                        "$.run[0].script: \"/bin/sh\" is not a path inside the overlay (relative, without \"..\")");
        assert_overlay_refused(*state, ", \"checks\": [\"a/./b\"]",
                        "$.checks[0]: \"a/./b\" is not a path inside the overlay (relative, without \"..\")");
}

static void a_link_leading_out_is_refused(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *real = NULL, *message = NULL;

        put_script("overlays/two/evil.sh");
        put_overlay("one", "");
        assert_int_equal(symlink("../two/evil.sh", "overlays/one/a.sh"), 0);
        real = realpath("overlays/two/evil.sh", NULL);
        message = strf("$.run[0]: \"a.sh\" leads out of the overlay, to %s", real);
        assert_overlay_refused(f, ", \"run\": [\"a.sh\"]", message);
        /* A neighbour whose name begins with the overlay's is outside too. */
        put_script("overlays/one-more/evil.sh");
        assert_int_equal(symlink("../one-more", "overlays/one/folder"), 0);
        free(real);
        free(message);
        real = realpath("overlays/one-more/evil.sh", NULL);
        message = strf("$.run[0]: \"folder/evil.sh\" leads out of the overlay, to %s", real);
        assert_overlay_refused(f, ", \"run\": [\"folder/evil.sh\"]", message);
}

static void a_link_inside_is_followed(void **state) {
        put_script("overlays/one/real.sh");
        assert_int_equal(symlink("real.sh", "overlays/one/a.sh"), 0);
        Overlay *o = load_overlay(*state, ", \"run\": [\"a.sh\"]");

        assert_true(endswith(o->run[0].script, "/overlays/one/real.sh"));
}

static void a_script_must_be_one(void **state) {
        put_script("overlays/one/check.sh");
        assert_overlay_refused(*state, ", \"run\": [\"chekc.sh\"]",
                        "$.run[0]: there is no \"chekc.sh\" in this overlay's folder; did you mean \"check.sh\"?");
        assert_int_equal(chmod("overlays/one/check.sh", 0644), 0);
        assert_overlay_refused(*state, ", \"run\": [\"check.sh\"]",
                        "$.run[0]: \"check.sh\" is not executable; chmod +x it");
        put_file("overlays/one/check.sh", "exit 0\n");
        assert_overlay_refused(*state, ", \"run\": [\"check.sh\"]",
                        "$.run[0]: \"check.sh\" does not begin with #! and an interpreter, as #!/bin/sh");
        assert_int_equal(mkdir("overlays/one/folder", 0755), 0);
        assert_overlay_refused(
                        *state, ", \"run\": [\"folder\"]", "$.run[0]: \"folder\" is not a file");
        assert_overlay_refused(*state,
                        ", \"compile\": [{\"script\": \"folder\", \"source\": \"folder\"}]",
                        "$.compile[0].script: \"folder\" is not a file");
}

static void files_may_be_files_folders_and_links(void **state) {
        put_file("overlays/one/files/etc/x.conf", "x");
        assert_int_equal(symlink("/usr/lib/os-release", "overlays/one/files/etc/os-release"), 0);
        assert_int_equal(symlink("../etc/x.conf", "overlays/one/files/etc/y.conf"), 0);
        assert_int_equal(symlink("dangling", "overlays/one/files/z"), 0);
        assert_true(load_overlay(*state, "")->has_files);
}

static void a_link_climbing_out_of_files_is_refused(void **state) {
        put_overlay("one", "");
        assert_int_equal(mkdir_p("overlays/one/files/etc", 0755), 0);
        assert_int_equal(symlink("../../secret", "overlays/one/files/etc/x"), 0);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: files/etc/x: the link leads out of the tree, to \"../../secret\"; a link "
                        "may be absolute (a path in the image) or stay inside");
        unlink("overlays/one/files/etc/x");
        assert_int_equal(symlink("a/../../../b", "overlays/one/files/etc/x"), 0);
        assert_int_equal(load(*state, "images/x.json"), -EINVAL);
}

static void an_absolute_link_does_not_climb_either(void **state) {
        put_overlay("one", "");
        assert_int_equal(mkdir_p("overlays/one/files/etc", 0755), 0);
        assert_int_equal(symlink("/usr/../lib/os-release", "overlays/one/files/etc/x"), 0);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_int_equal(load(*state, "images/x.json"), 0);
        assert_int_equal(symlink("/../oldroot/etc", "overlays/one/files/etc/y"), 0);
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: files/etc/y: the link leads out of the tree, to \"/../oldroot/etc\"; a link "
                        "may be absolute (a path in the image) or stay inside");
}

static void files_itself_must_be_a_folder(void **state) {
        put_overlay("one", "");
        assert_int_equal(symlink("/etc", "overlays/one/files"), 0);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: files: cannot read it: not a folder");
}

static void special_files_are_refused(void **state) {
        Fixture *f = *state;
        struct sockaddr_un address = { .sun_family = AF_UNIX,
                .sun_path = "overlays/one/files/socket" };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        put_overlay("one", "");
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_int_equal(mkdir_p("overlays/one/files/a", 0755), 0);
        assert_int_equal(mkfifo("overlays/one/files/a/fifo", 0644), 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        put_file("overlays/one/files/two\nlines", "x");
        assert_int_equal(load(f, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(f->lines), 3);
        assert_true(was_logged(f,
                        "overlays/one/overlay.json: files/a/fifo: is a FIFO; only files, folders and links"));
        assert_true(was_logged(f, "overlays/one/overlay.json: files/socket: is a socket;"));
        assert_true(was_logged(f,
                        "overlays/one/overlay.json: files/two?lines: the name has a line break in it"));
}

static void unreadable_files_are_reported(void **state) {
        Fixture *f = *state;
        bool root = geteuid() == 0;

        put_file("overlays/one/files/x", "x");
        assert_int_equal(chmod("overlays/one/files/x", 0), 0);
        assert_int_equal(mkdir("overlays/one/files/y", 0), 0);
        put_overlay("one", "");
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_int_equal(chmod(f->folder, 0755), 0);
        if (root) /* who could read everything */
                assert_int_equal(seteuid(65534), 0);
        int r = load(f, "images/x.json");
        if (root)
                assert_int_equal(seteuid(0), 0);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(strv_length(f->lines), 2);
        assert_true(was_logged(f,
                        "overlays/one/overlay.json: files/x: cannot read it: Permission denied"));
        assert_true(was_logged(f,
                        "overlays/one/overlay.json: files/y: cannot read it: Permission denied"));
}

static void modes_belong_to_files(void **state) {
        put_file("overlays/one/files/etc/secret", "x");
        assert_int_equal(symlink("secret", "overlays/one/files/etc/link"), 0);
        assert_int_equal(symlink("/etc", "overlays/one/files/outside"), 0);
        Overlay *o = load_overlay(
                        *state, ", \"modes\": {\"etc/secret\": \"0600\", \"etc\": \"750\"}");

        assert_string_equal(json_get_string(o->modes, "etc/secret"), "0600");
        assert_overlay_refused(*state, ", \"modes\": {\"etc/none\": \"0600\"}",
                        "$.modes[\"etc/none\"]: there is no files/etc/none");
        assert_overlay_refused(*state, ", \"modes\": {\"etc/secret\": \"0o600\"}",
                        "$.modes[\"etc/secret\"]: \"0o600\" is not a file mode (octal, as \"0600\")");
        assert_overlay_refused(*state, ", \"modes\": {\"../x\": \"0600\"}",
                        "$.modes[\"../x\"]: \"../x\" is not a path inside the overlay (relative, without \"..\")");
        assert_overlay_refused(*state, ", \"modes\": {\"etc/link\": \"0600\"}",
                        "$.modes[\"etc/link\"]: files/etc/link is, or goes through, a link; a link has no mode \"0600\"");
        assert_overlay_refused(*state, ", \"modes\": {\"outside/passwd\": \"0600\"}",
                        "$.modes[\"outside/passwd\"]: files/outside/passwd is, or goes through, a link; a link has no mode \"0600\"");
}

static void a_tree_too_deep_to_walk_is_a_message(void **state) {
        Fixture *f = *state;
        struct rlimit few, before;

        put_overlay("one", "");
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_int_equal(mkdir("overlays/one/files", 0755), 0);
        assert_int_equal(chdir("overlays/one/files"), 0);
        for (int i = 0; i < 200; i++) {
                assert_int_equal(mkdir("d", 0755), 0);
                assert_int_equal(chdir("d"), 0);
        }
        assert_int_equal(chdir(f->folder), 0);
        load_good(f, "images/x.json");

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit) { .rlim_cur = 64, .rlim_max = before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int r = load(f, "images/x.json");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(strv_length(f->lines), 1);
        assert_true(was_logged(f, "cannot read it: Too many open files"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(a_path_leading_out_is_refused),
                TEST(a_link_leading_out_is_refused),
                TEST(a_link_inside_is_followed),
                TEST(a_script_must_be_one),
                TEST(files_may_be_files_folders_and_links),
                TEST(a_link_climbing_out_of_files_is_refused),
                TEST(an_absolute_link_does_not_climb_either),
                TEST(files_itself_must_be_a_folder),
                TEST(special_files_are_refused),
                TEST(unreadable_files_are_reported),
                TEST(modes_belong_to_files),
                TEST(a_tree_too_deep_to_walk_is_a_message),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
