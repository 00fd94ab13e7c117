/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recipes that start from a vendor's image. */

#include "recipe-fixture.h"

static void an_image_is_relative_to_the_file_that_names_it(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *here = realpath(".", NULL),
                            *path = strf("%s/images/vendor/a.qcow2", here);

        put_file("images/vendor/base.json",
                        "{\"name\": \"base\", \"base\": {\"image\": \"a.qcow2\"}}");
        put_file("images/x.json", "{\"name\": \"x\", \"extends\": \"vendor/base.json\"}");
        Recipe *r = load_good(f, "images/x.json");

        assert_string_equal(r->base.image, path);
        assert_false(recipe_image_is_url(r));
        assert_string_equal(recipe_image_name(r), "a.qcow2");
        assert_null(r->base.distro); /* the lock's to say */
        assert_null(r->kernel.package);
        assert_int_equal(r->family, FAMILY_DEBIAN);
}

static void its_disk_can_be_kept(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"image\": \"a.qcow2\"}, \"disk\": {\"layout\": \"keep\", \"size\": \"8G\"}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_true(r->disk.keep);
        assert_int_equal(r->disk.size, UINT64_C(8) << 30);
}

static void what_a_kept_disk_has_already_is_not_said_again(void **state) {
        static const struct {
                const char *keys, *message;
        } cases[] = {
                { "\"disk\": {\"layout\": \"keep\", \"filesystem\": \"xfs\"}",
                                "images/x.json: $.disk.filesystem: is the vendor's with \"layout\": \"keep\": leave it out" },
                { "\"disk\": {\"layout\": \"keep\", \"firmware\": [\"bios\"]}",
                                "images/x.json: $.disk.firmware: is the vendor's with \"layout\": \"keep\": leave it out" },
                { "\"kernel\": {\"cmdline\": \"quiet\"}, \"disk\": {\"layout\": \"keep\"}",
                                "images/x.json: $.kernel.cmdline: the vendor's boot loader has a command line of its own: leave it out, or \"layout\": \"keep\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text =
                                strf("{\"name\": \"x\", \"base\": {\"image\": \"a.qcow2\"}, %s}",
                                                cases[i].keys);

                put_file("images/x.json", text);
                assert_refused(*state, "images/x.json", cases[i].message);
        }
}

static void an_image_replaces_the_distribution_below(void **state) {
        put_recipe("base", "");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"base\", \"base\": {\"image\": \"https://x.example/a\"}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_true(recipe_image_is_url(r));
        assert_string_equal(recipe_image_name(r), "https://x.example/a");
        assert_null(r->base.distro);
        assert_null(r->base.release);
}

static void a_distribution_replaces_the_image_below(void **state) {
        put_file("images/base.json",
                        "{\"name\": \"base\", \"base\": {\"image\": \"a\", \"root\": \"/dev/sda2\"}}");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"base\", \"kernel\": {\"package\": \"linux-image-amd64\"},"
                        "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        Recipe *r = load_good(*state, "images/x.json");

        assert_null(r->base.image);
        assert_null(r->base.root);
        assert_string_equal(r->base.distro, "debian");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(an_image_is_relative_to_the_file_that_names_it),
                TEST(its_disk_can_be_kept),
                TEST(what_a_kept_disk_has_already_is_not_said_again),
                TEST(an_image_replaces_the_distribution_below),
                TEST(a_distribution_replaces_the_image_below),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
