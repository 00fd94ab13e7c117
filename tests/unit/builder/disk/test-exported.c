/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "disk/exported.h"

static void put_manifest(const char *identity) {
        _cleanup_free_ char *text = strf(
                        "{\"name\": \"x\", \"identity\": \"%s\", \"files\": [{\"name\": \"x.qcow2\"}]}",
                        identity);

        put_file("out/x/manifest.json", text);
}

static void put_image(void) {
        put_manifest("aa");
        put_file("out/x/x.qcow2", "disk");
        put_file("out/x/x.vhd", "exported");
        assert_int_equal(exported_note("out/x/x.qcow2", "out/x/x.vhd"), 0);
}

static size_t count_stale(void) {
        _cleanup_strv_free_ char **stale = NULL;

        assert_int_equal(exported_stale("out/x", &stale), 0);
        return strv_length(stale);
}

static void test_an_export_of_this_build_is_not_stale(void **state _unused_) {
        put_image();
        assert_int_equal(count_stale(), 0);
}

static void test_an_export_of_the_build_before_is_stale(void **state _unused_) {
        _cleanup_strv_free_ char **stale = NULL;

        put_image();
        put_manifest("bb");
        assert_int_equal(exported_stale("out/x", &stale), 0);
        assert_int_equal(strv_length(stale), 1);
        assert_string_equal(stale[0], "x.vhd");
}

static void test_an_export_that_was_made_anew_is_not_stale(void **state _unused_) {
        put_image();
        put_manifest("bb");
        assert_int_equal(exported_note("out/x/x.qcow2", "out/x/x.vhd"), 0);
        assert_int_equal(count_stale(), 0);
}

static void test_a_note_without_its_disk_says_nothing(void **state _unused_) {
        put_image();
        put_manifest("bb");
        assert_int_equal(unlink("out/x/x.vhd"), 0);
        assert_int_equal(count_stale(), 0);
}

static void test_what_is_no_builds_image_gets_no_note(void **state _unused_) {
        put_image();
        put_file("out/x/mine.raw", "disk");
        assert_int_equal(exported_note("out/x/mine.raw", "out/x/x.vhd"), 0);
        assert_int_equal(access("out/x/x.vhd.from.json", F_OK), -1);
}

static void test_a_file_of_that_name_that_is_no_note_says_nothing(void **state _unused_) {
        put_image();
        put_manifest("bb");
        put_file("out/x/x.vhd.from.json", "a letter");
        assert_int_equal(count_stale(), 0);
}

static void test_a_pipe_of_that_name_is_not_waited_for(void **state _unused_) {
        put_image();
        put_manifest("bb");
        assert_int_equal(unlink("out/x/x.vhd.from.json"), 0);
        assert_int_equal(mkfifo("out/x/x.vhd.from.json", 0644), 0);
        assert_int_equal(count_stale(), 0);
        assert_int_equal(exported_note("out/x/x.qcow2", "out/x/x.vhd"), -EEXIST);
}

static void test_somebodys_file_of_that_name_stays(void **state _unused_) {
        _cleanup_free_ char *text = NULL;

        put_image();
        put_file("out/x/x.vhd.from.json", "a letter");
        assert_int_equal(exported_note("out/x/x.qcow2", "out/x/x.vhd"), -EEXIST);
        put_file("out/x/mine.raw", "disk");
        assert_int_equal(exported_note("out/x/mine.raw", "out/x/x.vhd"), -EEXIST);
        assert_int_equal(read_file("out/x/x.vhd.from.json", 100, &text, NULL), 0);
        assert_string_equal(text, "a letter");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(an_export_of_this_build_is_not_stale),
                TEST(an_export_of_the_build_before_is_stale),
                TEST(an_export_that_was_made_anew_is_not_stale),
                TEST(a_note_without_its_disk_says_nothing),
                TEST(what_is_no_builds_image_gets_no_note),
                TEST(a_file_of_that_name_that_is_no_note_says_nothing),
                TEST(a_pipe_of_that_name_is_not_waited_for),
                TEST(somebodys_file_of_that_name_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
