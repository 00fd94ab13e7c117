/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/watch-counters.h"
#include "contract/paths.h"
#include "root-fixture.h"
#include "shared/strv.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define S USEC_PER_SEC

typedef struct Fixture {
        WatchCounters w;
        Conditions l;
        sd_event *event;
} Fixture;

static Fixture fixture(void) {
        Fixture f = {};
        sigset_t signals;

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD); /* as sd_event_add_child() wants it */
        sigprocmask(SIG_BLOCK, &signals, NULL);
        assert_return_code(sd_event_new(&f.event), 0);
        return f;
}

static void done(Fixture *f) {
        watch_counters_done(&f->w);
        conditions_done(&f->l);
        sd_event_unref(f->event);
        while (waitpid(-1, NULL, 0) > 0) /* what the loop had no time for */
                ;
}
#define FIXTURE _cleanup_(done) Fixture f = fixture()

static void test_what_was_there_before_is_no_growth(void **state) {
        FIXTURE;

        (void) state;
        watch_counters_line(&f.w, &f.l, "E 0 4711 mlx5_0 port 1 port_rcv_errors", 100 * S);
        watch_counters_line(&f.w, &f.l, "E 0 4711 mlx5_0 port 1 port_rcv_errors", 130 * S);
        assert_false(conditions_any(&f.l));
}

static void test_growth_beyond_what_is_let_pass_counts(void **state) {
        FIXTURE;

        (void) state;
        watch_counters_line(&f.w, &f.l, "E 10 0 mlx5_0 port 1 symbol_error", 100 * S);
        watch_counters_line(&f.w, &f.l, "E 10 10 mlx5_0 port 1 symbol_error", 130 * S);
        assert_false(conditions_any(&f.l));
        watch_counters_line(&f.w, &f.l, "E 10 40 mlx5_0 port 1 symbol_error", 160 * S);
        assert_true(conditions_any(&f.l));
        watch_counters_line(&f.w, &f.l, "E 10 40 mlx5_0 port 1 symbol_error", 190 * S);
        assert_false(conditions_any(&f.l));
}

static void test_a_counter_that_was_set_back_has_not_grown(void **state) {
        FIXTURE;

        (void) state;
        watch_counters_line(&f.w, &f.l, "E 0 900 x", 100 * S);
        watch_counters_line(&f.w, &f.l, "E 0 3 x", 130 * S);
        assert_false(conditions_any(&f.l));
}

/* Judged at each look, here without a child. */
static void look(Fixture *f, uint64_t now) {
        f->w.due_usec = UINT64_MAX;
        watch_counters_look(&f->w, f->event, &f->l, 30 * S, now);
}

static void test_a_link_that_goes_down_thrice_flaps(void **state) {
        FIXTURE;

        (void) state;
        watch_counters_line(&f.w, &f.l, "L 0 7 eth0", 100 * S);
        watch_counters_line(&f.w, &f.l, "L 0 9 eth0", 130 * S);
        look(&f, 131 * S);
        assert_false(conditions_any(&f.l));
        watch_counters_line(&f.w, &f.l, "L 0 10 eth0", 400 * S);
        look(&f, 401 * S);
        assert_true(conditions_any(&f.l));
        watch_counters_line(&f.w, &f.l, "L 0 10 eth0", 800 * S);
        look(&f, 801 * S);
        assert_false(conditions_any(&f.l));
}

static void gpus(Fixture *f, int errors, uint64_t now) {
        _cleanup_free_ char *text = strf("[{\"uuid\":\"GPU-a\",\"ecc_volatile\":%d}]", errors);
        _cleanup_json_ json_object *o = json_tokener_parse(text);

        watch_counters_gpus(&f->w, o, now);
        look(f, now);
}

static void test_new_ecc_errors_count_and_old_ones_do_not(void **state) {
        FIXTURE;

        (void) state;
        gpus(&f, 3, 100 * S);
        gpus(&f, 3, 400 * S);
        assert_false(conditions_any(&f.l));
        gpus(&f, 4, 700 * S);
        assert_true(conditions_any(&f.l));
        gpus(&f, 0, 2000 * S); /* the driver was loaded anew */
        assert_false(conditions_any(&f.l));
}

static void test_the_child_reads_what_sysfs_shows(void **state) {
        FIXTURE;

        (void) state;
        root_put("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "5\n");
        root_put("/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "not a number\n");
        root_put("/sys/class/net/eth0/carrier_down_count", "2\n");
        root_put("/sys/class/net/eth0/device/vendor", "0x15b3\n");
        root_put("/sys/class/net/veth0/carrier_down_count", "2\n");
        watch_counters_look(&f.w, f.event, &f.l, 30 * S, 100 * S);
        for (unsigned i = 0; i < 6000 && f.w.reader; i++) {
                usleep(10000);
                watch_counters_look(&f.w, f.event, &f.l, 30 * S, 101 * S);
        }
        assert_null(f.w.reader);
        assert_int_equal(f.w.n, 2);
        assert_string_equal(f.w.items[0].name, "mlx5_0 port 1 symbol_error");
        assert_int_equal(f.w.items[0].value, 5);
        assert_string_equal(f.w.items[1].name, "link of eth0");
}

/* The child has ended; whoever it was that left it alone, the loop has done with it. */
static void assert_reaped(Fixture *f) {
        siginfo_t si;

        if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT) == 0)
                for (unsigned i = 0; i < 100 && sd_event_run(f->event, 0) > 0; i++)
                        ;
        assert_int_equal(waitid(P_ALL, 0, &si, WEXITED | WNOWAIT | WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
}

static void test_a_child_that_has_read_all_is_reaped(void **state) {
        FIXTURE;

        (void) state;
        root_put("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "5\n");
        watch_counters_look(&f.w, f.event, &f.l, 30 * S, 100 * S);
        for (unsigned i = 0; i < 6000 && f.w.reader; i++) {
                usleep(10000);
                watch_counters_look(&f.w, f.event, &f.l, 30 * S, 101 * S);
        }
        assert_reaped(&f);
}

/* The watch ends while a driver keeps its child waiting. */
static void test_a_child_that_hangs_is_ended_and_reaped(void **state) {
        _cleanup_free_ char *path =
                        fb_path("/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors");
        FIXTURE;

        (void) state;
        root_put("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "5\n");
        assert_return_code(mkfifo(path, 0600), errno);
        watch_counters_look(&f.w, f.event, &f.l, 30 * S, 100 * S);
        watch_counters_look(&f.w, f.event, &f.l, 30 * S, 121 * S);
        assert_true(conditions_any(&f.l));
        watch_counters_done(&f.w);
        assert_reaped(&f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_was_there_before_is_no_growth),
                cmocka_unit_test(test_growth_beyond_what_is_let_pass_counts),
                cmocka_unit_test(test_a_counter_that_was_set_back_has_not_grown),
                cmocka_unit_test(test_a_link_that_goes_down_thrice_flaps),
                cmocka_unit_test(test_new_ecc_errors_count_and_old_ones_do_not),
                cmocka_unit_test_setup_teardown(
                                test_the_child_reads_what_sysfs_shows, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(test_a_child_that_has_read_all_is_reaped,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(test_a_child_that_hangs_is_ended_and_reaped,
                                root_setup, root_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
