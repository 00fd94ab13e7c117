/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/conditions.h"
#include "daemon/watch-kernel.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define S USEC_PER_SEC
#define CONDITIONS _cleanup_(conditions_done) Conditions l = { .calm_usec = 30 * S }

static void set(Conditions *l, const char *key, uint64_t now) {
        assert_int_equal(conditions_set(l, key, "x.y", now, "%s", key), 0);
}

static void test_what_is_seen_once_does_not_count(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "a", 100 * S);
        assert_true(conditions_any(&l));
        assert_true(conditions_unsure(&l, "a"));
        assert_null(conditions_firm(&l));
}

static void test_what_is_seen_again_after_the_calm_time_does(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "a", 100 * S);
        set(&l, "a", 129 * S);
        assert_null(conditions_firm(&l));
        set(&l, "a", 130 * S);
        assert_string_equal(conditions_firm(&l)->key, "a");
        assert_false(conditions_unsure(&l, "a"));
}

static void test_what_went_in_between_begins_afresh(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "a", 100 * S);
        conditions_clear(&l, "a");
        assert_false(conditions_any(&l));
        set(&l, "a", 140 * S);
        assert_null(conditions_firm(&l));
}

static void test_the_cause_is_what_came_first(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "b", 100 * S);
        set(&l, "a", 101 * S);
        set(&l, "a", 200 * S);
        set(&l, "b", 200 * S);
        assert_string_equal(conditions_firm(&l)->key, "b");
}

static void test_what_is_told_stays_so_while_it_is_there(void **state) {
        CONDITIONS;

        (void) state;
        assert_null(conditions_tell(&l, NULL));
        set(&l, "b", 100 * S);
        set(&l, "a", 101 * S);
        set(&l, "a", 140 * S);
        assert_string_equal(conditions_tell(&l, NULL)->key, "a");
        set(&l, "b", 140 * S);
        assert_string_equal(conditions_firm(&l)->key, "b");
        assert_string_equal(conditions_tell(&l, "a")->key, "a");
        conditions_clear(&l, "a");
        assert_string_equal(conditions_tell(&l, "a")->key, "b");
        conditions_clear(&l, "b");
        assert_null(conditions_tell(&l, "a"));
}

static void test_what_remains_is_told_once_it_is_firm(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "a", 100 * S);
        set(&l, "a", 140 * S);
        set(&l, "b", 150 * S);
        conditions_clear(&l, "a");
        assert_null(conditions_tell(&l, "a"));
        set(&l, "b", 180 * S);
        assert_string_equal(conditions_tell(&l, "a")->key, "b");
}

static void test_what_was_told_before_a_restart_is_known_by_its_code(void **state) {
        CONDITIONS;

        (void) state;
        assert_null(conditions_with_code(&l, "x.y"));
        set(&l, "a", 100 * S);
        assert_string_equal(conditions_with_code(&l, "x.y")->key, "a");
        conditions_clear(&l, "a");
        assert_null(conditions_with_code(&l, "x.y"));
}

static void test_what_a_look_did_not_see_is_gone(void **state) {
        CONDITIONS;

        (void) state;
        set(&l, "check:a", 100 * S);
        set(&l, "unit:b", 100 * S);
        set(&l, "check:c", 140 * S);
        conditions_clear_older(&l, "check:", 140 * S);
        assert_true(conditions_unsure(&l, "check:c"));
        assert_false(conditions_unsure(&l, "check:a"));
        assert_true(conditions_unsure(&l, "unit:b"));
}

/* --- events of the kernel log ---------------------------------------------------------------- */

static void line(WatchKernel *k, unsigned seconds, const char *message) {
        _cleanup_free_ char *l = strf("3,1,%u000000,-;%s", seconds, message);

        (void) watch_kernel_line(k, l);
}

static void test_events_from_before_the_verdict_do_not_count(void **state) {
        WatchKernel k = { .fd = -EBADF, .from_usec = 50 * S };

        (void) state;
        line(&k, 49, "nvme nvme0: Removing after probe failure status: -19");
        assert_int_equal(watch_events_count(&k.events[KERNEL_NVME_LOST], 60 * S), 0);
        line(&k, 51, "nvme nvme0: Removing after probe failure status: -19");
        assert_int_equal(watch_events_count(&k.events[KERNEL_NVME_LOST], 60 * S), 1);
}

static void test_events_are_forgotten_after_the_window(void **state) {
        WatchKernel k = { .fd = -EBADF };

        (void) state;
        line(&k, 10, "nvme nvme0: I/O 1 QID 3 timeout, reset controller");
        line(&k, 500, "nvme nvme0: I/O 1 QID 3 timeout, reset controller");
        assert_int_equal(watch_events_count(&k.events[KERNEL_NVME_RESET], 550 * S), 2);
        assert_int_equal(watch_events_count(&k.events[KERNEL_NVME_RESET], 700 * S), 1);
        assert_int_equal(watch_events_count(&k.events[KERNEL_NVME_RESET], 1200 * S), 0);
}

static void test_more_events_than_are_kept_are_many(void **state) {
        WatchEvents e = {};

        (void) state;
        for (unsigned i = 0; i < 1000; i++)
                watch_events_add(&e, 10 * S, "x");
        assert_int_equal(watch_events_count(&e, 11 * S), WATCH_EVENTS);
}

static void test_an_xid_is_a_reason_to_look(void **state) {
        WatchKernel k = { .fd = -EBADF };

        (void) state;
        assert_true(watch_kernel_line(
                        &k, "3,1,5,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen"));
        assert_false(watch_kernel_line(&k, "6,2,5,-;NVRM: loading NVIDIA"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_seen_once_does_not_count),
                cmocka_unit_test(test_what_is_seen_again_after_the_calm_time_does),
                cmocka_unit_test(test_what_went_in_between_begins_afresh),
                cmocka_unit_test(test_the_cause_is_what_came_first),
                cmocka_unit_test(test_what_is_told_stays_so_while_it_is_there),
                cmocka_unit_test(test_what_remains_is_told_once_it_is_firm),
                cmocka_unit_test(test_what_was_told_before_a_restart_is_known_by_its_code),
                cmocka_unit_test(test_what_a_look_did_not_see_is_gone),
                cmocka_unit_test(test_events_from_before_the_verdict_do_not_count),
                cmocka_unit_test(test_events_are_forgotten_after_the_window),
                cmocka_unit_test(test_more_events_than_are_kept_are_many),
                cmocka_unit_test(test_an_xid_is_a_reason_to_look),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
