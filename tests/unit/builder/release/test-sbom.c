/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "release-fixture.h"

#include "release/internal.h"
#include "release/parts.h"

#define SHA "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM "\"sha256\": \"" SHA "\""
#define MANIFEST_WITH(lists)                                                                        \
        "{\"name\": \"x\", \"identity\": \"aa\", \"distro\": \"debian\", \"release\": \"trixie\", " \
        "\"epoch\": 1700000000, \"imgbuild\": \"0.1\", \"tools\": \"bb\", "                         \
        "\"files\": [{\"name\": \"x.raw\", \"size\": 4, \"sha256\": "                               \
        "\"982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1\"}]" lists "}"

static json_object *parse(const char *text) {
        json_object *m = NULL;
        JsonError error;

        assert_int_equal(json_parse(text, strlen(text), &error, &m), 0);
        return m;
}

static void assert_purl(const char *lists, const char *purl) {
        _cleanup_json_ json_object *m = parse(lists);
        _cleanup_parts_ Parts p = {};

        assert_int_equal(parts_read(m, &p), 0);
        assert_int_equal(p.n, 1);
        assert_string_equal(p.parts[0].purl, purl);
}

static void test_package_urls(void **state _unused_) {
        assert_purl(MANIFEST_WITH(", \"packages\": [{\"name\": \"libstdc++6\", \"version\": "
                                  "\"1:14.2~rc1+b/1\", \"arch\": \"amd64\", " SUM "}]"),
                        "pkg:deb/debian/libstdc%2B%2B6@1:14.2~rc1%2Bb%2F1?arch=amd64&distro=trixie");
        assert_purl(MANIFEST_WITH(", \"packages\": [{\"name\": \"nvtop\", \"version\": \"1\", "
                                  "\"arch\": \"all\", \"origin\": \"vendor\", " SUM "}]"),
                        "pkg:deb/vendor/nvtop@1?arch=all&distro=trixie");
        assert_purl(MANIFEST_WITH(", \"python\": [{\"name\": \"torch\", \"version\": \"2.6.0+cpu\", " SUM
                                  "}]"),
                        "pkg:pypi/torch@2.6.0%2Bcpu");
        assert_purl(MANIFEST_WITH(", \"artifacts\": [{\"name\": \"enroot\", " SUM "}]"),
                        "pkg:generic/enroot");
}

static void test_urls_name_what_a_package_was_made_from(void **state _unused_) {
        assert_purl(MANIFEST_WITH(", \"packages\": [{\"name\": \"libssl3t64\", \"version\": \"3.5.4-1\", "
                                  "\"arch\": \"amd64\", \"source\": \"openssl\", " SUM "}]"),
                        "pkg:deb/debian/libssl3t64@3.5.4-1?arch=amd64&distro=trixie&upstream=openssl");
        assert_purl(MANIFEST_WITH(", \"packages\": [{\"name\": \"libstdc++6\", \"version\": \"14.2-1+b1\", "
                                  "\"arch\": \"amd64\", \"source\": \"gcc-14\", \"source_version\": \"14.2-1\", " SUM
                                  "}]"),
                        "pkg:deb/debian/libstdc%2B%2B6@14.2-1%2Bb1?arch=amd64&distro=trixie&upstream=gcc-14%4014.2-1");
        /* A package may say anything of itself. */
        assert_purl(MANIFEST_WITH(", \"packages\": [{\"name\": \"a\", \"version\": \"1\", "
                                  "\"arch\": \"all\", \"source\": \"\", \"source_version\": \"2\", " SUM
                                  "}]"),
                        "pkg:deb/debian/a@1?arch=all&distro=trixie");
}

#define OF_ROCKY(lists) "{\"distro\": \"rocky\", \"release\": \"9\"" lists "}"

static void test_urls_of_rpms_have_the_epoch_apart(void **state _unused_) {
        assert_purl(OF_ROCKY(", \"packages\": [{\"name\": \"bash\", \"version\": \"5.1.8-9.el9\", "
                             "\"arch\": \"x86_64\", " SUM "}]"),
                        "pkg:rpm/rocky/bash@5.1.8-9.el9?arch=x86_64&distro=rocky-9");
        assert_purl(OF_ROCKY(", \"packages\": [{\"name\": \"nvidia-driver-cuda\", \"version\": "
                             "\"3:580.178.04-1.el9\", \"arch\": \"x86_64\", \"origin\": \"nvidia-cuda\", " SUM
                             "}]"),
                        "pkg:rpm/nvidia-cuda/nvidia-driver-cuda@580.178.04-1.el9?arch=x86_64&distro=rocky-9&epoch=3");
}

static void test_urls_of_rpms_name_the_source_rpm(void **state _unused_) {
        assert_purl(OF_ROCKY(", \"image_packages\": [{\"name\": \"openssl-libs\", \"version\": \"1:3.0.7-27.el9\", "
                             "\"arch\": \"x86_64\", \"source\": \"openssl\", \"source_version\": \"3.0.7-27.el9\"}]"),
                        "pkg:rpm/rocky/openssl-libs@3.0.7-27.el9?arch=x86_64&distro=rocky-9&epoch=1&upstream=openssl-3.0.7-27.el9.src.rpm");
}

static void test_what_is_no_epoch_brings_no_qualifier(void **state _unused_) {
        assert_purl(OF_ROCKY(", \"packages\": [{\"name\": \"bash\", \"version\": \"1&arch=x:5.1-9\", "
                             "\"arch\": \"x86_64\", " SUM "}]"),
                        "pkg:rpm/rocky/bash@1%26arch%3Dx:5.1-9?arch=x86_64&distro=rocky-9");
}

static void test_a_vendors_image_and_its_packages_are_parts(void **state _unused_) {
        _cleanup_json_ json_object *m = parse(OF_ROCKY(
                        ", \"base_made_with\": {\"by\": \"vendor\", \"image\": \"https://x.example/Rocky-9.qcow2\", " SUM
                        "}, \"image_packages\": [{\"name\": \"glibc\", \"version\": \"2.34-125.el9\", \"arch\": \"x86_64\"}]"));
        _cleanup_json_ json_object *spdx = NULL;
        _cleanup_parts_ Parts p = {};

        assert_int_equal(parts_read(m, &p), 0);
        assert_int_equal(p.n, 2);
        assert_string_equal(p.parts[0].purl, "pkg:generic/Rocky-9.qcow2");
        assert_string_equal(p.parts[0].url, "https://x.example/Rocky-9.qcow2");
        assert_int_equal(p.parts[1].kind, PART_IMAGE_PACKAGE);
        assert_true(part_in_image(p.parts + 1));
        assert_string_equal(p.parts[1].purl,
                        "pkg:rpm/rocky/glibc@2.34-125.el9?arch=x86_64&distro=rocky-9");
        assert_null(p.parts[1].sha256);
}

static void test_each_list_has_its_kind(void **state _unused_) {
        static const PartKind kinds[] = { PART_PACKAGE, PART_ARTIFACT, PART_WHEEL,
                PART_BUILD_PACKAGE, PART_MODULE, PART_FILE, PART_BUILD_PACKAGE };
        _cleanup_json_ json_object *m = parse(MANIFEST_WITH(
                        ", \"packages\": [{\"name\": \"a\", " SUM "}, {\"name\": \"no sum\"}]"
                        ", \"build_packages\": [{\"name\": \"gcc\", " SUM "}]"
                        ", \"artifacts\": [{\"name\": \"b\", " SUM "}]"
                        ", \"python\": [{\"name\": \"c\", " SUM
                        "}, {\"name\": \"pip\", \"role\": \"installer\", " SUM "}]"
                        ", \"compiled\": [{\"path\": \"/lib/d.ko\", \"module\": \"d\", " SUM
                        "}, {\"path\": \"/usr/sbin/e\", " SUM "}]"));
        _cleanup_parts_ Parts p = {};

        assert_int_equal(parts_read(m, &p), 0);
        assert_int_equal(p.n, ELEMENTSOF(kinds));
        for (size_t i = 0; i < p.n; i++)
                assert_int_equal(p.parts[i].kind, kinds[i]);
        assert_string_equal(p.parts[4].name, "d");
        assert_string_equal(p.parts[5].name, "/usr/sbin/e");
        assert_null(p.parts[5].purl);
}

static void test_time_and_uuid_are_the_build_s(void **state _unused_) {
        _cleanup_json_ json_object *m = parse(MANIFEST_WITH(""));
        char when[32], uuid[37];

        parts_time(m, when);
        parts_uuid(m, uuid);
        assert_string_equal(when, "2023-11-14T22:13:20Z");
        assert_string_equal(uuid, "982d9e3e-b996-8f55-89e6-33f4d194def3");
}

static void put_build(void) {
        put_file("out/x/x.raw", "text");
        put_file("out/x/manifest.json",
                        MANIFEST_WITH(", \"packages\": [{\"name\": \"a\", " SUM "}]"));
        put_file("out/x/SHA256SUMS",
                        "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1  x.raw\n");
        put_keys();
}

static void test_the_documents_are_signed_and_verified(void **state) {
        put_build();
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_int_equal(release_sign("out/x", &(SignOptions) { .key = "key" }), 0);
        assert_int_equal(release_verify("out/x", &(VerifyOptions) { .key = "key.pub" }), 0);

        STRV_FOREACH (name, ARGV(RELEASE_DOCUMENTS)) {
                _cleanup_free_ char *path = strf("out/x/%s", *name), *text = NULL, *said = NULL;

                assert_int_equal(read_file(path, 100000, &text, NULL), 0);
                put_file(path, "{}");
                said = strf("%s does not say what manifest.json says", *name);
                assert_true(release_verify("out/x", &(VerifyOptions) {}) > 0);
                assert_true(was_said(state, said));
                put_file(path, text);
                assert_int_equal(rename(path, "away"), 0);
                assert_true(release_verify("out/x", &(VerifyOptions) { .key = "key.pub" }) > 0);
                assert_int_equal(rename("away", path), 0);
        }
        assert_int_equal(release_verify("out/x", &(VerifyOptions) { .key = "key.pub" }), 0);
}

static void test_a_package_that_is_left_out_is_found(void **state) {
        _cleanup_free_ char *text = NULL;
        char *name;

        put_build();
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_int_equal(read_file("out/x/" RELEASE_CYCLONEDX, 100000, &text, NULL), 0);
        name = strstr(text, "\"name\": \"a\"");
        assert_non_null(name);
        memcpy(name, "\"name\": \"b\"", 11);
        put_file("out/x/" RELEASE_CYCLONEDX, text);
        assert_int_equal(release_verify("out/x", &(VerifyOptions) {}), 1);
        assert_true(was_said(state, "release.cdx.json does not say what manifest.json says"));
        assert_true(release_sign("out/x", &(SignOptions) { .key = "key" }) > 0);
}

static void test_documents_newer_than_the_signature_are_told(void **state) {
        put_build();
        assert_int_equal(release_sign("out/x", &(SignOptions) { .key = "key" }), 0);
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_int_equal(release_verify("out/x", &(VerifyOptions) { .key = "key.pub" }), 3);
        assert_true(was_said(state, "release.spdx.json is newer than the signatures: sign again"));
}

static void test_the_same_manifest_gives_the_same_bytes(void **state _unused_) {
        _cleanup_free_ char *first = NULL, *second = NULL;

        put_build();
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_int_equal(read_file("out/x/" RELEASE_SPDX, 100000, &first, NULL), 0);
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_int_equal(read_file("out/x/" RELEASE_SPDX, 100000, &second, NULL), 0);
        assert_string_equal(first, second);
}

static void test_a_manifest_from_before_says_what_is_missing(void **state) {
        put_build();
        assert_int_equal(release_write_sbom("out/x"), 0);
        assert_true(was_said(state, "'imgbuild build --force' names that, too"));
        assert_int_equal(mkdir_p("out/y", 0755), 0);
        assert_int_equal(release_write_sbom("out/y"), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_setup, fixture_teardown)
                TEST(package_urls),
                TEST(urls_of_rpms_have_the_epoch_apart),
                TEST(urls_name_what_a_package_was_made_from),
                TEST(urls_of_rpms_name_the_source_rpm),
                TEST(what_is_no_epoch_brings_no_qualifier),
                TEST(a_vendors_image_and_its_packages_are_parts),
                TEST(each_list_has_its_kind),
                TEST(time_and_uuid_are_the_build_s),
                TEST(the_documents_are_signed_and_verified),
                TEST(a_package_that_is_left_out_is_found),
                TEST(documents_newer_than_the_signature_are_told),
                TEST(the_same_manifest_gives_the_same_bytes),
                TEST(a_manifest_from_before_says_what_is_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
