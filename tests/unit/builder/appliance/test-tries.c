/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* With doubles of the launch: which start fails is a row of letters, k with KVM, t without. */

#include "appliance/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct Double {
        const char *working; /* "k", "t", "kt", "" */
        unsigned failures;   /* at first, whatever works */
        char tried[16];
} Double;

static int launch(bool kvm, void *userdata) {
        Double *d = userdata;

        strcat(d->tried, kvm ? "k" : "t");
        if (d->failures > 0) {
                d->failures--;
                return -EAGAIN;
        }
        return strchr(d->working, kvm ? 'k' : 't') ? 0 : -EAGAIN;
}

static void assert_tries(Double d, bool kvm, int result, const char *tried, bool blame) {
        bool blamed = false;

        assert_int_equal(appliance_launch(launch, kvm, &d, &blamed), result);
        assert_string_equal(d.tried, tried);
        assert_int_equal(blamed, blame);
}

static void a_start_that_works_is_the_only_one(void **state _unused_) {
        assert_tries((Double) { .working = "kt" }, true, 0, "k", false);
        assert_tries((Double) { .working = "kt" }, false, 0, "t", false);
}

static void one_failure_is_not_held_against_kvm(void **state _unused_) {
        assert_tries((Double) { .working = "kt", .failures = 1 }, true, 0, "kk", false);
}

static void kvm_is_to_blame_where_only_it_fails(void **state _unused_) {
        assert_tries((Double) { .working = "t" }, true, 0, "kkt", true);
}

static void kvm_is_not_to_blame_where_nothing_works(void **state _unused_) {
        assert_tries((Double) { .working = "" }, true, -EAGAIN, "kktt", false);
        assert_tries((Double) { .working = "" }, false, -EAGAIN, "tt", false);
}

/* --- handles that were never launched: to libguestfs the same as one whose appliance died ----- */

typedef struct Uses {
        unsigned opened, used;
} Uses;

static int open_dead(guestfs_h **ret, void *userdata) {
        Uses *u = userdata;

        u->opened++;
        *ret = guestfs_create();
        return *ret ? 0 : -ENOMEM;
}

static int open_fails(guestfs_h **ret _unused_, void *userdata) {
        Uses *u = userdata;

        u->opened++;
        return -ENOPKG;
}

static int use(guestfs_h *g _unused_, void *userdata) {
        Uses *u = userdata;

        u->used++;
        return 0;
}

static void an_appliance_that_died_gets_a_second_try(void **state _unused_) {
        Uses u = {};

        assert_int_equal(appliance_use(open_dead, use, &u), -EIO);
        assert_int_equal(u.opened, 2);
        assert_int_equal(u.used, 2);
}

static void one_that_does_not_start_gets_none(void **state _unused_) {
        Uses u = {};

        assert_int_equal(appliance_use(open_fails, use, &u), -ENOPKG);
        assert_int_equal(u.opened, 1);
        assert_int_equal(u.used, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_start_that_works_is_the_only_one),
                cmocka_unit_test(one_failure_is_not_held_against_kvm),
                cmocka_unit_test(kvm_is_to_blame_where_only_it_fails),
                cmocka_unit_test(kvm_is_not_to_blame_where_nothing_works),
                cmocka_unit_test(an_appliance_that_died_gets_a_second_try),
                cmocka_unit_test(one_that_does_not_start_gets_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
