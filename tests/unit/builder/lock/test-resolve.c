/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define N 4

static char *base_packages[] = { (char *) "systemd", NULL }, *tool[] = { (char *) "tool", NULL },
            *headers[] = { (char *) "linux-headers-${kernel}", NULL },
            *extra[] = { (char *) "extra", NULL }, *components[] = { (char *) "main", NULL };
static Repository repository;
static Overlay overlay;
static Recipe recipe;
static PackageRequest requests[N];
static Digest before[N], after[N];

static int setup(void **state) {
        (void) state;
        repository = (Repository) { .name = (char *) "vendor",
                .uri = (char *) "https://v.example",
                .suite = (char *) "./",
                .fingerprint = (char *) "AA" };
        overlay = (Overlay) {
                .name = (char *) "o", .repositories = &repository, .n_repositories = 1
        };
        recipe = (Recipe) { .base = { .distro = (char *) "debian",
                                            .release = (char *) "trixie",
                                            .arch = (char *) "amd64",
                                            .components = components } };
        requests[0] = (PackageRequest) { (char *) "base", base_packages, NULL, NULL, false };
        requests[1] = (PackageRequest) { (char *) "packages:o", tool, NULL, &overlay, false };
        requests[2] = (PackageRequest) { (char *) "compile:o/0", headers, NULL, &overlay, true };
        requests[3] = (PackageRequest) { (char *) "packages", extra, NULL, NULL, false };
        return resolve_request_digests(&recipe, requests, N, before);
}

/* Which requests are other ones now, as "0123" with '-' for those that are the same. */
static void changed(const char *expected) {
        char which[N + 1] = {};

        assert_int_equal(resolve_request_digests(&recipe, requests, N, after), 0);
        for (size_t i = 0; i < N; i++)
                which[i] = streq(before[i], after[i]) ? '-' : (char) ('0' + i);
        assert_string_equal(which, expected);
}

static void test_same_request_same_digest(void **state) {
        (void) state;
        changed("----");
}

static void test_release_changes_all(void **state) {
        (void) state;
        recipe.base.release = (char *) "forky";
        changed("0123");
}

static void test_component_changes_all(void **state) {
        char *more[] = { (char *) "main", (char *) "contrib", NULL };

        (void) state;
        recipe.base.components = more;
        changed("0123");
}

static void test_package_changes_what_follows(void **state) {
        (void) state;
        requests[1].packages = extra;
        changed("-123");
}

static void test_throwaway_changes_only_itself(void **state) {
        (void) state;
        requests[2].packages = extra;
        changed("--2-");
}

static void test_what_it_does_without_changes_only_itself(void **state) {
        (void) state;
        requests[2].without = extra;
        changed("--2-");
}

static void test_fingerprint_changes_what_may_come_from_there(void **state) {
        (void) state;
        repository.fingerprint = (char *) "BB";
        changed("-123");
}

static void test_place_changes_what_may_come_from_there(void **state) {
        (void) state;
        repository.uri = NULL; /* the distribution's own archive */
        changed("-123");
}

static void test_mirror_changes_nothing(void **state) {
        (void) state;
        recipe.base.mirror = (char *) "http://mirror.example/debian";
        changed("----");
}

static void test_lists_do_not_run_into_each_other(void **state) {
        char *joined[] = { (char *) "ab", NULL }, *split[] = { (char *) "a", (char *) "b", NULL };
        Digest one;

        (void) state;
        requests[3].packages = joined;
        assert_int_equal(resolve_request_digests(&recipe, requests, N, after), 0);
        memcpy(one, after[3], sizeof(one));
        requests[3].packages = split;
        assert_int_equal(resolve_request_digests(&recipe, requests, N, after), 0);
        assert_string_not_equal(one, after[3]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_same_request_same_digest, setup),
                cmocka_unit_test_setup(test_release_changes_all, setup),
                cmocka_unit_test_setup(test_component_changes_all, setup),
                cmocka_unit_test_setup(test_package_changes_what_follows, setup),
                cmocka_unit_test_setup(test_throwaway_changes_only_itself, setup),
                cmocka_unit_test_setup(test_what_it_does_without_changes_only_itself, setup),
                cmocka_unit_test_setup(test_fingerprint_changes_what_may_come_from_there, setup),
                cmocka_unit_test_setup(test_place_changes_what_may_come_from_there, setup),
                cmocka_unit_test_setup(test_mirror_changes_nothing, setup),
                cmocka_unit_test_setup(test_lists_do_not_run_into_each_other, setup),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
