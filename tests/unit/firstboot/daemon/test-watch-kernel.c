/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "daemon/watch-kernel.h"

#define S USEC_PER_SEC

static void say(unsigned long long seconds, const char *message) {
        _cleanup_free_ char *path = fb_path("/dev/kmsg");
        FILE *f = fopen(path, "ae");

        assert_non_null(f);
        fprintf(f, "3,1,%llu000000,-;%s\n", seconds, message);
        fclose(f);
}

static void done(WatchKernel *k) {
        watch_kernel_done(k);
}

/* The log's clock is not set right by NTP: in months it is minutes behind ours, or ahead of it. */
static void what_comes_between_two_looks_counts_whatever_its_clock_says(void **state) {
        _cleanup_(conditions_done) Conditions l = {};
        _cleanup_(done) WatchKernel k = { .fd = -EBADF };

        (void) state;
        root_put("/dev/kmsg", "5,0,0,-;Linux version 6.12.0\n");
        watch_kernel_init(&k, 10 * S);
        assert_false(watch_kernel_look(&k, &l, 20 * S));
        say(5, "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0");
        assert_true(watch_kernel_look(&k, &l, 10000 * S));
        assert_true(conditions_any(&l));

        /* And is over after the window, though its clock is ahead. */
        (void) watch_kernel_look(&k, &l, 10601 * S);
        assert_false(conditions_any(&l));
        say(99999, "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0");
        (void) watch_kernel_look(&k, &l, 11000 * S);
        assert_true(conditions_any(&l));
        (void) watch_kernel_look(&k, &l, 11601 * S);
        assert_false(conditions_any(&l));
}

static void what_was_there_at_first_has_the_logs_own_time(void **state) {
        _cleanup_(conditions_done) Conditions l = {};
        _cleanup_(done) WatchKernel k = { .fd = -EBADF };

        (void) state;
        root_put("/dev/kmsg", "5,0,0,-;Linux version 6.12.0\n");
        say(9, "nvme nvme0: Removing after probe failure status: -19");
        watch_kernel_init(&k, 10 * S);
        assert_false(watch_kernel_look(&k, &l, 20 * S));
        assert_false(conditions_any(&l));

        watch_kernel_init(&k, 8 * S);
        assert_true(watch_kernel_look(&k, &l, 20 * S));
        assert_true(conditions_any(&l));
        (void) watch_kernel_look(&k, &l, 610 * S);
        assert_false(conditions_any(&l));
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                what_comes_between_two_looks_counts_whatever_its_clock_says,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(what_was_there_at_first_has_the_logs_own_time,
                                root_setup, root_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
