/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rendezvous-fixture.h"

static void all_get_what_each_gives_in_order(void **state _unused_) {
        pid_t pids[4];

        /* Process 0 last: the others wait for it to listen. */
        for (int i = 3; i >= 0; i--)
                pids[i] = start(sums, i);
        for (int i = 0; i < 4; i++)
                assert_int_equal(end_of(pids[i]), 0);
}

static int gathers_and_broadcasts(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 4, "a secret of all", 10, &f);
        int mine = 10 + rank, all[4] = {}, told = rank == 0 ? 77 : 0;

        if (!r)
                return 100;
        if (rendezvous_gather(r, &mine, sizeof(mine), all, deadline_in(5), &f) < 0)
                return 101;
        if (all[3] != (rank == 0 ? 13 : 0))
                return 102;
        if (rendezvous_broadcast(r, &told, sizeof(told), deadline_in(5), &f) < 0 || told != 77)
                return 103;
        if (rendezvous_broadcast(r, NULL, 0, deadline_in(5), &f) < 0)
                return 104;
        rendezvous_free(r);
        return 0;
}

static void process_0_gathers_and_tells(void **state _unused_) {
        pid_t pids[4];

        for (int i = 0; i < 4; i++)
                pids[i] = start(gathers_and_broadcasts, i);
        for (int i = 0; i < 4; i++)
                assert_int_equal(end_of(pids[i]), 0);
}

#define MANY 150

static int one_of_many(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, MANY, "a secret of all", 30, &f);
        int k = r ? rendezvous_broadcast(r, NULL, 0, deadline_in(20), &f) : -1;

        rendezvous_free(r);
        failure_done(&f);
        return k < 0;
}

/* More at once than process 0 keeps connections of strangers. */
static void a_crowd_comes_together(void **state _unused_) {
        pid_t pids[MANY];

        for (int i = MANY - 1; i >= 0; i--)
                pids[i] = start(one_of_many, i);
        for (int i = 0; i < MANY; i++)
                assert_int_equal(end_of(pids[i]), 0);
}

static void a_world_of_one_needs_no_sockets(void **state _unused_) {
        int mine = 7, all = 0;
        bool present = false;
        Failure f = {};

        assert_int_equal(rendezvous_exchange(NULL, &mine, sizeof(mine), &all, &present, 0, &f), 0);
        assert_int_equal(all, 7);
        assert_true(present);
        assert_int_equal(rendezvous_look(NULL, &f), 0);
        rendezvous_fail(NULL, &f);
        assert_null(rendezvous_free(NULL));
}

static int joins_and_dies(int rank) {
        Failure f = {};

        (void) join(rank, 3, "a secret of all", 10, &f);
        return 0;
}

static int joins_and_exchanges(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 3, "a secret of all", 10, &f);
        int mine = rank, all[3];

        if (!r)
                return 100;
        if (rendezvous_exchange(r, &mine, sizeof(mine), all, NULL, deadline_in(10), &f) >= 0)
                return 101;
        return (int) f.reason;
}

static void a_process_that_dies_fails_the_others_at_once(void **state _unused_) {
        pid_t dies = start(joins_and_dies, 2), other = start(joins_and_exchanges, 1);
        _cleanup_failure_ Failure f = {};
        int mine = 0, all[3];
        Rendezvous *r = join(0, 3, "a secret of all", 10, &f);
        uint64_t started = now_usec();

        assert_non_null(r);
        assert_true(rendezvous_exchange(r, &mine, sizeof(mine), all, NULL, deadline_in(10), &f) <
                        0);
        assert_int_equal(f.reason, REASON_PEER_FAILED);
        assert_non_null(strstr(f.text, "process 2 (node2)"));
        rendezvous_fail(r, &f);
        assert_true(now_usec() - started < 3 * USEC_PER_SEC);
        assert_int_equal(end_of(dies), 0);
        assert_int_equal(end_of(other), REASON_PEER_FAILED);
        rendezvous_free(r);
}

static int joins_and_fails(int rank) {
        Failure f = {}, own = {};
        Rendezvous *r = join(rank, 3, "a secret of all", 10, &f);

        failure_set(&own, REASON_CUDA_NO_DEVICE, "GPU 7 is not there");
        rendezvous_fail(r, &own);
        usleep(500000); /* alive: it is the note that counts */
        return 0;
}

static void a_failure_is_passed_on_with_its_reason(void **state _unused_) {
        pid_t fails = start(joins_and_fails, 2), other = start(joins_and_exchanges, 1);
        _cleanup_failure_ Failure f = {};
        int mine = 0, all[3];
        Rendezvous *r = join(0, 3, "a secret of all", 10, &f);

        assert_non_null(r);
        assert_true(rendezvous_exchange(r, &mine, sizeof(mine), all, NULL, deadline_in(10), &f) <
                        0);
        assert_int_equal(f.reason, REASON_PEER_FAILED);
        assert_string_equal(f.text, "process 2 (node2): cuda.no-device: GPU 7 is not there");
        rendezvous_fail(r, &f);
        assert_int_equal(end_of(fails), 0);
        assert_int_equal(end_of(other), REASON_PEER_FAILED);
        rendezvous_free(r);
}

static void looking_finds_a_failure_without_waiting(void **state _unused_) {
        pid_t fails = start(joins_and_fails, 2), other = start(joins_plainly, 1);
        _cleanup_failure_ Failure f = {};
        Rendezvous *r = join(0, 3, "a secret of all", 10, &f);

        assert_non_null(r);
        for (int i = 0; i < 100 && rendezvous_look(r, &f) >= 0; i++)
                usleep(20000);
        assert_int_equal(f.reason, REASON_PEER_FAILED);
        end_of(fails);
        end_of(other);
        rendezvous_free(r);
}

static int exchanges_tolerantly(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 3, "a secret of all", 10, &f);
        int mine = rank, all[3];
        bool present[3];

        if (!r || rendezvous_exchange(r, &mine, sizeof(mine), all, present, deadline_in(10), &f) <
                                        0)
                return 100;
        rendezvous_free(r);
        return present[0] && present[1] && !present[2] && all[1] == 1 ? 0 : 101;
}

static void a_tolerant_exchange_goes_on_without_the_dead(void **state _unused_) {
        pid_t dies = start(joins_and_dies, 2), other = start(exchanges_tolerantly, 1);

        assert_int_equal(exchanges_tolerantly(0), 0);
        assert_int_equal(end_of(dies), 0);
        assert_int_equal(end_of(other), 0);
}

static int joins_and_sleeps(int rank) {
        Failure f = {};

        (void) join(rank, 2, "a secret of all", 10, &f);
        sleep(5);
        return 0;
}

static void silence_ends_at_the_deadline(void **state _unused_) {
        pid_t pid = start(joins_and_sleeps, 1);
        _cleanup_failure_ Failure f = {};
        int mine = 0, all[2];
        Rendezvous *r = join(0, 2, "a secret of all", 10, &f);
        uint64_t started = now_usec();

        assert_non_null(r);
        assert_true(rendezvous_exchange(r, &mine, sizeof(mine), all, NULL, deadline_in(0.5), &f) <
                        0);
        assert_int_equal(f.reason, REASON_RENDEZVOUS_TIMEOUT);
        assert_true(now_usec() - started < 3 * USEC_PER_SEC);
        kill(pid, SIGKILL);
        end_of(pid);
        rendezvous_free(r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(all_get_what_each_gives_in_order, setup),
                cmocka_unit_test_setup(process_0_gathers_and_tells, setup),
                cmocka_unit_test_setup(a_crowd_comes_together, setup),
                cmocka_unit_test_setup(a_world_of_one_needs_no_sockets, setup),
                cmocka_unit_test_setup(a_process_that_dies_fails_the_others_at_once, setup),
                cmocka_unit_test_setup(a_failure_is_passed_on_with_its_reason, setup),
                cmocka_unit_test_setup(looking_finds_a_failure_without_waiting, setup),
                cmocka_unit_test_setup(a_tolerant_exchange_goes_on_without_the_dead, setup),
                cmocka_unit_test_setup(silence_ends_at_the_deadline, setup),
        };
        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
