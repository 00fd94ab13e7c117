/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/mirror.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void sibling(const char *mirror, const char *expected) {
        _cleanup_free_ char *s = mirror_sibling(mirror, "debian", "debian-security");

        assert_string_equal(s, expected);
}

static void test_sibling_of_a_plain_mirror(void **state) {
        (void) state;
        sibling("http://mirror.example/debian", "http://mirror.example/debian-security");
        sibling("http://mirror.example/debian/", "http://mirror.example/debian-security/");
}

static void test_sibling_of_a_snapshot(void **state) {
        (void) state;
        sibling("https://snapshot.example/archive/debian/20250520T000000Z",
                        "https://snapshot.example/archive/debian-security/20250520T000000Z");
}

static void test_host_and_part_names_are_no_archive(void **state) {
        (void) state;
        sibling("http://debian/all", "http://debian/all");
        sibling("http://debian.example/my-debian", "http://debian.example/my-debian");
        sibling("http://mirror.example/debian-all", "http://mirror.example/debian-all");
}

static void test_last_part_counts(void **state) {
        (void) state;
        sibling("http://mirror.example/debian/pub/debian",
                        "http://mirror.example/debian/pub/debian-security");
}

static void test_sibling_of_a_folder(void **state) {
        (void) state;
        sibling("file:///srv/mirror/debian", "file:///srv/mirror/debian-security");
}

static Recipe recipe_of(char *distro, char *release) {
        return (Recipe) { .name = (char *) "r",
                .path = (char *) "r.json",
                .family = FAMILY_DEBIAN,
                .base = { .distro = distro, .release = release, .arch = (char *) "amd64" } };
}

static void test_given_mirror_serves_all_archives(void **state) {
        Context ctx = { .mirror = (char *) "http://mirror.example/debian//" };
        Recipe recipe = recipe_of((char *) "debian", (char *) "trixie");
        _cleanup_mirrors_ Mirrors m = {};

        (void) state;
        setenv("IMGBUILD_KEYRING", "/dev/null", 1);
        assert_int_equal(mirrors_find(&ctx, &recipe, &m), 0);
        assert_int_equal(m.n, 2);
        assert_string_equal(mirrors_get(&m, "debian")->uri, "http://mirror.example/debian");
        assert_string_equal(mirrors_get(&m, "debian")->suites[1], "trixie-updates");
        assert_string_equal(mirrors_get(&m, "debian-security")->uri,
                        "http://mirror.example/debian-security");
        assert_string_equal(mirrors_get(&m, "debian-security")->suites[0], "trixie-security");
        assert_null(mirrors_get(&m, "vendor"));
}

static void test_option_beats_recipe(void **state) {
        Context ctx = { .mirror = (char *) "http://option.example/debian" };
        Recipe recipe = recipe_of((char *) "debian", (char *) "trixie");
        _cleanup_mirrors_ Mirrors m = {}, of_recipe = {};

        (void) state;
        recipe.base.mirror = (char *) "http://recipe.example/debian";
        assert_int_equal(mirrors_find(&ctx, &recipe, &m), 0);
        assert_string_equal(m.mirrors[0].uri, "http://option.example/debian");
        ctx.mirror = NULL;
        assert_int_equal(mirrors_find(&ctx, &recipe, &of_recipe), 0);
        assert_string_equal(of_recipe.mirrors[0].uri, "http://recipe.example/debian");
}

static void test_rolling_release_has_one_suite(void **state) {
        Context ctx = { .mirror = (char *) "http://mirror.example/debian" };
        Recipe recipe = recipe_of((char *) "debian", (char *) "sid");
        _cleanup_mirrors_ Mirrors m = {};

        (void) state;
        assert_int_equal(mirrors_find(&ctx, &recipe, &m), 0);
        assert_int_equal(m.n, 1);
        assert_int_equal(strv_length(m.mirrors[0].suites), 1);
}

static void test_history_is_a_day_after_the_lock(void **state) {
        Recipe recipe = recipe_of((char *) "debian", (char *) "trixie"),
               other = recipe_of((char *) "x", (char *) "y");
        _cleanup_free_ char *s = mirror_history(&recipe, 1762164000),
                            *none = mirror_history(&other, 1);

        (void) state;
        assert_string_equal(s, "https://snapshot.debian.org/archive/debian/20251104T100000Z");
        assert_null(none);
}

static void test_unknown_distribution(void **state) {
        Context ctx = {};
        Recipe recipe = recipe_of((char *) "gentoo", (char *) "x");
        Mirrors m = {};

        (void) state;
        assert_int_equal(mirrors_find(&ctx, &recipe, &m), -EOPNOTSUPP);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sibling_of_a_plain_mirror),
                cmocka_unit_test(test_sibling_of_a_snapshot),
                cmocka_unit_test(test_host_and_part_names_are_no_archive),
                cmocka_unit_test(test_last_part_counts),
                cmocka_unit_test(test_sibling_of_a_folder),
                cmocka_unit_test(test_given_mirror_serves_all_archives),
                cmocka_unit_test(test_option_beats_recipe),
                cmocka_unit_test(test_rolling_release_has_one_suite),
                cmocka_unit_test(test_history_is_a_day_after_the_lock),
                cmocka_unit_test(test_unknown_distribution),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
