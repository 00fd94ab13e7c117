/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What takes too much is ended with all of its processes, and told why; what does not, is not. The
 * greedy ones here end by themselves after 20 seconds, and take little enough for any machine. */

#include "sandbox/limits.h"

#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

typedef struct Greed {
        unsigned processes;
        size_t memory;
} Greed;

static pid_t *children; /* shared with the processes that fork them */

static int take(void *userdata) {
        const Greed *g = userdata;
        char *memory = g->memory ? malloc(g->memory) : NULL;

        for (size_t i = 0; i < g->memory; i += 4096)
                ((volatile char *) memory)[i] = 1;
        for (unsigned i = 0; i < g->processes; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        sleep(20);
                        _exit(0);
                }
                children[i] = pid;
        }
        sleep(20);
        free(memory);
        return 0;
}

/* Memory that something else gives back while the command runs, in bytes. */
static uint64_t given_back;

static int run(const Greed *g, const Limits *limits, char **ret_why, uint64_t *ret_usec) {
        _cleanup_(limit_watch_done) LimitWatch w = {};
        uint64_t began = now_usec();
        SpawnOptions o = {
                .prepare = take,
                .prepare_data = (void *) g,
                .watch = limit_watch_look,
                .watch_data = &w,
        };
        int r, status;

        limit_watch_begin(&w, limits, "/tmp");
        w.used += given_back;
        o.timeout_usec = w.limits.time_usec;
        r = spawn_run(&o, NULL, &status);
        *ret_why = w.why ? strdup(w.why) : NULL;
        *ret_usec = now_usec() - began;
        return r;
}

static void too_many_processes_are_ended(void **state _unused_) {
        const Greed g = { .processes = 200 };
        _cleanup_free_ char *why = NULL;
        uint64_t usec;
        int status;

        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* its orphans come to us */
        assert_int_equal(run(&g, &(Limits) { .processes = 100 }, &why, &usec), -EDQUOT);
        assert_true(usec < 15 * USEC_PER_SEC);
        assert_non_null(why);
        assert_non_null(strstr(why, "limits.processes allows 100"));
        for (unsigned i = 0; i < g.processes; i++)
                if (children[i] > 0) {
                        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
                        assert_true(WIFSIGNALED(status));
                }
}

static void too_much_memory_is_ended(void **state _unused_) {
        const Greed g = { .memory = 200 * MIB };
        _cleanup_free_ char *why = NULL;
        uint64_t usec;

        assert_int_equal(run(&g, &(Limits) { .memory = 64 * MIB }, &why, &usec), -EDQUOT);
        assert_true(usec < 15 * USEC_PER_SEC);
        assert_non_null(why);
        assert_non_null(strstr(why, "limits.memory allows 64.0 MiB"));
}

static void too_long_is_ended(void **state _unused_) {
        const Greed g = {};
        _cleanup_free_ char *why = NULL;
        uint64_t usec;

        assert_int_equal(run(&g, &(Limits) { .time_usec = USEC_PER_SEC }, &why, &usec), -ETIMEDOUT);
        assert_true(usec < 15 * USEC_PER_SEC);
}

static int end_soon(void *userdata _unused_) {
        usleep(700 * 1000);
        return 7;
}

static void what_keeps_to_its_limits_is_left_alone(void **state _unused_) {
        _cleanup_(limit_watch_done) LimitWatch w = {};
        const SpawnOptions o = { .prepare = end_soon, .watch = limit_watch_look, .watch_data = &w };
        int status = -1;

        limit_watch_begin(&w, &(Limits) {}, "/tmp");
        assert_int_equal(spawn_run(&o, NULL, &status), 0);
        assert_int_equal(status, 7);
        assert_null(w.why);
}

static void others_are_not_counted(void **state _unused_) {
        _cleanup_(limit_watch_done) LimitWatch w = {};
        pid_t others[80];

        limit_watch_begin(&w, &(Limits) { .processes = 40 }, "/tmp");
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                others[i] = fork();
                if (others[i] == 0) {
                        sleep(20);
                        _exit(0);
                }
        }
        int r = limit_watch_look(others[0], &w);
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                kill(others[i], SIGKILL);
                waitpid(others[i], NULL, 0);
        }
        assert_int_equal(r, 0);
}

static void the_last_of_a_disk_is_nobodys(void **state _unused_) {
        _cleanup_(limit_watch_done) LimitWatch w = {};

        limit_watch_begin(&w, &(Limits) {}, "/tmp");
        w.floor = UINT64_MAX;
        assert_int_equal(limit_watch_look(getpid(), &w), -ENOSPC);
        assert_non_null(strstr(w.why, "left"));
}

static void a_disk_that_was_full_before_is_not_the_commands(void **state _unused_) {
        _cleanup_(limit_watch_done) LimitWatch w = {};

        limit_watch_begin(&w, &(Limits) {}, "/proc"); /* has no room at all */
        assert_int_equal(limit_watch_look(getpid(), &w), 0);
}

static void an_overlays_limit_goes_before_the_recipes(void **state _unused_) {
        const Limits recipe = { .time_usec = 1, .memory = 2, .processes = 3 };
        const Limits overlay = { .memory = 20 };
        Limits l = limits_over(&overlay, &recipe);

        assert_int_equal(l.time_usec, 1);
        assert_int_equal(l.memory, 20);
        assert_int_equal(l.processes, 3);
}

static void what_others_give_back_hides_no_greed(void **state _unused_) {
        const Greed g = { .memory = 200 * MIB };
        _cleanup_free_ char *why = NULL;
        uint64_t usec;
        int r;

        given_back = 1024 * MIB;
        r = run(&g, &(Limits) { .memory = 64 * MIB }, &why, &usec);
        given_back = 0;
        assert_int_equal(r, -EDQUOT);
        assert_non_null(strstr(why, "limits.memory allows 64.0 MiB"));
}

/* What processes share counts once. */
static void shared_memory_is_counted_once(void **state _unused_) {
        const Greed g = { .memory = 40 * MIB, .processes = 4 };
        _cleanup_free_ char *why = NULL;
        uint64_t usec;

        given_back = 1024 * MIB;
        assert_int_equal(run(&g, &(Limits) { .memory = 120 * MIB, .time_usec = 5 * USEC_PER_SEC },
                                         &why, &usec),
                        -ETIMEDOUT);
        given_back = 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(too_many_processes_are_ended),
                cmocka_unit_test(too_much_memory_is_ended),
                cmocka_unit_test(what_others_give_back_hides_no_greed),
                cmocka_unit_test(shared_memory_is_counted_once),
                cmocka_unit_test(too_long_is_ended),
                cmocka_unit_test(what_keeps_to_its_limits_is_left_alone),
                cmocka_unit_test(others_are_not_counted),
                cmocka_unit_test(the_last_of_a_disk_is_nobodys),
                cmocka_unit_test(a_disk_that_was_full_before_is_not_the_commands),
                cmocka_unit_test(an_overlays_limit_goes_before_the_recipes),
        };

        children = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (children == MAP_FAILED)
                return 1;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
