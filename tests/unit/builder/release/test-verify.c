/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "release/release.h"
#include "store/digest.h"

#include <fcntl.h>

#define IMAGE_SIZE 3000

static void put_bytes(const char *path, unsigned seed, size_t size) {
        _cleanup_free_ char *bytes = malloc(size);

        for (size_t i = 0; i < size; i++)
                bytes[i] = (char) (seed = seed * 1103515245 + 12345) >> 8;
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, bytes, size, 0644), 0);
}

/* Of what lies in the folder. */
static void put_manifest(void) {
        _cleanup_free_ char *manifest = NULL, *sums = NULL;
        Digest qcow2, raw;

        assert_int_equal(digest_file("out/x/x.qcow2", qcow2, NULL), 0);
        assert_int_equal(digest_file("out/x/x.raw", raw, NULL), 0);
        manifest = strf("{\"name\": \"x\", \"identity\": \"aa\", \"files\": ["
                        "{\"name\": \"x.qcow2\", \"size\": %d, \"sha256\": \"%s\"},"
                        "{\"name\": \"x.raw\", \"size\": %d, \"sha256\": \"%s\"}]}",
                        IMAGE_SIZE, qcow2, IMAGE_SIZE, raw);
        sums = strf("%s  x.qcow2\n%s  x.raw\n", qcow2, raw);
        put_file("out/x/manifest.json", manifest);
        put_file("out/x/SHA256SUMS", sums);
}

/* A build's folder with two images. */
static void put_build(void) {
        put_bytes("out/x/x.qcow2", 1, IMAGE_SIZE);
        put_bytes("out/x/x.raw", 2, IMAGE_SIZE);
        put_manifest();
        put_keys();
}

static void forget(void **state) {
        Fixture *f = *state;

        f->lines = strv_free(f->lines);
}

static int sign(void) {
        return release_sign("out/x", &(SignOptions) { .key = "key" });
}

static int verify(void) {
        return release_verify("out/x", &(VerifyOptions) { .key = "key.pub" });
}

static void test_a_signed_build_holds(void **state) {
        put_build();
        assert_int_equal(sign(), 0);
        assert_int_equal(verify(), 0);
        assert_true(was_said(state, "Signed with the key 3C26A48AB0804608: timestamp:"));
}

/* Flips the bit of a byte; the same call undoes it. */
static void flip(const char *path, off_t at, unsigned bit) {
        _cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
        unsigned char byte;

        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (unsigned char) (1 << bit);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void test_no_byte_of_any_file_may_change(void **state) {
        static const char *const files[] = { "out/x/x.qcow2", "out/x/x.raw", "out/x/manifest.json",
                "out/x/SHA256SUMS", "out/x/release.sha256", "out/x/release.sha256.minisig" };
        size_t flips = 0;

        put_build();
        assert_int_equal(sign(), 0);
        log_set_writer(NULL, NULL); /* thousands of faults */
        log_set_level(LOG_CRIT);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                struct stat st;

                assert_int_equal(stat(files[i], &st), 0);
                for (off_t at = 0; at < st.st_size; at++, flips++) {
                        flip(files[i], at, (unsigned) at % 8);
                        if (verify() <= 0)
                                fail_msg("%s: byte %lld may change", files[i], (long long) at);
                        flip(files[i], at, (unsigned) at % 8);
                }
        }
        log_set_level(LOG_INFO);
        log_set_writer(fixture_log, *state);
        assert_true(flips > 2 * IMAGE_SIZE);
        assert_int_equal(verify(), 0);
}

static void test_each_file_that_goes_is_named(void **state) {
        static const char *const files[] = { "x.qcow2", "x.raw", "SHA256SUMS", "release.sha256",
                "release.sha256.minisig" };

        put_build();
        assert_int_equal(sign(), 0);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *path = strf("out/x/%s", files[i]);

                assert_int_equal(rename(path, "away"), 0);
                assert_true(verify() > 0);
                assert_true(was_said(state, files[i]));
                assert_int_equal(rename("away", path), 0);
        }
        assert_int_equal(verify(), 0);
}

static void test_a_file_that_nobody_signed_is_told(void **state) {
        put_build();
        put_file("out/x/x.vhd", "somebody's");
        assert_int_equal(sign(), 0);
        assert_true(was_said(state, "out/x/x.vhd is not signed"));
        assert_int_equal(verify(), 1);
        assert_true(was_said(state, "x.vhd is not in release.sha256: nobody signed it"));
        assert_int_equal(release_verify("out/x",
                                         &(VerifyOptions) { .key = "key.pub", .image = "x.raw" }),
                        0);

        assert_int_equal(unlink("out/x/x.vhd"), 0);
        assert_int_equal(symlink("x.raw", "out/x/.x.vhd"), 0);
        assert_int_equal(verify(), 1);
        assert_int_equal(unlink("out/x/.x.vhd"), 0);
        assert_int_equal(mkdir("out/x/boots", 0755), 0);
        assert_int_equal(verify(), 0);
        assert_true(was_said(state, "out/x/boots is a folder, which nobody signs"));
}

static void test_a_signature_of_another_build_is_none(void **state _unused_) {
        put_build();
        assert_int_equal(sign(), 0);
        assert_int_equal(rename("out/x", "before"), 0);
        put_build();
        put_bytes("out/x/x.raw", 3, IMAGE_SIZE);
        put_manifest();
        STRV_FOREACH (name, ARGV("release.sha256", "release.sha256.minisig")) {
                _cleanup_free_ char *from = strf("before/%s", *name), *to = strf("out/x/%s", *name);

                assert_int_equal(rename(from, to), 0);
        }
        assert_true(verify() > 0);
        assert_true(was_said(state, "manifest.json is not what was signed: other bytes"));
        assert_true(was_said(state, "x.raw is not what was signed: other bytes"));
}

/* The same id, as anybody may choose it, and the attacker's own list with the attacker's own
 * signature. */
static void test_a_key_with_the_same_id_is_another(void **state) {
        put_build();
        put_file("key", FORGED_SECRET_KEY);
        assert_int_equal(chmod("key", 0600), 0);
        assert_int_equal(sign(), 0);
        assert_true(was_said(state, "with the key 3C26A48AB0804608"));
        assert_true(verify() > 0);
        assert_true(was_said(state, "the key 3C26A48AB0804608 did not sign this"));
}

static void test_names_that_lead_out_are_in_no_list(void **state) {
        static const char *const names[] = { "../x/x.raw", "/etc/passwd", "..", ".", "a\\nb",
                "x.raw\r", "a\x1b[2Jb" };

        put_build();
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *list = NULL;
                Digest digest;

                assert_int_equal(digest_file("out/x/x.raw", digest, NULL), 0);
                list = strf("%s  %s\n", digest, names[i]);
                put_file("out/x/release.sha256", list);
                assert_true(release_verify("out/x", &(VerifyOptions) {}) > 0);
                assert_true(was_said(state, "release.sha256 is no list of sums"));
                forget(state);
        }
}

static void test_a_longer_or_shorter_image_is_told(void **state) {
        put_build();
        assert_int_equal(truncate("out/x/x.raw", IMAGE_SIZE - 1), 0);
        assert_true(release_verify("out/x", &(VerifyOptions) {}) > 0);
        assert_true(was_said(state, "x.raw has 2999 bytes, and the build wrote 3000"));
}

static void test_an_image_that_became_a_link_is_told(void **state) {
        put_build();
        assert_int_equal(sign(), 0);
        assert_int_equal(rename("out/x/x.raw", "elsewhere"), 0);
        assert_int_equal(symlink("../../elsewhere", "out/x/x.raw"), 0);
        assert_true(verify() > 0);
        assert_true(was_said(state, "x.raw: is a link, not a file"));
}

static void test_a_list_that_leaves_out_an_image_is_told(void **state) {
        _cleanup_free_ char *text = NULL;

        put_build();
        assert_int_equal(sign(), 0);
        assert_int_equal(read_file("out/x/release.sha256", 4096, &text, NULL), 0);
        *strrchr(strstr(text, "  x.qcow2"), '\n') = '\0'; /* the last line */
        *strrchr(text, '\n') = '\0';
        strcat(text, "\n");
        put_file("out/x/release.sha256", text);
        assert_true(release_verify("out/x", &(VerifyOptions) {}) > 0);
        assert_true(was_said(state, "release.sha256 does not name x.raw"));
}

static void test_another_key_is_told(void **state) {
        put_build();
        assert_int_equal(sign(), 0);
        assert_true(release_verify("out/x", &(VerifyOptions) { .key = "other.pub" }) > 0);
        assert_true(was_said(state, "is by the key 3C26A48AB0804608, not by 31132530A4C186D2"));
}

static void test_what_was_never_signed_is_told_where_a_key_is_asked_for(void **state) {
        put_build();
        assert_true(verify() > 0);
        assert_true(was_said(state, "release.sha256: is missing: this was never signed"));
        assert_int_equal(release_verify("out/x", &(VerifyOptions) {}), 0);
}

static void test_one_image_is_verified_without_the_others(void **state) {
        put_build();
        assert_int_equal(sign(), 0);
        assert_int_equal(unlink("out/x/x.raw"), 0);
        assert_int_equal(release_verify("out/x",
                                         &(VerifyOptions) { .key = "key.pub", .image = "x.qcow2" }),
                        0);
        assert_true(release_verify("out/x",
                                    &(VerifyOptions) { .key = "key.pub", .image = "x.raw" }) > 0);
        assert_true(release_verify("out/x", &(VerifyOptions) { .image = "notes" }) > 0);
        assert_true(was_said(state, "manifest.json knows no image notes"));
}

static void test_a_changed_build_is_not_signed(void **state) {
        put_build();
        flip("out/x/x.raw", 100, 3);
        assert_true(sign() > 0);
        assert_true(was_said(state, "x.raw is not what the build wrote: other bytes"));
        assert_int_equal(access("out/x/release.sha256", F_OK), -1);
}

static void test_a_new_list_drops_the_signatures_of_the_old(void **state _unused_) {
        put_build();
        put_file("out/x/release.sha256.asc", "old");
        put_file("out/x/notes", "of the release");
        put_file("out/x/notes.from.json", "as export writes it");
        assert_int_equal(release_sign("out/x",
                                         &(SignOptions) { .key = "key", .more = ARGV("notes") }),
                        0);
        assert_int_equal(access("out/x/release.sha256.asc", F_OK), -1);
        assert_int_equal(verify(), 0);

        put_file("out/x/release.sha256.asc", "of this list");
        assert_int_equal(release_sign("out/x",
                                         &(SignOptions) { .key = "key", .more = ARGV("notes") }),
                        0);
        assert_int_equal(access("out/x/release.sha256.asc", F_OK), 0);
}

static void test_further_files_are_of_the_folder(void **state) {
        put_build();
        put_file("secret", "x");
        assert_true(release_sign("out/x", &(SignOptions) { .key = "key",
                                                          .more = ARGV("../../secret") }) > 0);
        assert_true(was_said(state, "name files of the folder, without a path"));
}

static void test_a_folder_of_no_build_is_told(void **state) {
        put_keys();
        assert_int_equal(mkdir_p("out/x", 0755), 0);
        assert_int_equal(verify(), -EINVAL);
        assert_true(was_said(state, "out/x has no manifest.json: name the folder of a build"));
        assert_int_equal(sign(), -EINVAL);
}

static void test_a_manifest_whose_names_lead_out_is_refused(void **state) {
        put_build();
        put_file("out/x/manifest.json",
                        "{\"name\": \"x\", \"files\": [{\"name\": \"../../key\", \"size\": 1, \"sha256\": "
                        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}]}");
        assert_true(release_verify("out/x", &(VerifyOptions) {}) > 0);
        assert_true(was_said(state, "manifest.json is not as imgbuild writes it"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(a_signed_build_holds),
                TEST(no_byte_of_any_file_may_change),
                TEST(each_file_that_goes_is_named),
                TEST(a_file_that_nobody_signed_is_told),
                TEST(a_signature_of_another_build_is_none),
                TEST(a_key_with_the_same_id_is_another),
                TEST(names_that_lead_out_are_in_no_list),
                TEST(a_longer_or_shorter_image_is_told),
                TEST(an_image_that_became_a_link_is_told),
                TEST(a_list_that_leaves_out_an_image_is_told),
                TEST(another_key_is_told),
                TEST(what_was_never_signed_is_told_where_a_key_is_asked_for),
                TEST(one_image_is_verified_without_the_others),
                TEST(a_changed_build_is_not_signed),
                TEST(a_new_list_drops_the_signatures_of_the_old),
                TEST(further_files_are_of_the_folder),
                TEST(a_folder_of_no_build_is_told),
                TEST(a_manifest_whose_names_lead_out_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
