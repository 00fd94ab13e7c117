/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/deadline.h"
#include "ncclbench/rendezvous.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static char port[8];

/* A port that nobody uses: the kernel chooses one. */
static int setup(void **state _unused_) {
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(a);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 ||
                        getsockname(fd, (struct sockaddr *) &a, &length) < 0)
                return -1;
        snprintf(port, sizeof(port), "%d", ntohs(a.sin_port));
        close(fd);
        return 0;
}

static Rendezvous *join(int rank, int world, const char *secret, double seconds, Failure *f) {
        static char names[8][8];
        RendezvousConfig c = { .rank = rank,
                .world = world,
                .host = "127.0.0.1",
                .port = port,
                .name = names[rank % 8] };
        Rendezvous *r = NULL;

        snprintf(names[rank % 8], sizeof(names[0]), "node%d", rank % 8);
        if (message_key_from_secret(secret, strlen(secret), &c.secret) < 0 ||
                        rendezvous_join(&c, deadline_in(seconds), &r, f) < 0)
                return NULL;
        return r;
}

/* Runs f in a child, which exits with its result; asserts do not work there. */
static pid_t start(int (*f)(int), int argument) {
        pid_t pid = fork();

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGPIPE, SIG_IGN);
                _exit(f(argument));
        }
        assert_true(pid > 0);
        return pid;
}

static int end_of(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int sums(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 4, "a secret of all", 10, &f);
        int mine = 10 + rank, all[4];

        if (!r)
                return 100 + (int) f.reason;
        for (int i = 0; i < 50; i++) {
                mine++;
                if (rendezvous_exchange(r, &mine, sizeof(mine), all, NULL, deadline_in(5), &f) < 0)
                        return 200;
                for (int k = 0; k < 4; k++)
                        if (all[k] != 11 + k + i)
                                return 201;
        }
        if (!streq(rendezvous_peer(r, 2)->name, "node2") ||
                        !streq(rendezvous_peer(r, 3)->address, "127.0.0.1"))
                return 202;
        rendezvous_free(r);
        return 0;
}

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

static int joins_with_another_secret(int rank) {
        Failure f = {};

        return join(rank, 2, "not the secret of all", 10, &f) ? 0 : (int) f.reason;
}

static void another_secret_is_refused_on_both_sides(void **state _unused_) {
        pid_t pid = start(joins_with_another_secret, 1);
        _cleanup_failure_ Failure f = {};

        assert_null(join(0, 2, "a secret of all", 1, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_REFUSED);
        assert_non_null(strstr(f.text, "missing: 1"));
        assert_int_equal(end_of(pid), REASON_RENDEZVOUS_REFUSED);
}

static void missing_processes_are_named(void **state _unused_) {
        _cleanup_failure_ Failure f = {};
        uint64_t started = now_usec();

        assert_null(join(0, 4, "a secret of all", 0.5, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_TIMEOUT);
        assert_non_null(strstr(f.text, "1 of 4 processes came; missing: 1, 2, 3"));
        assert_in_range((now_usec() - started) / USEC_PER_MSEC, 450, 3000);
}

static void without_process_0_the_others_give_up(void **state _unused_) {
        _cleanup_failure_ Failure f = {};

        assert_null(join(1, 2, "a secret of all", 0.5, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_TIMEOUT);
}

static int joins_another_world(int rank) {
        Failure f = {};

        return join(rank, 3, "a secret of all", 10, &f) ? 0 : (int) f.reason;
}

static void worlds_of_two_sizes_are_refused(void **state _unused_) {
        pid_t pid = start(joins_another_world, 1);
        _cleanup_failure_ Failure f = {};

        assert_null(join(0, 2, "a secret of all", 5, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_REFUSED);
        assert_int_not_equal(end_of(pid), 0);
}

static int joins_plainly(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 3, "a secret of all", 10, &f);

        rendezvous_free(r);
        return r ? 0 : (int) f.reason;
}

static void two_of_one_number_are_refused(void **state _unused_) {
        pid_t a = start(joins_plainly, 1), b = start(joins_plainly, 1);
        _cleanup_failure_ Failure f = {};

        assert_null(join(0, 3, "a secret of all", 5, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_REFUSED);
        assert_non_null(strstr(f.text, "number 1 of 3"));
        assert_int_not_equal(end_of(a), 0);
        assert_int_not_equal(end_of(b), 0);
}

/* Port scanners, browsers, and somebody who connects and says nothing. */
static int disturbs(int how) {
        struct sockaddr_in a = { .sin_family = AF_INET,
                .sin_port = htons((uint16_t) atoi(port)),
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        for (int i = 0; i < 100; i++) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);

                if (connect(fd, (struct sockaddr *) &a, sizeof(a)) >= 0) {
                        if (how == 1 && write(fd, "GET / HTTP/1.1\r\n\r\n", 18) < 0)
                                return 0;
                        if (how == 2 && write(fd, "NB\1\2\377\377\377\377", 8) < 0)
                                return 0;
                        if (how == 3)
                                return 0;
                        usleep(400000);
                        return 0;
                }
                close(fd);
                usleep(20000);
        }
        return 1;
}

static int joins_late(int rank) {
        usleep(300000);
        return sums(rank);
}

static void strangers_do_not_spoil_the_meeting(void **state _unused_) {
        pid_t strangers[4], pids[4];

        pids[0] = start(sums, 0);
        for (int i = 0; i < 4; i++)
                strangers[i] = start(disturbs, i);
        for (int i = 1; i < 4; i++)
                pids[i] = start(joins_late, i);
        for (int i = 0; i < 4; i++) {
                assert_int_equal(end_of(pids[i]), 0);
                assert_int_equal(end_of(strangers[i]), 0);
        }
}

/* Opens so many connections, says nothing on any, and keeps them. */
static int says_nothing(int connections) {
        struct sockaddr_in a = { .sin_family = AF_INET,
                .sin_port = htons((uint16_t) atoi(port)),
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct rlimit files = { 8192, 8192 };

        (void) setrlimit(RLIMIT_NOFILE, &files);
        for (int i = 0, tries = 0; i < connections && tries < 100;) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);

                if (connect(fd, (struct sockaddr *) &a, sizeof(a)) >= 0) {
                        i++;
                        continue;
                }
                close(fd);
                tries++;
                usleep(20000);
        }
        while (pause() < 0)
                ;
        return 0;
}

/* The meeting of three takes so many seconds beside them. */
static double meeting_beside_the_silent(int connections) {
        pid_t pids[4], silent;
        uint64_t started;

        pids[0] = start(sums, 0);
        silent = start(says_nothing, connections);
        usleep(500000);
        started = now_usec();
        for (int i = 1; i < 4; i++)
                pids[i] = start(sums, i);
        for (int i = 0; i < 4; i++)
                assert_int_equal(end_of(pids[i]), 0);
        kill(silent, SIGKILL);
        end_of(silent);
        return (double) (now_usec() - started) / (double) USEC_PER_SEC;
}

static void many_silent_connections_do_not_starve_the_meeting(void **state _unused_) {
        assert_true(meeting_beside_the_silent(300) < 3);
}

static void nor_do_more_than_there_are_places_for(void **state _unused_) {
        assert_true(meeting_beside_the_silent(2500) < 6);
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

static void a_port_in_use_is_said_so(void **state _unused_) {
        _cleanup_close_ int fd = socket_listen("127.0.0.1", port);
        _cleanup_failure_ Failure f = {};

        assert_true(fd >= 0);
        assert_null(join(0, 2, "a secret of all", 1, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_ERROR);
        assert_non_null(strstr(f.text, port));
}

static int impersonates(int unused _unused_) {
        int fd = socket_listen("127.0.0.1", port);

        for (int i = 0; i < 500; i++) {
                int c = accept(fd, NULL, NULL);
                if (c >= 0) {
                        ssize_t n = write(c, "SSH-2.0-OpenSSH\r\n", 17);
                        sleep(1);
                        return n != 17;
                }
                usleep(10000);
        }
        return 1;
}

static void another_program_on_the_port_is_said_so(void **state _unused_) {
        pid_t pid = start(impersonates, 0);
        _cleanup_failure_ Failure f = {};

        assert_null(join(1, 2, "a secret of all", 5, &f));
        assert_int_equal(f.reason, REASON_RENDEZVOUS_ERROR);
        assert_non_null(strstr(f.text, "not ncclbench"));
        end_of(pid);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(all_get_what_each_gives_in_order, setup),
                cmocka_unit_test_setup(process_0_gathers_and_tells, setup),
                cmocka_unit_test_setup(a_crowd_comes_together, setup),
                cmocka_unit_test_setup(a_world_of_one_needs_no_sockets, setup),
                cmocka_unit_test_setup(another_secret_is_refused_on_both_sides, setup),
                cmocka_unit_test_setup(missing_processes_are_named, setup),
                cmocka_unit_test_setup(without_process_0_the_others_give_up, setup),
                cmocka_unit_test_setup(worlds_of_two_sizes_are_refused, setup),
                cmocka_unit_test_setup(two_of_one_number_are_refused, setup),
                cmocka_unit_test_setup(strangers_do_not_spoil_the_meeting, setup),
                cmocka_unit_test_setup(many_silent_connections_do_not_starve_the_meeting, setup),
                cmocka_unit_test_setup(nor_do_more_than_there_are_places_for, setup),
                cmocka_unit_test_setup(a_process_that_dies_fails_the_others_at_once, setup),
                cmocka_unit_test_setup(a_failure_is_passed_on_with_its_reason, setup),
                cmocka_unit_test_setup(looking_finds_a_failure_without_waiting, setup),
                cmocka_unit_test_setup(a_tolerant_exchange_goes_on_without_the_dead, setup),
                cmocka_unit_test_setup(silence_ends_at_the_deadline, setup),
                cmocka_unit_test_setup(a_port_in_use_is_said_so, setup),
                cmocka_unit_test_setup(another_program_on_the_port_is_said_so, setup),
        };
        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
