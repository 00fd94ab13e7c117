/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "disk/pack-archive.h"

#include "shared/json-util.h"
#include "shared/spawn.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#define SIZE (5 * 1024 * 1024 + 512)

static void put_disk(void) {
        _cleanup_free_ char *bytes = calloc(1, SIZE);
        unsigned seed = 7;

        for (size_t i = 0; i < SIZE / 3; i++)
                bytes[i] = (char) ((seed = seed * 1103515245 + 12345) >> 16);
        bytes[SIZE - 1] = 'x';
        assert_int_equal(write_file_atomic("disk", bytes, SIZE, 0644), 0);
}

static int pack(int (*fn)(int from, int to), const char *target) {
        _cleanup_close_ int from = open("disk", O_RDONLY | O_CLOEXEC),
                            to = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        return fn(from, to);
}

static int pack_machine(int (*fn)(int from, int to, bool uefi), bool uefi, const char *target) {
        _cleanup_close_ int from = open("disk", O_RDONLY | O_CLOEXEC),
                            to = open(target, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        return fn(from, to, uefi);
}

static void assert_runs(char *const argv[]) {
        _cleanup_free_ char *output = NULL;
        int status;

        assert_int_equal(spawn_capture(NULL, argv, &output, &status), 0);
        if (status != 0)
                fail_msg("%s ends with %d: %s", argv[0], status, output);
}

static void test_gnu_tar_finds_the_disk_in_whole_gib_without_traces(void **state _unused_) {
        _cleanup_free_ char *listing = NULL;
        int status;

        put_disk();
        assert_int_equal(pack(gce_pack, "x.tar.gz"), 0);
        /* "ustar  " with two spaces is what tells GNU's format from POSIX's. */
        assert_runs(ARGV("sh", "-c", "gzip -dc x.tar.gz | head -c 512 | grep -q 'ustar  '"));
        /* -S: a GiB of zeros takes no room. */
        assert_int_equal(spawn_capture(NULL,
                                         ARGV("tar", "--utc", "--numeric-owner", "-xvvzSf",
                                                         "x.tar.gz"),
                                         &listing, &status),
                        0);
        assert_string_equal(listing, "-rw-r--r-- 0/0      1073741824 1970-01-01 00:00 disk.raw\n");
        assert_runs(ARGV("cmp", "-n", "5243392", "disk", "disk.raw"));
        assert_runs(ARGV("cmp", "-i", "5243392:0", "-n", "1068498432", "disk.raw", "/dev/zero"));
}

static void test_oracle_s_archive_has_launch_options_and_disk(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error;

        put_disk();
        assert_int_equal(pack_machine(oci_pack, true, "x.oci"), 0);
        assert_runs(ARGV("tar", "-xf", "x.oci"));
        assert_runs(ARGV("cmp", "disk", "output.QCOW2"));
        assert_int_equal(json_load("image_metadata.json", 10000, &error, &o), 0);
        assert_int_equal(json_get_int(o, "version", 0), 2);
        assert_string_equal(json_get_string(json_get(o, "externalLaunchOptions"), "firmware"),
                        "UEFI_64");
}

static void test_oracle_s_archive_of_a_disk_for_bios_says_so(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error;

        put_disk();
        assert_int_equal(pack_machine(oci_pack, false, "x.oci"), 0);
        assert_runs(ARGV("tar", "-xf", "x.oci"));
        assert_int_equal(json_load("image_metadata.json", 10000, &error, &o), 0);
        assert_string_equal(
                        json_get_string(json_get(o, "externalLaunchOptions"), "firmware"), "BIOS");
}

/* By names, digests and sizes alone, as a registry's client goes through it. */
static void test_an_artifact_is_found_by_its_digests(void **state _unused_) {
        _cleanup_json_ json_object *layout = NULL, *list = NULL, *manifest = NULL;
        _cleanup_free_ char *path = NULL, *blob = NULL;
        json_object *o;
        JsonError error;
        struct stat st;

        put_disk();
        assert_int_equal(pack(artifact_pack, "x.tar"), 0);
        assert_runs(ARGV("tar", "-xf", "x.tar"));
        assert_runs(ARGV("sh", "-c",
                        "cd blobs/sha256 && ls | wc -l | grep -qx 3 && for f in *; do echo \"$f  $f\"; done | sha256sum -c --quiet"));
        assert_int_equal(json_load("oci-layout", 10000, &error, &layout), 0);
        assert_string_equal(json_get_string(layout, "imageLayoutVersion"), "1.0.0");

        assert_int_equal(json_load("index.json", 10000, &error, &list), 0);
        o = json_object_array_get_idx(json_get(list, "manifests"), 0);
        path = strf("blobs/sha256/%s", startswith(json_get_string(o, "digest"), "sha256:"));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, json_get_int(o, "size", 0));
        assert_int_equal(json_load(path, 10000, &error, &manifest), 0);
        assert_string_equal(
                        json_get_string(manifest, "mediaType"), json_get_string(o, "mediaType"));

        o = json_object_array_get_idx(json_get(manifest, "layers"), 0);
        blob = strf("blobs/sha256/%s", startswith(json_get_string(o, "digest"), "sha256:"));
        assert_int_equal(json_get_int(o, "size", 0), SIZE);
        assert_runs(ARGV("cmp", "disk", blob));
        o = json_get(manifest, "config");
        assert_int_equal(json_get_int(o, "size", 0), 2);
}

/* Read by libarchive, which does not know who wrote it. */
static void test_zstd_gives_the_disk_back(void **state _unused_) {
        struct archive *a = archive_read_new();
        struct archive_entry *e;
        _cleanup_free_ char *bytes = malloc(SIZE + 1);

        put_disk();
        assert_int_equal(pack(zstd_pack, "x.raw.zst"), 0);
        archive_read_support_filter_zstd(a);
        archive_read_support_format_raw(a);
        assert_int_equal(archive_read_open_filename(a, "x.raw.zst", 65536), ARCHIVE_OK);
        assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
        assert_int_equal(archive_read_data(a, bytes, SIZE + 1), SIZE);
        archive_read_free(a);
        assert_int_equal(write_file_atomic("again", bytes, SIZE, 0644), 0);
        assert_runs(ARGV("cmp", "disk", "again"));
}

static void test_the_same_disk_gives_the_same_bytes(void **state _unused_) {
        int (*const packers[])(int, int) = { zstd_pack, artifact_pack };

        put_disk();
        for (size_t i = 0; i < ELEMENTSOF(packers); i++) {
                assert_int_equal(pack(packers[i], "one"), 0);
                assert_int_equal(pack(packers[i], "two"), 0);
                assert_runs(ARGV("cmp", "one", "two"));
        }
        assert_int_equal(pack_machine(oci_pack, true, "one"), 0);
        assert_int_equal(pack_machine(oci_pack, true, "two"), 0);
        assert_runs(ARGV("cmp", "one", "two"));
}

static void test_what_cannot_be_written_is_an_error(void **state _unused_) {
        int (*const packers[])(int, int) = { zstd_pack, gce_pack, artifact_pack };

        put_disk();
        for (size_t i = 0; i < ELEMENTSOF(packers); i++) {
                _cleanup_close_ int from = open("disk", O_RDONLY | O_CLOEXEC),
                                    full = open("/dev/full", O_WRONLY | O_CLOEXEC);

                assert_int_equal(packers[i](from, full), -ENOSPC);
        }
        _cleanup_close_ int from = open("disk", O_RDONLY | O_CLOEXEC),
                            full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        assert_int_equal(oci_pack(from, full, true), -ENOSPC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(gnu_tar_finds_the_disk_in_whole_gib_without_traces),
                TEST(oracle_s_archive_has_launch_options_and_disk),
                TEST(oracle_s_archive_of_a_disk_for_bios_says_so),
                TEST(an_artifact_is_found_by_its_digests),
                TEST(zstd_gives_the_disk_back),
                TEST(the_same_disk_gives_the_same_bytes),
                TEST(what_cannot_be_written_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
