/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#define EL_KEY "0123 4567 89ab cdef 0123  4567 89ab cdef 0123 4567"
#define EL_REPOSITORY                                                                                \
        "\"repositories\": {\"os\": {\"uri\": \"https://x.example/os/\", \"key\": \"keys/os.asc\", " \
        "\"fingerprint\": \"" EL_KEY "\"}}"

/* images/NAME.json of family el: more of its base, and other keys. */
static void put_el_recipe(const char *name, const char *base, const char *keys) {
        _cleanup_free_ char
                        *path = strf("images/%s.json", name),
                        *text = strf("{\"name\": \"%s\", \"kind\": \"tree\","
                                     "\"base\": {\"distro\": \"rocky\", \"release\": \"9\"%s}%s}",
                                        name, base, keys);

        put_file(path, text);
}

static void a_base_of_family_el_names_its_repositories(void **state) {
        _cleanup_free_ char *here = realpath(".", NULL), *key = NULL;

        put_el_recipe("x", ", " EL_REPOSITORY ", \"packages\": [\"NetworkManager\"]", "");
        Recipe *r = load_good(*state, "images/x.json");

        key = path_join(here, "images/keys/os.asc");
        assert_int_equal(r->family, FAMILY_EL);
        assert_int_equal(r->base.n_repositories, 1);
        assert_string_equal(r->base.repositories[0].name, "os");
        assert_string_equal(r->base.repositories[0].uri, "https://x.example/os/");
        assert_string_equal(r->base.repositories[0].key, key);
        assert_string_equal(r->base.repositories[0].fingerprint,
                        "0123456789ABCDEF0123456789ABCDEF01234567");
        assert_false(r->base.repositories[0].keep);
        assert_string_equal(r->base.packages[0], "NetworkManager");
}

static void a_repository_may_come_in_two_parts(void **state) {
        put_el_recipe("below", ", " EL_REPOSITORY, "");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"below\", \"base\": {\"repositories\": {\"os\": {\"uri\": \"file:///mirror\", \"keep\": true, \"modules\": [\"tool:2\"]}}}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->base.n_repositories, 1);
        assert_string_equal(r->base.repositories[0].uri, "file:///mirror");
        assert_true(r->base.repositories[0].keep);
        assert_string_equal(r->base.repositories[0].modules[0], "tool:2");
}

static void a_base_of_family_el_without_repositories(void **state) {
        put_el_recipe("x", "", "");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.repositories: missing: where rocky's packages come from, and whose key signs them");
        put_el_recipe("x",
                        ", \"repositories\": {\"os\": {\"uri\": \"https://x.example/\", \"key\": \"https://x.example/key\"}}",
                        "");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.repositories.os.fingerprint: missing: that of its key in full, as the vendor publishes it");
}

static void what_is_debians_alone_is_no_el_bases(void **state) {
        put_el_recipe("x", ", \"mirror\": \"https://x.example/\", " EL_REPOSITORY, "");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.mirror: is for Debian and Ubuntu alone; the repositories' \"uri\" say where packages are");
        put_recipe("x", ", \"packages\": [\"NetworkManager\"]");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.packages[0]: \"NetworkManager\" is not a package (lower-case letters, digits, + . -; then :arch or =version)");
}

static void el_releases_with_another_database(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"kind\": \"tree\","
                        "\"base\": {\"distro\": \"oracle\", \"release\": \"8\", " EL_REPOSITORY
                        "}}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.release: \"8\": of family el releases from 9 on can be made from nothing; the rpm of older ones has another database");
}

static void a_vendors_image_of_family_el_has_repositories_beside_it(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"image\": \"vendor.qcow2\", " EL_REPOSITORY
                        "}, \"packages\": [\"NetworkManager\"]}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->family, FAMILY_EL);
        assert_non_null(r->base.image);
        assert_null(r->base.release);
        assert_int_equal(r->base.n_repositories, 1);
}

static void a_vendors_image_has_no_profile_of_its_base(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"image\": \"vendor.qcow2\", \"repositories\": {\"os\": {\"uri\": \"https://x.example/\", "
                        "\"key\": \"https://x.example/key\", \"fingerprint\": \"" EL_KEY
                        "\", \"modules\": [\"tool:1\", \"tool:1/all\"]}}}}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.repositories.os.modules: \"tool:1/all\": a vendor's image gets no profile of its base; name its packages in \"packages\", or the profile in an overlay's repository");
}

static void a_vendors_image_without_repositories_is_of_the_other_family(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"image\": \"vendor.qcow2\"}, \"packages\": [\"NetworkManager\"]}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.packages[0]: \"NetworkManager\" is not a package (lower-case letters, digits, + . -; then :arch or =version)");
}

static void a_vendors_image_keeps_the_repositories_of_what_it_replaces(void **state) {
        put_el_recipe("below", ", " EL_REPOSITORY, "");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"below\", \"base\": {\"image\": \"vendor.qcow2\"}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(r->family, FAMILY_EL);
        assert_null(r->base.distro);
        assert_int_equal(r->base.n_repositories, 1);
}

static void an_overlay_has_packages_for_each_family(void **state) {
        put_overlay("one",
                        ", \"packages\": {\"debian\": [\"vim\"], \"el\": [\"vim-enhanced\", \"NetworkManager\"]}");
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        Recipe *r = load_good(*state, "images/x.json");

        assert_string_equal(r->overlays[0]->packages[0], "vim-enhanced");
        assert_string_equal(r->overlays[0]->packages[1], "NetworkManager");

        put_overlay("one", ", \"packages\": {\"debian\": [\"vim\"]}");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.packages: are for family debian alone, and the recipe's is el; give its own under \"el\", or an empty list where it needs none");
}

static void an_overlay_of_family_el_alone_is_not_for_debian(void **state) {
        put_overlay("one", ", \"packages\": {\"el\": [\"vim-enhanced\"]}");
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.packages: are for family el alone, and the recipe's is debian; give its own under \"debian\", or an empty list where it needs none");
}

static void what_an_overlay_compiles_with_is_for_each_family_too(void **state) {
        put_script("overlays/one/compile.sh");
        put_overlay("one",
                        ", \"compile\": [{\"packages\": {\"debian\": [\"gcc\"]}, \"script\": \"compile.sh\"}]");
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.compile[0].packages: are for family debian alone, and the recipe's is el; give its own under \"el\", or an empty list where it needs none");
}

static void an_overlay_takes_streams_of_modules(void **state) {
        put_overlay("one",
                        ", \"repositories\": {\"el\": [{\"name\": \"tools\", \"uri\": \"https://x.example/\", \"key\": \"https://x.example/key\", "
                        "\"fingerprint\": \"" EL_KEY
                        "\", \"modules\": [\"tool:2\", \"other:latest\"]}]}");
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        Recipe *r = load_good(*state, "images/x.json");

        assert_int_equal(strv_length(r->overlays[0]->repositories[0].modules), 2);
        assert_string_equal(r->overlays[0]->repositories[0].modules[1], "other:latest");
}

static void an_environment_is_this_familys(void **state) {
        put_script("overlays/one/build.sh");
        put_overlay("one",
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": {\"debian\": [], \"el\": [\"y\"]},"
                        " \"interpreter\": {\"el\": \"python3.12\"}},"
                        " \"compile\": [{\"script\": \"build.sh\", \"on\": {\"debian\": \"base\", \"el\": \"python\"}}]");
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        const Overlay *o = load_good(*state, "images/x.json")->overlays[0];

        assert_string_equal(o->python.environment, "/opt/x");
        assert_string_equal(o->python.requirements[0], "y");
        assert_string_equal(o->python.interpreter, "python3.12");
        assert_int_equal(o->compile[0].on, COMPILE_ON_PYTHON);
}

static void units_may_have_another_name_in_each_family(void **state) {
        put_overlay("one",
                        ", \"services\": {\"enable\": [\"both.service\"], \"debian\": {\"enable\": [\"ssh.service\"]},"
                        " \"el\": {\"enable\": [\"sshd.service\"], \"mask\": [\"kdump.service\"]}}");
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        const Services *s = &load_good(*state, "images/x.json")->overlays[0]->services;

        assert_int_equal(strv_length(s->enable), 2);
        assert_string_equal(s->enable[0], "both.service");
        assert_string_equal(s->enable[1], "sshd.service");
        assert_string_equal(s->mask[0], "kdump.service");

        put_overlay("one",
                        ", \"services\": {\"enable\": [\"x.service\"], \"el\": {\"disable\": [\"x.service\"]}}");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.services: x.service is to be enabled and disabled");
}

#define CUDA(uri)                                                                           \
        ", \"repositories\": {\"el\": [{\"name\": \"cuda\", \"uri\": \"" uri                \
        "\", \"key\": \"https://x.example/rhel${release}/key\", \"fingerprint\": \"" EL_KEY \
        "\"}]}"

static void a_repository_is_of_the_release(void **state) {
        put_overlay("one", CUDA("https://x.example/rhel${release}/x86_64/"));
        put_file("images/x.json",
                        "{\"name\": \"x\", \"kind\": \"tree\", \"base\": {\"distro\": \"rocky\", \"release\": \"9.6\", " EL_REPOSITORY
                        "}, \"overlays\": [\"one\"]}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_string_equal(r->overlays[0]->repositories[0].uri, "https://x.example/rhel9/x86_64/");
        assert_string_equal(r->overlays[0]->repositories[0].key, "https://x.example/rhel9/key");
}

static void the_release_of_an_image_is_known_later(void **state) {
        put_overlay("one", CUDA("https://x.example/${release}/${release}"));
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"image\": \"vendor.qcow2\", " EL_REPOSITORY
                        "}, \"overlays\": [\"one\"]}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_string_equal(r->overlays[0]->repositories[0].uri,
                        "https://x.example/${release}/${release}");
        r->base.release = strdup("8.10");
        assert_int_equal(recipe_expand_release(r), 0);
        assert_string_equal(r->overlays[0]->repositories[0].uri, "https://x.example/8/8");
        assert_int_equal(recipe_expand_release(r), 0);
        assert_string_equal(r->overlays[0]->repositories[0].uri, "https://x.example/8/8");
}

static void another_variable_there_is_refused(void **state) {
        put_overlay("one", CUDA("https://x.example/${arch}/"));
        put_el_recipe("x", ", " EL_REPOSITORY, ", \"overlays\": [\"one\"]");
        assert_refused(*state, "images/x.json",
                        "overlays/one/overlay.json: $.repositories.el[0].uri: \"${arch}/\" is unknown; there is ${release}, of family el");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(a_base_of_family_el_names_its_repositories),
                TEST(a_repository_may_come_in_two_parts),
                TEST(a_base_of_family_el_without_repositories),
                TEST(what_is_debians_alone_is_no_el_bases),
                TEST(el_releases_with_another_database),
                TEST(a_vendors_image_of_family_el_has_repositories_beside_it),
                TEST(a_vendors_image_has_no_profile_of_its_base),
                TEST(a_vendors_image_has_no_profile_of_its_base),
                TEST(a_vendors_image_without_repositories_is_of_the_other_family),
                TEST(a_vendors_image_keeps_the_repositories_of_what_it_replaces),
                TEST(an_overlay_has_packages_for_each_family),
                TEST(an_overlay_of_family_el_alone_is_not_for_debian),
                TEST(what_an_overlay_compiles_with_is_for_each_family_too),
                TEST(an_overlay_takes_streams_of_modules),
                TEST(an_environment_is_this_familys),
                TEST(units_may_have_another_name_in_each_family),
                TEST(a_repository_is_of_the_release),
                TEST(the_release_of_an_image_is_known_later),
                TEST(another_variable_there_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
