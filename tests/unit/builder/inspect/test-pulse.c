/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"
#include "shared/time-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

static void count(void *userdata) {
        atomic_fetch_add((atomic_uint *) userdata, 1);
}

static void it_beats_until_it_is_stopped(void **state _unused_) {
        atomic_uint beats = 0;
        Pulse *p = NULL;

        assert_int_equal(pulse_start(USEC_PER_MSEC, count, &beats, &p), 0);
        for (unsigned i = 0; i < 12000 && atomic_load(&beats) < 3; i++)
                usleep(10000);
        assert_true(atomic_load(&beats) >= 3);
        p = pulse_stop(p);
        assert_null(p);

        unsigned then = atomic_load(&beats);
        usleep(20000);
        assert_int_equal(atomic_load(&beats), then);
}

/* Stopping does not wait for the next beat, which would be an hour away. */
static void it_is_stopped_between_beats(void **state _unused_) {
        atomic_uint beats = 0;
        Pulse *p = NULL;

        assert_int_equal(pulse_start(3600 * USEC_PER_SEC, count, &beats, &p), 0);
        pulse_stop(p);
        assert_int_equal(atomic_load(&beats), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_beats_until_it_is_stopped),
                cmocka_unit_test(it_is_stopped_between_beats),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
