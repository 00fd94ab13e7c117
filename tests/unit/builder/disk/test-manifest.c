/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/disk.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char tools[] = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

typedef struct World {
        char folder[64];
        json_object *manifest;
        char *sums;
} World;

static Stage stage(const char *id, StageKind kind, const LockedStage *locked, char digit) {
        Stage s = { .id = (char *) id, .kind = kind, .locked = locked };

        memset(s.digest, digit, DIGEST_HEX);
        return s;
}

static char *files[] = { (char *) "x.qcow2", NULL }, *firmware[] = { (char *) "uefi", NULL },
            *formats[] = { (char *) "qcow2", NULL };

/* What the manifest's files are made from, and the one disk. */
static int put_files(const World *w, const char *source, const char *overlay) {
        _cleanup_free_ char *disk = path_join(w->folder, "x.qcow2");

        return mkdir_parents(source, 0755) < 0 || mkdir_parents(overlay, 0755) < 0 ||
                                               write_file_atomic(source, "{}", 2, 0644) < 0 ||
                                               write_file_atomic(overlay, "{}", 2, 0644) < 0 ||
                                               write_file_atomic(disk, "disk", 4, 0644) < 0
                               ? -1
                               : 0;
}

/* What the checks find in a tree on a vendor's image: a locked package, another version of it, and
 * one that only the image has. */
static json_object *installed(void) {
        static const char text[] =
                        "[{\"name\": \"libc6\", \"version\": \"2.41-12\", \"arch\": \"amd64\", \"source\": \"glibc\"},"
                        " {\"name\": \"libc6\", \"version\": \"2.41-12\", \"arch\": \"i386\"},"
                        " {\"name\": \"gcc\", \"version\": \"4:14.2\", \"arch\": \"amd64\"}]";
        json_object *list = NULL;
        JsonError error;

        return json_parse(text, strlen(text), &error, &list) < 0 ? NULL : list;
}

static int write_it(const Plan *plan, const DiskInfo *info, const char *path) {
        static const ManifestTiming timings[] = { { "plan", 1500 },
                { "stages", 61 * USEC_PER_SEC } };
        Findings findings = { .versions = json_object_new_object() };
        json_object *made_with = json_object_new_object();
        int r;

        json_set_string(made_with, "by", "tools");
        json_set_string(findings.versions, "driver", "550.163.01");
        findings.installed = installed();
        r = manifest_write(plan, &findings, info, files, tools, made_with, NULL, true, timings, 2,
                        path);
        json_object_put(made_with);
        json_object_put(findings.versions);
        json_object_put(findings.installed);
        return r;
}

static int setup(void **state) {
        static LockedPackage image = { .name = (char *) "libc6",
                .version = (char *) "2.41-12",
                .arch = (char *) "amd64",
                .sha256 = (char *) "aa" };
        static LockedPackage compiler = { .name = (char *) "gcc",
                .version = (char *) "14",
                .arch = (char *) "amd64",
                .sha256 = (char *) "bb" };
        LockedStage base = { .id = (char *) "base", .packages = &image, .n_packages = 1 },
                    compile = { .id = (char *) "compile:driver/0",
                            .packages = &compiler,
                            .n_packages = 1 };
        LockedArtifact artifact = { .overlay = (char *) "enroot",
                .name = (char *) "enroot",
                .version = (char *) "4.0",
                .url = (char *) "https://example.org/e",
                .sha256 = (char *) "cc" };
        World *w = calloc(1, sizeof(*w));
        _cleanup_free_ char *source = NULL, *overlay = NULL, *path = NULL, *sums = NULL;
        JsonError error;

        strcpy(w->folder, "/tmp/test-manifest-XXXXXX");
        if (!mkdtemp(w->folder))
                return -1;
        source = path_join(w->folder, "images/x.json");
        overlay = path_join(w->folder, "overlays/o/overlay.json");
        path = path_join(w->folder, "manifest.json");
        sums = path_join(w->folder, "SHA256SUMS");
        if (put_files(w, source, overlay) < 0)
                return -1;

        char *sources[] = { source, overlay, NULL };
        Recipe recipe = {
                .name = (char *) "x",
                .path = source,
                .sources = sources,
                .base = { (char *) "debian", (char *) "trixie", (char *) "amd64" },
                .kernel = { (char *) "linux-image-amd64", (char *) "" },
                .disk = { .filesystem = (char *) "ext4", .firmware = firmware, .formats = formats },
        };
        Lock lock = { .recipe = (char *) "x",
                .epoch = 1700000000,
                .artifacts = &artifact,
                .n_artifacts = 1 };
        Run run = { .network = true };
        Overlay fetcher = { .name = (char *) "fetcher", .run = &run, .n_run = 1 };
        Stage stages[] = { stage("base", STAGE_BASE, &base, 'a'),
                stage("compile:driver/0", STAGE_COMPILE, &compile, 'b'),
                stage("run:fetcher/0", STAGE_RUN, NULL, 'd'),
                stage("finalize", STAGE_FINALIZE, NULL, 'c') };

        recipe.base.image = (char *) "vendor.qcow2";
        stages[2].overlay = &fetcher;
        Plan plan = { .recipe = &recipe,
                .lock = &lock,
                .stages = stages,
                .n_stages = ELEMENTSOF(stages),
                .kernel = "6.12.57+deb13-amd64" };
        DiskInfo info = { .size = 4096,
                .root_uuid = "u",
                .esp_id = "1234-ABCD",
                .disk_guid = "g",
                .esp_start = 1048576 };

        if (write_it(&plan, &info, path) < 0 ||
                        json_load(path, 1024 * 1024, &error, &w->manifest) < 0 ||
                        read_file(sums, 4096, &w->sums, NULL) < 0)
                return -1;
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        json_object_put(w->manifest);
        rm_rf(w->folder);
        free(w->sums);
        free(w);
        return 0;
}

static json_object *at(json_object *array, size_t i) {
        return json_object_array_get_idx(array, i);
}

static void it_says_what_is_in_the_image(void **state) {
        World *w = *state;

        assert_string_equal(json_get_string(w->manifest, "kernel"), "6.12.57+deb13-amd64");
        assert_string_equal(
                        json_get_string(json_get(w->manifest, "versions"), "driver"), "550.163.01");
        assert_string_equal(json_get_string(w->manifest, "tools"), tools);
        assert_int_equal(json_get_int(w->manifest, "epoch", 0), 1700000000);
        assert_true(json_get_bool(w->manifest, "proved", false));
        assert_string_equal(
                        json_get_string(json_get(w->manifest, "base_made_with"), "by"), "tools");
}

static void packages_of_compilers_are_not_the_image_s(void **state) {
        World *w = *state;
        json_object *packages = json_get(w->manifest, "packages"),
                    *build = json_get(w->manifest, "build_packages");

        assert_int_equal(json_object_array_length(packages), 1);
        assert_string_equal(json_get_string(at(packages, 0), "name"), "libc6");
        assert_string_equal(json_get_string(at(packages, 0), "stage"), "base");
        assert_int_equal(json_object_array_length(build), 1);
        assert_string_equal(json_get_string(at(build, 0), "name"), "gcc");
}

static void a_package_s_source_is_what_the_package_says(void **state) {
        World *w = *state;

        assert_string_equal(json_get_string(at(json_get(w->manifest, "packages"), 0), "source"),
                        "glibc");
        assert_null(json_get(at(json_get(w->manifest, "build_packages"), 0), "source"));
}

static void what_only_a_vendors_image_brings_is_listed_apart(void **state) {
        World *w = *state;
        json_object *others = json_get(w->manifest, "image_packages");

        assert_int_equal(json_object_array_length(others), 2);
        assert_string_equal(json_get_string(at(others, 0), "arch"), "i386");
        assert_string_equal(json_get_string(at(others, 1), "name"), "gcc");
}

static void stages_come_with_their_digests(void **state) {
        World *w = *state;
        json_object *stages = json_get(w->manifest, "stages");

        assert_int_equal(json_object_array_length(stages), 4);
        assert_string_equal(json_get_string(at(stages, 1), "kind"), "compile");
        assert_int_equal(strlen(json_get_string(at(stages, 2), "digest")), DIGEST_HEX);
}

static void what_a_script_fetched_makes_it_not_reproducible(void **state) {
        World *w = *state;
        json_object *stages = json_get(w->manifest, "network_stages");

        assert_false(json_get_bool(w->manifest, "reproducible", true));
        assert_int_equal(json_object_array_length(stages), 1);
        assert_string_equal(json_object_get_string(at(stages, 0)), "run:fetcher/0");
}

static void artifacts_come_with_their_source(void **state) {
        World *w = *state;

        assert_string_equal(json_get_string(at(json_get(w->manifest, "artifacts"), 0), "url"),
                        "https://example.org/e");
}

static void files_come_with_size_and_digest(void **state) {
        World *w = *state;
        json_object *file = at(json_get(w->manifest, "files"), 0);
        _cleanup_free_ char *path = path_join(w->folder, "x.qcow2"), *line = NULL;
        Digest digest;

        assert_int_equal(digest_file(path, digest, NULL), 0);
        assert_string_equal(json_get_string(file, "name"), "x.qcow2");
        assert_int_equal(json_get_int(file, "size", 0), 4);
        assert_string_equal(json_get_string(file, "sha256"), digest);
        assert_true(asprintf(&line, "%s  x.qcow2\n", digest) > 0);
        assert_string_equal(w->sums, line);
}

static void a_disk_says_only_what_it_has(void **state) {
        World *w = *state;
        json_object *disk = json_get(w->manifest, "disk");

        assert_string_equal(json_get_string(disk, "esp_id"), "1234-ABCD");
        assert_null(json_get(disk, "bios_start"));
}

static void sources_come_with_their_digests(void **state) {
        World *w = *state;
        json_object *sources = json_get(json_get(w->manifest, "recipe"), "sources");

        assert_int_equal(json_object_array_length(sources), 2);
        assert_true(digest_valid(json_get_string(at(sources, 0), "sha256")));
}

static void sources_are_named_from_the_recipes_folder(void **state) {
        World *w = *state;
        json_object *sources = json_get(json_get(w->manifest, "recipe"), "sources");

        assert_string_equal(json_get_string(at(sources, 0), "path"), "x.json");
        assert_string_equal(json_get_string(at(sources, 1), "path"), "../overlays/o/overlay.json");
}

static void timings_are_seconds(void **state) {
        World *w = *state;
        json_object *timings = json_get(w->manifest, "timings");

        assert_true(json_object_get_double(json_get(timings, "stages")) == 61.0);
        assert_true(json_object_get_double(json_get(timings, "plan")) > 0.001);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_says_what_is_in_the_image),
                cmocka_unit_test(packages_of_compilers_are_not_the_image_s),
                cmocka_unit_test(a_package_s_source_is_what_the_package_says),
                cmocka_unit_test(what_only_a_vendors_image_brings_is_listed_apart),
                cmocka_unit_test(stages_come_with_their_digests),
                cmocka_unit_test(what_a_script_fetched_makes_it_not_reproducible),
                cmocka_unit_test(artifacts_come_with_their_source),
                cmocka_unit_test(files_come_with_size_and_digest),
                cmocka_unit_test(a_disk_says_only_what_it_has),
                cmocka_unit_test(sources_come_with_their_digests),
                cmocka_unit_test(sources_are_named_from_the_recipes_folder),
                cmocka_unit_test(timings_are_seconds),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
