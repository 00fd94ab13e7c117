/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "lock/internal.h"
#include "release/internal.h"

#define SHA "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

#define MANIFEST_TEXT(version, more)                                                              \
        "{\"name\": \"x\", \"epoch\": 1700000000, \"packages\": [{\"name\": \"libc6\", "          \
        "\"version\": \"" version "\", \"arch\": \"amd64\", \"sha256\": \"" SHA                   \
        "\", \"stage\": \"base\"}" more "], \"artifacts\": [{\"overlay\": \"enroot\", \"name\": " \
        "\"enroot\", \"version\": \"4\", \"url\": \"https://example.org/e\", \"sha256\": \"" SHA  \
        "\"}]}"

static void put_lock_on(int64_t epoch, const LockedImage *image) {
        _cleanup_lock_free_ Lock *l = NULL;
        LockedStage *s;

        assert_int_equal(lock_new("x", &l), 0);
        l->epoch = epoch;
        if (image)
                assert_int_equal(lock_set_image(l, image), 0);
        assert_int_equal(lock_add_origin(l, &(LockedOrigin) { .name = (char *) "debian",
                                                            .suite = (char *) "trixie" }),
                        0);
        assert_int_equal(lock_add_stage(l, "base", SHA, &s), 0);
        assert_int_equal(locked_stage_add(s, &(LockedPackage) { (char *) "libc6",
                                                             (char *) "2.41-12", (char *) "amd64",
                                                             (char *) SHA, 7, (char *) "debian",
                                                             (char *) "pool/l.deb" }),
                        0);
        assert_int_equal(lock_add_artifact(l, &(LockedArtifact) { (char *) "enroot",
                                                              (char *) "enroot", (char *) "4",
                                                              (char *) "https://example.org/e",
                                                              (char *) SHA, 7 }),
                        0);
        assert_int_equal(lock_write(l, "x.lock.json"), 0);
}

static void put_lock(int64_t epoch) {
        put_lock_on(epoch, NULL);
}

static int faults(const char *manifest) {
        _cleanup_release_ Release r = { .folder = "out/x" };
        JsonError error;

        assert_int_equal(json_parse(manifest, strlen(manifest), &error, &r.manifest), 0);
        assert_int_equal(release_check_lock(&r, "x.lock.json"), 0);
        return r.faults;
}

static void test_a_manifest_of_this_lock_has_no_faults(void **state _unused_) {
        put_lock(1700000000);
        assert_int_equal(faults(MANIFEST_TEXT("2.41-12", "")), 0);
}

static void test_another_version_is_told_from_both_sides(void **state) {
        put_lock(1700000000);
        assert_int_equal(faults(MANIFEST_TEXT("2.41-13", "")), 2);
        assert_true(was_said(
                        state, "lacks what x.lock.json has: package base libc6 2.41-12 amd64"));
        assert_true(was_said(state, "has what x.lock.json has not: package base libc6 2.41-13"));
}

static void test_a_package_too_many_is_told(void **state) {
        put_lock(1700000000);
        assert_int_equal(faults(MANIFEST_TEXT("2.41-12",
                                         ", {\"name\": \"miner\", \"stage\": \"base\"}")),
                        1);
        assert_true(was_said(state, "has what x.lock.json has not: package base miner"));
}

static void test_another_epoch_is_told(void **state _unused_) {
        put_lock(1800000000);
        assert_int_equal(faults(MANIFEST_TEXT("2.41-12", "")), 1);
}

#define ON_IMAGE(sum)                                                                                   \
        "{\"name\": \"x\", \"epoch\": 1700000000, \"base_made_with\": {\"by\": \"vendor\", \"image\": " \
        "\"vendor.qcow2\", \"sha256\": \"" sum "\"}, "

static void test_another_vendors_image_is_told(void **state) {
        static const LockedImage image = { .name = (char *) "vendor.qcow2",
                .sha256 = (char *) SHA,
                .size = 7,
                .distro = (char *) "debian",
                .release = (char *) "trixie",
                .status = (char *) SHA };
        const char *rest = strstr(MANIFEST_TEXT("2.41-12", ""), "\"packages\"");
        _cleanup_free_ char *same = strf("%s%s", ON_IMAGE(SHA), rest),
                            *other = strf("%s%s", ON_IMAGE("bb"), rest);

        put_lock_on(1700000000, &image);
        assert_int_equal(faults(same), 0);
        assert_int_equal(faults(other), 2);
        assert_true(was_said(state, "has what x.lock.json has not: image vendor.qcow2 bb"));
        assert_int_equal(faults(MANIFEST_TEXT("2.41-12", "")), 1);
        put_lock(1700000000);
        assert_int_equal(faults(same), 1);
}

static void test_a_lock_that_is_missing_is_bad_input(void **state _unused_) {
        _cleanup_release_ Release r = { .folder = "out/x" };

        assert_int_equal(release_check_lock(&r, "nothing"), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(a_manifest_of_this_lock_has_no_faults),
                TEST(another_version_is_told_from_both_sides),
                TEST(a_package_too_many_is_told),
                TEST(another_epoch_is_told),
                TEST(another_vendors_image_is_told),
                TEST(a_lock_that_is_missing_is_bad_input),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
