/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FINGERPRINT "01234567 89ABCDEF 01234567 89abcdef 01234567"

static void a_description_is_enough(void **state) {
        Overlay *o = load_overlay(*state, "");

        assert_string_equal(o->name, "one");
        assert_string_equal(o->description, "the one overlay");
        assert_false(o->has_files);
        assert_null(o->packages);
        assert_null(o->node);
}

static void a_description_is_needed(void **state) {
        put_file("overlays/one/overlay.json", "{}");
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.description: missing: One line: what the overlay brings");
}

static void the_familys_packages_are_taken(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"packages\": {\"debian\": [\"g++\", \"libc6:amd64=2.41-12+b1\"], \"el\": [\"gcc-c++\"]}");

        assert_int_equal(strv_length(o->packages), 2);
        assert_string_equal(o->packages[1], "libc6:amd64=2.41-12+b1");
}

static void package_names_are_checked(void **state) {
        static const char *const wrong[] = { "a", "", "-x", "Vim", "vim;rm", "vim nano",
                "vim=", "vim:", "vim/sid", "../x", "${version}", "x$(id)", "vim\\n" };

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                _cleanup_free_ char *keys =
                                strf(", \"packages\": {\"debian\": [\"%s\"]}", wrong[i]);
                put_overlay("one", keys);
                put_recipe("x", ", \"overlays\": [\"one\"]");
                assert_int_equal(load(*state, "images/x.json"), -EINVAL);
                assert_true(was_logged(*state, "$.packages.debian[0]: \""));
        }
}

static void the_kernels_release_may_be_in_a_name(void **state) {
        Overlay *o = load_overlay(
                        *state, ", \"packages\": {\"debian\": [\"linux-headers-${kernel}\"]}");

        assert_string_equal(o->packages[0], "linux-headers-${kernel}");
}

static void repositories_are_read(void **state) {
        put_file("overlays/one/vendor.asc", "key");
        Overlay *o = load_overlay(*state,
                        ", \"repositories\": {\"debian\": [{\"name\": \"vendor\", \"uri\": \"https://v.example/apt\","
                        "\"suite\": \"stable\", \"components\": [\"main\", \"extra\"], \"key\": \"vendor.asc\",\"fingerprint\": \"" FINGERPRINT
                        "\"},{\"name\": \"flat\", \"uri\": \"https://f.example/deb/$(ARCH)\", \"suite\": \"./\","
                        "\"key\": \"https://f.example/key\", \"fingerprint\": \"" FINGERPRINT
                        "\", \"keep\": false}]}");

        assert_int_equal(o->n_repositories, 2);
        assert_string_equal(o->repositories[0].name, "vendor");
        assert_string_equal(o->repositories[0].uri, "https://v.example/apt");
        assert_string_equal(o->repositories[0].components[1], "extra");
        assert_string_equal(o->repositories[0].key, "vendor.asc");
        assert_string_equal(
                        o->repositories[0].fingerprint, "0123456789ABCDEF0123456789ABCDEF01234567");
        assert_true(o->repositories[0].keep);
        assert_string_equal(o->repositories[1].suite, "./");
        assert_null(o->repositories[1].components);
        assert_false(o->repositories[1].keep);
}

static void a_repository_needs_all_it_is_trusted_by(void **state) {
        assert_overlay_refused(*state,
                        ", \"repositories\": {\"debian\": [{\"name\": \"v\", \"uri\": \"https://v.example\", \"suite\": \"x\","
                        "\"key\": \"https://v.example/key\"}]}",
                        "$.repositories.debian[0].fingerprint: missing: The whole fingerprint of that key");
        assert_overlay_refused(*state,
                        ", \"repositories\": {\"debian\": [{\"name\": \"v\", \"uri\": \"https://v.example\", \"suite\": \"x\","
                        "\"key\": \"https://v.example/key\", \"fingerprint\": \"89ABCDEF\"}]}",
                        "$.repositories.debian[0].fingerprint: \"89ABCDEF\" is not the full fingerprint of a key (40 or 64 "
                        "hexadecimal digits; gpg --show-keys prints it)");
        assert_overlay_refused(*state,
                        ", \"repositories\": {\"debian\": [{\"name\": \"v\", \"uri\": \"https://me:secret@v.example\","
                        "\"suite\": \"x\", \"key\": \"https://v.example/key\", \"fingerprint\": \"" FINGERPRINT
                        "\"}]}",
                        "$.repositories.debian[0].uri: \"https://me:secret@v.example\" holds a user or password; what it "
                        "holds ends up in locks and manifests");
        assert_overlay_refused(*state,
                        ", \"repositories\": {\"debian\": [{\"name\": \"v\", \"uri\": \"https://v.example\", \"suite\": \"x\","
                        "\"key\": \"none.asc\", \"fingerprint\": \"" FINGERPRINT "\"}]}",
                        "$.repositories.debian[0].key: there is no \"none.asc\" in this overlay's folder");
}

#define IN_THE_ARCHIVE(keep)                                                                           \
        ", \"repositories\": {\"debian\": [{\"name\": \"backports\", \"suite\": \"trixie-backports\"," \
        "\"components\": [\"main\"], \"key\": \"https://v.example/key\","                              \
        "\"fingerprint\": \"" FINGERPRINT "\"" keep "}]}"

static void a_repository_may_lie_in_the_distributions_archive(void **state) {
        Overlay *o = load_overlay(*state, IN_THE_ARCHIVE(", \"keep\": false"));

        assert_int_equal(o->n_repositories, 1);
        assert_null(o->repositories[0].uri);
        assert_string_equal(o->repositories[0].suite, "trixie-backports");
}

static void such_a_repository_is_not_kept(void **state) {
        assert_overlay_refused(*state, IN_THE_ARCHIVE(""),
                        "$.repositories.debian[0].uri: missing: an image cannot keep a repository that lies in the "
                        "distribution's archive, wherever a host has that; give its place, or \"keep\": false");
}

static void artifacts_are_read(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"artifacts\": [{\"name\": \"enroot+caps\", \"version\": \"4.0.1-1\", \"sha256\": \"" SHA
                        "\",\"url\": \"https://x.example/v${version}/e_${version}_${arch}.deb\", \"install\": \"package\"},"
                        "{\"name\": \"tool\", \"version\": \"1\", \"url\": \"https://x.example/tool\","
                        "\"install\": {\"path\": \"/usr/local/bin/tool\", \"mode\": \"0755\"}},"
                        "{\"name\": \"cni\", \"version\": \"1\", \"url\": \"https://x.example/cni.tgz\","
                        "\"install\": {\"unpack\": \"/opt/cni/bin\", \"strip\": 2}}]");

        assert_int_equal(o->n_artifacts, 3);
        assert_string_equal(o->artifacts[0].url, "https://x.example/v4.0.1-1/e_4.0.1-1_amd64.deb");
        assert_string_equal(o->artifacts[0].sha256, SHA);
        assert_int_equal(o->artifacts[0].kind, INSTALL_PACKAGE);
        assert_int_equal(o->artifacts[1].kind, INSTALL_FILE);
        assert_string_equal(o->artifacts[1].path, "/usr/local/bin/tool");
        assert_int_equal(o->artifacts[1].mode, 0755);
        assert_null(o->artifacts[1].sha256);
        assert_int_equal(o->artifacts[2].kind, INSTALL_UNPACK);
        assert_string_equal(o->artifacts[2].path, "/opt/cni/bin");
        assert_int_equal(o->artifacts[2].strip, 2);
}

static void an_artifact_may_have_a_place_and_a_digest_for_each_family(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"artifacts\": [{\"name\": \"tool\", \"version\": \"2\", \"install\": \"package\","
                        "\"url\": {\"debian\": \"https://x.example/${version}.deb\", \"el\": \"https://x.example/${version}.rpm\"},"
                        "\"sha256\": {\"debian\": \"" SHA "\"}}]");

        assert_string_equal(o->artifacts[0].url, "https://x.example/2.deb");
        assert_string_equal(o->artifacts[0].sha256, SHA);
}

static void a_family_may_have_no_use_for_an_artifact(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"artifacts\": [{\"name\": \"tool\", \"version\": \"2\", \"install\": \"package\","
                        "\"url\": {\"debian\": false, \"el\": \"https://x.example/${version}.rpm\"}},"
                        "{\"name\": \"other\", \"version\": \"1\", \"install\": \"package\", \"url\": \"https://x.example/other.deb\"}]");

        assert_int_equal(o->n_artifacts, 1);
        assert_string_equal(o->artifacts[0].name, "other");
}

static void artifacts_are_checked(void **state) {
        static const struct {
                const char *rest, *message;
        } cases[] = {
                { "\"url\": \"https://x.example/${verison}\", \"install\": \"package\"",
                                "$.artifacts[0].url: \"${verison}\" is unknown; there is ${version} and ${arch}" },
                { "\"url\": {\"el\": \"https://x.example/x.rpm\"}, \"install\": \"package\"",
                                "$.artifacts[0].url: has none for family debian" },
                { "\"url\": {\"debian\": true, \"el\": \"https://x.example/x.rpm\"}, \"install\": \"package\"",
                                "$.artifacts[0].url.debian: is true; it is a URL, or false where this family has no use for the artifact" },
                { "\"url\": {\"debian\": false, \"el\": \"https://x.example/x.rpm\"}, \"install\": {\"path\": \"/a\", \"unpack\": \"/b\"}",
                                "$.artifacts[0].install: must have either \"path\" (a file) or \"unpack\" (a folder)" },
                { "\"url\": {\"debian\": \"ftp://x.example/\"}, \"install\": \"package\"",
                                "$.artifacts[0].url: \"ftp://x.example/\" is not a URL (https://…, http://… or file:///…)" },
                { "\"url\": {\"suse\": \"https://x.example/\"}, \"install\": \"package\"",
                                "$.artifacts[0].url.suse: unknown key; known are debian, el" },
                { "\"url\": \"ftp://x.example/\", \"install\": \"package\"",
                                "$.artifacts[0].url: \"ftp://x.example/\" is not a URL (https://…, http://… or file:///…)" },
                { "\"url\": \"https://x.example\", \"install\": \"deb\"",
                                "$.artifacts[0].install: \"deb\" is not one of package" },
                { "\"url\": \"https://x.example\", \"install\": {}",
                                "$.artifacts[0].install: must have either \"path\" (a file) or \"unpack\" (a folder)" },
                { "\"url\": \"https://x.example\", \"install\": {\"path\": \"/a\", \"unpack\": \"/b\"}",
                                "$.artifacts[0].install: must have either \"path\" (a file) or \"unpack\" (a folder)" },
                { "\"url\": \"https://x.example\", \"install\": {\"path\": \"/a\", \"strip\": 1}",
                                "$.artifacts[0].install: \"strip\" goes with \"unpack\", not with \"path\"" },
                { "\"url\": \"https://x.example\", \"install\": {\"unpack\": \"/a\", \"mode\": \"0644\"}",
                                "$.artifacts[0].install: \"mode\" goes with \"path\", not with \"unpack\"" },
                { "\"url\": \"https://x.example\", \"install\": {\"path\": \"/usr/../etc/passwd\"}",
                                "$.artifacts[0].install.path: \"/usr/../etc/passwd\" is not an absolute path in the image "
                                "(as /usr/local/bin/x)" },
                { "\"url\": \"https://x.example\", \"install\": {\"unpack\": \"/a\", \"strip\": -1}",
                                "$.artifacts[0].install.strip: must be from 0 to 100" },
                { "\"url\": \"https://x.example\", \"install\": \"package\", \"sha256\": \"abc\"",
                                "$.artifacts[0].sha256: \"abc\" is not a SHA-256 (64 lower-case hexadecimal digits)" },
                { "\"install\": \"package\"",
                                "$.artifacts[0].url: missing: Where it is downloaded; ${version} and ${arch} are filled in" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *keys =
                                strf(", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", %s}]",
                                                cases[i].rest);
                assert_overlay_refused(*state, keys, cases[i].message);
        }
        assert_overlay_refused(*state,
                        ", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", \"url\": "
                        "\"https://x.example\", \"install\": \"package\"},"
                        "{\"name\": \"a\", \"version\": \"2\", \"url\": \"https://x.example\", \"install\": \"package\"}]",
                        "$.artifacts[1].url: two artifacts of this overlay are called \"a\"");
}

static void an_environment_is_read(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"python\": {\"environment\": \"/opt/ml/x\", \"requirements\": [\"torch==2.6.0\", \"a[b]>=1,<2; python_version<'4'\"],"
                        "\"constraints\": [\"numpy<2\"], \"index\": \"https://x.example/whl/cpu\"}");

        assert_string_equal(o->python.environment, "/opt/ml/x");
        assert_int_equal(strv_length(o->python.requirements), 2);
        assert_string_equal(o->python.constraints[0], "numpy<2");
        assert_string_equal(o->python.index, "https://x.example/whl/cpu");
}

static void an_environment_is_checked(void **state) {
        static const struct {
                const char *members, *message;
        } cases[] = {
                { "\"environment\": \"/usr/lib\", \"requirements\": [\"x\"]",
                                "$.python.environment: \"/usr/lib\" is not a folder below /opt (as /opt/ml/torch: letters, digits, . _ -)" },
                { "\"environment\": \"/opt/../usr\", \"requirements\": [\"x\"]",
                                "$.python.environment: \"/opt/../usr\" is not a folder below /opt (as /opt/ml/torch: letters, digits, . _ -)" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"--pre\"]",
                                "$.python.requirements[0]: \"--pre\" is not a requirement (as torch==2.6.0 or numpy>=2,<3; no URL, path or option)" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"x @ https://x.example\"]",
                                "$.python.requirements[0]: \"x @ https://x.example\" is not a requirement (as torch==2.6.0 or numpy>=2,<3; no URL, path or option)" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"x.whl\"]",
                                "$.python.requirements[0]: \"x.whl\" is a file; name a package and its version, which come from an index" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"x\"], \"index\": \"https://u:p@x.example\"",
                                "$.python.index: \"https://u:p@x.example\" holds a user or password; what it holds ends up in locks and manifests" },
                { "\"environment\": \"/opt/x\", \"requirements\": []",
                                "$.python.requirements: is empty: name what is to be installed" },
                { "\"environment\": \"/opt/x\", \"requirements\": {\"el\": [\"x\"]}",
                                "$.python.requirements: has none for family debian; give its own, or an empty list where the overlay fills no environment there" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"x\"], \"interpreter\": \"/usr/bin/python3\"",
                                "$.python.interpreter: \"/usr/bin/python3\" is no Python of the image (python3, or python3.12 and the like)" },
                { "\"environment\": \"/opt/x\", \"requirements\": [\"x\"], \"interpreter\": {\"el\": \"python3.\"}",
                                "$.python.interpreter.el: \"python3.\" is no Python of the image (python3, or python3.12 and the like)" },
                { "\"environment\": \"/opt/x\"",
                                "$.python.requirements: missing: What is installed, as pip takes it: \"torch==2.6.0\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *keys = strf(", \"python\": {%s}", cases[i].members);

                assert_overlay_refused(*state, keys, cases[i].message);
        }
}

static void an_environment_is_made_by_a_python_of_the_family(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": {\"debian\": [\"x\"], \"el\": [\"y\"]},"
                        "\"interpreter\": {\"debian\": \"python3.13\", \"el\": \"python3.12\"}}");

        assert_string_equal(o->python.interpreter, "python3.13");
        assert_string_equal(o->python.requirements[0], "x");
        assert_int_equal(strv_length(o->python.requirements), 1);
}

static void an_environment_may_be_the_other_familys_alone(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": {\"debian\": [], \"el\": [\"y\"]}}");

        assert_null(o->python.environment);
        assert_int_equal(strv_length(o->python.requirements), 0);
}

static void compile_stages_are_read(void **state) {
        put_script("overlays/one/build.sh");
        put_file("overlays/one/src/main.c", "int main;");
        Overlay *o = load_overlay(*state,
                        ", \"compile\": [{\"packages\": {\"debian\": [\"gcc\"], \"el\": [\"make\"]},"
                        "\"source\": \"src\", \"script\": \"build.sh\"}]");

        assert_int_equal(o->n_compile, 1);
        assert_string_equal(o->compile[0].packages[0], "gcc");
        assert_int_equal(strv_length(o->compile[0].packages), 1);
        assert_true(*o->compile[0].source == '/' &&
                        endswith(o->compile[0].source, "/overlays/one/src"));
        assert_true(*o->compile[0].script == '/' &&
                        endswith(o->compile[0].script, "/overlays/one/build.sh"));
}

static void source_archives_are_read(void **state) {
        put_script("overlays/one/build.sh");
        Overlay *o = load_overlay(*state,
                        ", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", \"url\": \"https://x.example/a\", \"install\": \"package\"}],"
                        "\"compile\": [{\"script\": \"build.sh\"}, {\"script\": \"build.sh\", \"artifacts\": ["
                        "{\"name\": \"b\", \"version\": \"2.1\", \"sha256\": \"" SHA
                        "\", \"url\": \"https://x.example/${version}.tgz\"},"
                        "{\"name\": \"c\", \"version\": \"3\", \"url\": \"https://x.example/c\", \"strip\": 0}]}]");

        assert_int_equal(o->n_artifacts, 3);
        assert_int_equal(o->artifacts[0].kind, INSTALL_PACKAGE);
        assert_int_equal(o->artifacts[1].kind, INSTALL_SOURCE);
        assert_int_equal(o->artifacts[1].compile, 1);
        assert_int_equal(o->artifacts[1].strip, 1);
        assert_string_equal(o->artifacts[1].url, "https://x.example/2.1.tgz");
        assert_string_equal(o->artifacts[1].sha256, SHA);
        assert_string_equal(o->artifacts[2].name, "c");
        assert_int_equal(o->artifacts[2].strip, 0);
}

static void source_archives_are_checked(void **state) {
        static const struct {
                const char *item, *message;
        } cases[] = {
                { "{\"name\": \"a\", \"version\": \"1\", \"url\": \"https://x.example/a\"}",
                                "$.compile[0].artifacts[0].url: two artifacts of this overlay are called \"a\"" },
                { "{\"name\": \"../b\", \"version\": \"1\", \"url\": \"https://x.example/a\"}",
                                "$.compile[0].artifacts[0].name: \"../b\" is not a name (letters, digits, + . _ -)" },
                { "{\"name\": \"b\", \"version\": \"1\", \"url\": \"ftp://x.example/a\"}",
                                "$.compile[0].artifacts[0].url: \"ftp://x.example/a\" is not a URL (https://…, http://… or file:///…)" },
                { "{\"name\": \"b\", \"version\": \"1\", \"url\": \"https://x.example/a\", \"install\": \"package\"}",
                                "$.compile[0].artifacts[0].install: unknown key; known are name, version, url, sha256, strip" },
        };

        put_script("overlays/one/build.sh");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *keys = strf(
                                ", \"artifacts\": [{\"name\": \"a\", \"version\": \"1\", \"url\": \"https://x.example/a\","
                                "\"install\": \"package\"}], \"compile\": [{\"script\": \"build.sh\", \"artifacts\": [%s]}]",
                                cases[i].item);
                assert_overlay_refused(*state, keys, cases[i].message);
        }
}

static void firstboot_is_found_beside_the_overlays(void **state) {
        put_script("overlays/one/build.sh");
        assert_int_equal(mkdir("firstboot", 0755), 0);
        Overlay *o = load_overlay(*state,
                        ", \"compile\": [{\"source\": \"imgbuild:firstboot\", \"script\": \"build.sh\"}]");

        assert_true(endswith(o->compile[0].source, "/firstboot"));
        assert_null(strstr(o->compile[0].source, ".."));
        assert_overlay_refused(*state,
                        ", \"compile\": [{\"source\": \"imgbuild:builder\", \"script\": \"build.sh\"}]",
                        "$.compile[0].source: \"imgbuild:builder\" is not a source of imgbuild's own; there is "
                        "\"imgbuild:firstboot\"");
}

static void runs_and_checks_are_read(void **state) {
        put_script("overlays/one/a.sh");
        put_script("overlays/one/scripts/b.sh");
        Overlay *o = load_overlay(*state,
                        ", \"run\": [\"a.sh\", {\"script\": \"scripts/b.sh\", \"early\": true,"
                        "\"network\": true}], \"checks\": [\"a.sh\"]");

        assert_int_equal(o->n_run, 2);
        assert_true(endswith(o->run[0].script, "/overlays/one/a.sh"));
        assert_false(o->run[0].early || o->run[0].network);
        assert_true(endswith(o->run[1].script, "/scripts/b.sh"));
        assert_true(o->run[1].early && o->run[1].network);
        assert_true(endswith(o->checks[0], "/a.sh"));
}

static void run_needs_a_script(void **state) {
        assert_overlay_refused(*state, ", \"run\": [{\"early\": true}]",
                        "$.run[0].script: missing: A script inside the overlay, run in the tree");
        assert_overlay_refused(*state, ", \"run\": [7]",
                        "$.run[0]: must be a string or an object, not a number");
}

static void services_are_read_and_checked(void **state) {
        Overlay *o = load_overlay(*state,
                        ", \"services\": {\"enable\": [\"ssh.service\", \"fstrim.timer\"],"
                        "\"disable\": [\"a@b.service\"], \"mask\": [\"apt-daily.timer\"]}");

        assert_string_equal(o->services.enable[1], "fstrim.timer");
        assert_string_equal(o->services.disable[0], "a@b.service");
        assert_string_equal(o->services.mask[0], "apt-daily.timer");
        assert_overlay_refused(*state, ", \"services\": {\"enable\": [\"ssh\"]}",
                        "$.services.enable[0]: \"ssh\" is not a unit's full name (as ssh.service)");
        assert_overlay_refused(*state,
                        ", \"services\": {\"enable\": [\"a.service\"], \"mask\": [\"a.service\"]}",
                        "$.services: a.service is to be enabled and masked");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(a_description_is_enough),
                TEST(a_description_is_needed),
                TEST(the_familys_packages_are_taken),
                TEST(package_names_are_checked),
                TEST(the_kernels_release_may_be_in_a_name),
                TEST(repositories_are_read),
                TEST(a_repository_needs_all_it_is_trusted_by),
                TEST(a_repository_may_lie_in_the_distributions_archive),
                TEST(such_a_repository_is_not_kept),
                TEST(artifacts_are_read),
                TEST(an_artifact_may_have_a_place_and_a_digest_for_each_family),
                TEST(a_family_may_have_no_use_for_an_artifact),
                TEST(artifacts_are_checked),
                TEST(an_environment_is_read),
                TEST(an_environment_is_checked),
                TEST(an_environment_is_made_by_a_python_of_the_family),
                TEST(an_environment_may_be_the_other_familys_alone),
                TEST(compile_stages_are_read),
                TEST(source_archives_are_read),
                TEST(source_archives_are_checked),
                TEST(firstboot_is_found_beside_the_overlays),
                TEST(runs_and_checks_are_read),
                TEST(run_needs_a_script),
                TEST(services_are_read_and_checked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
