/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ORIGINS "\"origins\": [ { \"name\": \"debian\", \"suite\": \"trixie\" } ]"
#define HEAD "{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1700000000, " ORIGINS ", "
#define PACKAGE(members)                                             \
        HEAD "\"stages\": [ { \"id\": \"base\", \"request\": \"" SHA \
             "\", \"packages\": [ { " members " } ] } ], \"artifacts\": [] }"

static char path[] = "/tmp/imgbuild-lock-XXXXXX";
static char said[8192];

static void remember(int level, const char *line, void *userdata) {
        (void) level;
        (void) userdata;
        strncat(said, line, sizeof(said) - strlen(said) - 2);
        strcat(said, "\n");
}

static int setup(void **state) {
        int fd = mkstemp(path);

        (void) state;
        close(fd);
        log_set_writer(remember, NULL);
        return 0;
}

static int teardown(void **state) {
        (void) state;
        log_set_writer(NULL, NULL);
        unlink(path);
        return 0;
}

/* Reads `text` as a lock that must be refused, and checks what is said about it. */
static void refused(const char *text, const char *because) {
        _cleanup_lock_free_ Lock *l = NULL;

        said[0] = '\0';
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
        assert_int_equal(lock_read(path, &l), -EINVAL);
        assert_null(l);
        if (!strstr(said, because))
                fail_msg("said \"%s\", not \"%s\"", said, because);
        assert_non_null(strstr(said, path));
}

static Lock *sample(void) {
        Lock *l;
        LockedStage *s;

        assert_int_equal(lock_new("r", &l), 0);
        l->epoch = 1700000000;
        assert_int_equal(lock_add_origin(l, &(LockedOrigin) { .name = (char *) "debian",
                                                            .suite = (char *) "trixie" }),
                        0);
        assert_int_equal(lock_add_origin(l, &(LockedOrigin) { "a", "https://example.invalid/a",
                                                            "./", "ABCD", "aGVsbG8=" }),
                        0);
        assert_int_equal(lock_add_stage(l, "kernel", SHA, &s), 0);
        assert_int_equal(locked_stage_add(s,
                                         &(LockedPackage) { "linux-image-amd64", "6.12-1", "amd64",
                                                         SHA, 10, "debian", "pool/l.deb" }),
                        0);
        assert_int_equal(locked_stage_add(s,
                                         &(LockedPackage) { "linux-image-6.12+deb13-amd64",
                                                         "1:6.12-1~x+b1", "amd64", SHA, 12345678901,
                                                         "debian", "pool/main/l/linux/l+1.deb" }),
                        0);
        assert_int_equal(lock_add_stage(l, "packages:empty", SHA, &s), 0);
        assert_int_equal(lock_add_artifact(l, &(LockedArtifact) { "z", "tool", "1",
                                                              "http://example.invalid/\"quoted\"",
                                                              SHA, 7 }),
                        0);
        assert_int_equal(lock_add_artifact(l, &(LockedArtifact) { "b", "tool", NULL,
                                                              "http://example.invalid/x", SHA, 0 }),
                        0);
        lock_sort(l);
        return l;
}

static void test_what_is_written_is_read(void **state) {
        _cleanup_lock_free_ Lock *l = sample(), *back = NULL;
        _cleanup_free_ char *before = NULL, *after = NULL;

        (void) state;
        assert_int_equal(lock_write(l, path), 0);
        assert_int_equal(lock_read(path, &back), 0);
        assert_int_equal(lock_to_text(l, &before), 0);
        assert_int_equal(lock_to_text(back, &after), 0);
        assert_string_equal(before, after);
        assert_true(lock_find_stage(back, "kernel")->packages[0].size == 12345678901);
        assert_null(lock_find_artifact(back, "b", "tool")->version);
        assert_null(lock_find_origin(back, "debian")->uri);
}

static void test_order_does_not_depend_on_how_it_was_made(void **state) {
        _cleanup_lock_free_ Lock *l = sample();

        (void) state;
        assert_string_equal(l->origins[0].name, "a");
        assert_string_equal(l->artifacts[0].overlay, "b");
        assert_string_equal(l->stages[0].packages[0].name, "linux-image-6.12+deb13-amd64");
        assert_string_equal(l->stages[0].id, "kernel"); /* stages keep the plan's order */
}

static void test_one_line_a_package(void **state) {
        _cleanup_lock_free_ Lock *l = sample();
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        (void) state;
        assert_int_equal(lock_to_text(l, &text), 0);
        lines = strv_split(text, "\n");
        STRV_FOREACH (line, lines)
                if (strstr(*line, "\"path\"")) {
                        n++;
                        assert_non_null(strstr(*line, SHA));
                }
        assert_int_equal(n, 2);
}

static void test_kernel_release_is_not_the_metapackage(void **state) {
        _cleanup_lock_free_ Lock *l = sample();

        (void) state;
        assert_string_equal(lock_kernel_release(l), "6.12+deb13-amd64");
        assert_null(lock_kernel_release(NULL));
}

static void test_kernel_release_is_what_an_rpm_provides(void **state) {
        _cleanup_lock_free_ Lock *l = NULL, *back = NULL;
        const LockedPackage package = { .name = (char *) "kernel-core",
                .version = (char *) "5.14.0-70.el9",
                .arch = (char *) "x86_64",
                .sha256 = (char *) SHA,
                .origin = (char *) "os",
                .path = (char *) "Packages/k.rpm",
                .kernel = (char *) "5.14.0-70.el9.x86_64" };
        const LockedOrigin origin = { "os", "https://example.invalid/os", NULL, "ABCD",
                "aGVsbG8=" };
        LockedStage *s;

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(lock_add_origin(l, &origin), 0);
        assert_int_equal(lock_add_stage(l, "kernel", SHA, &s), 0);
        assert_int_equal(locked_stage_add(s, &package), 0);
        assert_int_equal(lock_write(l, path), 0);
        assert_int_equal(lock_read(path, &back), 0);
        assert_string_equal(lock_kernel_release(back), package.kernel);
}

static void test_an_image_is_read_as_it_was_written(void **state) {
        _cleanup_lock_free_ Lock *l = NULL, *back = NULL;
        const LockedImage image = { .name = (char *) "a vendor's \"image\".qcow2",
                .sha256 = (char *) SHA,
                .size = 12345678901,
                .distro = (char *) "debian",
                .release = (char *) "trixie",
                .kernel = (char *) "6.12.57+deb13-amd64",
                .status = (char *) SHA,
                .newest = 1700000001 };

        (void) state;
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(lock_set_image(l, &image), 0);
        assert_int_equal(lock_write(l, path), 0);
        assert_int_equal(lock_read(path, &back), 0);
        assert_string_equal(back->image.name, image.name);
        assert_true(back->image.size == 12345678901);
        assert_true(back->image.newest == 1700000001);
        assert_null(back->image.root);
        assert_string_equal(lock_kernel_release(back), "6.12.57+deb13-amd64"); /* no kernel stage */
}

static void test_an_image_without_digest_is_refused(void **state) {
        (void) state;
        refused("{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1, \"image\": { \"name\": \"a\", \"distro\": \"debian\","
                " \"release\": \"../x\", \"size\": 1, \"newest\": 1 }, \"origins\": [], \"stages\": [], \"artifacts\": [] }",
                        "$.image: \"sha256\" is missing");
        assert_non_null(strstr(said, "\"release\" must be"));
}

static void test_missing_file(void **state) {
        Lock *l = NULL;

        (void) state;
        assert_int_equal(lock_read("/nonexistent/x.lock.json", &l), -ENOENT);
}

static void test_empty_file(void **state) {
        (void) state;
        refused("", "the file is empty");
}

static void test_truncated_file_names_the_line(void **state) {
        (void) state;
        refused("{\n  \"version\": 1,\n", ":3:");
}

static void test_unresolved_merge(void **state) {
        (void) state;
        refused("{\n<<<<<<< HEAD\n  \"version\": 1\n=======\n>>>>>>> x\n}\n", "unresolved merge");
}

static void test_newer_version(void **state) {
        (void) state;
        refused("{ \"version\": 2 }", "needs a newer imgbuild");
}

static void test_not_an_object(void **state) {
        (void) state;
        refused("[]", "must be an object");
}

static void test_unknown_key(void **state) {
        (void) state;
        refused(HEAD "\"stages\": [], \"artifacts\": [], \"extra\": 1 }", "unknown key \"extra\"");
}

static void test_missing_field_is_named(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"a\", \"arch\": \"all\", \"origin\": \"debian\", \"path\": "
                        "\"a.deb\", \"size\": 1, \"sha256\": \"" SHA "\""),
                        "$.stages[0].packages[0]: \"version\" is missing");
}

static void test_bad_digest(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"a\", \"version\": \"1\", \"arch\": \"all\", \"origin\": "
                        "\"debian\", \"path\": \"a.deb\", \"size\": 1, \"sha256\": \"ABC\""),
                        "\"sha256\" must be");
}

static void test_path_out_of_the_mirror(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"a\", \"version\": \"1\", \"arch\": \"all\", \"origin\": "
                        "\"debian\", \"path\": \"pool/../../etc\", \"size\": 1, \"sha256\": \"" SHA
                        "\""),
                        "\"path\" must be");
}

static void test_name_like_an_option(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"-o\", \"version\": \"1\", \"arch\": \"all\", \"origin\": "
                        "\"debian\", \"path\": \"a.deb\", \"size\": 1, \"sha256\": \"" SHA "\""),
                        "\"name\" must be");
}

static void test_unknown_origin(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"a\", \"version\": \"1\", \"arch\": \"all\", \"origin\": "
                        "\"x\", \"path\": \"a.deb\", \"size\": 1, \"sha256\": \"" SHA "\""),
                        "origin \"x\" is not one of $.origins");
}

static void test_repository_without_key(void **state) {
        (void) state;
        refused("{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1, \"origins\": [ { \"name\": \"v\", \"uri\": "
                "\"http://v.example\", \"suite\": \"./\" } ], \"stages\": [], \"artifacts\": [] }",
                        "$.origins[0]: a repository's \"fingerprint\" and \"key\" are missing");
}

static void test_repository_in_the_archive_without_key(void **state) {
        (void) state;
        refused("{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1, \"origins\": [ { \"name\": \"v\", \"suite\": "
                "\"x\", \"fingerprint\": \"AB\" } ], \"stages\": [], \"artifacts\": [] }",
                        "$.origins[0]: a repository's \"fingerprint\" and \"key\" are missing");
}

static void test_repository_in_the_archive_names_no_place(void **state) {
        static const char text[] =
                        "{\n  \"version\": 1,\n  \"recipe\": \"r\",\n  \"epoch\": 1,\n  \"origins\": [\n"
                        "    { \"name\": \"v\", \"suite\": \"x\", \"fingerprint\": \"AB\", \"key\": \"YWJj\" }\n"
                        "  ],\n  \"stages\": [\n  ],\n  \"artifacts\": [\n  ]\n}\n";
        _cleanup_lock_free_ Lock *l = NULL;
        _cleanup_free_ char *again = NULL;

        (void) state;
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
        assert_int_equal(lock_read(path, &l), 0);
        assert_null(l->origins[0].uri);
        assert_string_equal(l->origins[0].key, "YWJj");
        assert_int_equal(lock_to_text(l, &again), 0);
        assert_string_equal(again, text);
}

static void test_key_that_is_not_base64(void **state) {
        (void) state;
        refused("{ \"version\": 1, \"recipe\": \"r\", \"epoch\": 1, \"origins\": [ { \"name\": \"v\", \"uri\": "
                "\"http://v.example\", \"suite\": \"./\", \"fingerprint\": \"AB\", \"key\": \"a?==\" } ], \"stages\": [], "
                "\"artifacts\": [] }",
                        "\"key\" must be a public key in base64");
}

static void test_negative_size(void **state) {
        (void) state;
        refused(PACKAGE("\"name\": \"a\", \"version\": \"1\", \"arch\": \"all\", \"origin\": "
                        "\"debian\", \"path\": \"a.deb\", \"size\": -1, \"sha256\": \"" SHA "\""),
                        "\"size\" must be");
}

static void test_stage_given_twice(void **state) {
        (void) state;
        refused(HEAD "\"stages\": [ { \"id\": \"base\", \"request\": \"" SHA
                     "\", \"packages\": [] }, { \"id\": \"base\", \"request\": \"" SHA
                     "\", \"packages\": [] } ], \"artifacts\": [] }",
                        "two stages \"base\"");
}

static void test_all_errors_in_one_go(void **state) {
        (void) state;
        refused("{ \"version\": 1, \"recipe\": \"r\", \"epoch\": -5, \"origins\": 1, \"stages\": [ 7 ], \"artifacts\": [] }",
                        "\"epoch\"");
        assert_non_null(strstr(said, "\"origins\" must be a list"));
        assert_non_null(strstr(said, "$.stages[0]: must be an object"));
}

/* Of a stranger: no calendar, archive or file system has it. */
static void test_a_time_that_nothing_knows(void **state) {
        static const char *const epochs[] = { "4294967296", "9223372036854775807" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(epochs); i++) {
                _cleanup_free_ char *text = strf(
                                "{ \"version\": 1, \"recipe\": \"r\", \"epoch\": %s, \"origins\": [], \"stages\": [], \"artifacts\": [] }",
                                epochs[i]);

                refused(text, "before the year 2106");
        }
}

static void test_a_pipe_is_not_waited_for(void **state) {
        Lock *l = NULL;

        (void) state;
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0644), 0);
        said[0] = '\0';
        assert_int_equal(lock_read(path, &l), -EINVAL);
        assert_non_null(strstr(said, "no regular file"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(write_file_atomic(path, "", 0, 0644), 0);
}

static void test_huge_file(void **state) {
        Lock *l = NULL;

        (void) state;
        assert_int_equal(truncate(path, 100 * 1024 * 1024), 0);
        said[0] = '\0';
        assert_int_equal(lock_read(path, &l), -EINVAL);
        assert_non_null(strstr(said, "larger than"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_written_is_read),
                cmocka_unit_test(test_order_does_not_depend_on_how_it_was_made),
                cmocka_unit_test(test_one_line_a_package),
                cmocka_unit_test(test_kernel_release_is_not_the_metapackage),
                cmocka_unit_test(test_kernel_release_is_what_an_rpm_provides),
                cmocka_unit_test(test_an_image_is_read_as_it_was_written),
                cmocka_unit_test(test_an_image_without_digest_is_refused),
                cmocka_unit_test(test_missing_file),
                cmocka_unit_test(test_empty_file),
                cmocka_unit_test(test_truncated_file_names_the_line),
                cmocka_unit_test(test_unresolved_merge),
                cmocka_unit_test(test_newer_version),
                cmocka_unit_test(test_not_an_object),
                cmocka_unit_test(test_unknown_key),
                cmocka_unit_test(test_missing_field_is_named),
                cmocka_unit_test(test_bad_digest),
                cmocka_unit_test(test_path_out_of_the_mirror),
                cmocka_unit_test(test_name_like_an_option),
                cmocka_unit_test(test_unknown_origin),
                cmocka_unit_test(test_repository_without_key),
                cmocka_unit_test(test_repository_in_the_archive_without_key),
                cmocka_unit_test(test_repository_in_the_archive_names_no_place),
                cmocka_unit_test(test_key_that_is_not_base64),
                cmocka_unit_test(test_negative_size),
                cmocka_unit_test(test_stage_given_twice),
                cmocka_unit_test(test_all_errors_in_one_go),
                cmocka_unit_test(test_a_time_that_nothing_knows),
                cmocka_unit_test(test_a_pipe_is_not_waited_for),
                cmocka_unit_test(test_huge_file),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
