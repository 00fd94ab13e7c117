/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "folder-fixture.h"

#include "stage/prune.h"

#include "shared/spawn.h"
#include "shared/strv.h"

#include <unistd.h>

static void put(const char *path) {
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, "x", 1, 0644), 0);
}

static bool stays(const char *path) {
        return access(path, F_OK) == 0;
}

/* Runs the script for these options in the folder "tree". */
static void prune(char *const *options) {
        _cleanup_free_ char *text = NULL;
        int status;

        assert_int_equal(prune_script(options, &text), 0);
        assert_non_null(text);
        assert_int_equal(write_file_atomic("script", text, strlen(text), 0755), 0);
        assert_int_equal(mkdir_parents("tree/etc/dpkg/dpkg.cfg.d/x", 0755), 0);
        assert_int_equal(spawn_run(NULL, ARGV("./script", "tree"), &status), 0);
        assert_int_equal(status, 0);
}

static void without_options_there_is_no_script(void **state _unused_) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(prune_script(ARGV(NULL), &text), 0);
        assert_null(text);
}

static void what_is_left_out_goes_at_any_depth(void **state _unused_) {
        put("tree/usr/share/man/man1/ls.1");
        put("tree/usr/share/manual");
        prune(ARGV("--path-exclude=/usr/share/man/*"));

        assert_false(stays("tree/usr/share/man/man1"));
        assert_true(stays("tree/usr/share/man"));
        assert_true(stays("tree/usr/share/manual"));
}

static void the_last_rule_that_matches_decides(void **state _unused_) {
        put("tree/usr/share/doc/a/copyright");
        put("tree/usr/share/doc/a/changelog");
        put("tree/usr/share/doc/secret/copyright");
        prune(ARGV("--path-exclude=/usr/share/doc/*", "--path-include=/usr/share/doc/*/copyright",
                        "--path-exclude=/usr/share/doc/secret/*"));

        assert_true(stays("tree/usr/share/doc/a/copyright"));
        assert_false(stays("tree/usr/share/doc/a/changelog"));
        assert_false(stays("tree/usr/share/doc/secret"));
}

static void an_include_alone_leaves_nothing_out(void **state _unused_) {
        put("tree/usr/share/doc/a/changelog");
        prune(ARGV("--path-include=/usr/share/doc/*/copyright"));

        assert_true(stays("tree/usr/share/doc/a/changelog"));
}

static void a_pattern_is_no_command(void **state _unused_) {
        put("tree/usr/it's; touch here");
        prune(ARGV("--path-exclude=/usr/it's; touch *"));

        assert_false(stays("tree/usr/it's; touch here"));
        assert_false(stays("tree/here"));
}

static void dpkg_gets_the_same_options(void **state _unused_) {
        _cleanup_free_ char *text = NULL;

        prune(ARGV("--path-exclude=/usr/share/man/*", "--force-confold"));

        assert_int_equal(read_file("tree/etc/dpkg/dpkg.cfg.d/99mmdebstrap", 4096, &text, NULL), 0);
        assert_string_equal(text, "path-exclude=/usr/share/man/*\nforce-confold\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(without_options_there_is_no_script),
                TEST(what_is_left_out_goes_at_any_depth),
                TEST(the_last_rule_that_matches_decides),
                TEST(an_include_alone_leaves_nothing_out),
                TEST(a_pattern_is_no_command),
                TEST(dpkg_gets_the_same_options),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
