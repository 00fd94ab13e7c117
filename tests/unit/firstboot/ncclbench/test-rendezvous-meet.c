/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who is let in, who is turned away, and who is said to be missing. */

#include "rendezvous-fixture.h"

#include <sys/resource.h>

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
                cmocka_unit_test_setup(another_secret_is_refused_on_both_sides, setup),
                cmocka_unit_test_setup(missing_processes_are_named, setup),
                cmocka_unit_test_setup(without_process_0_the_others_give_up, setup),
                cmocka_unit_test_setup(worlds_of_two_sizes_are_refused, setup),
                cmocka_unit_test_setup(two_of_one_number_are_refused, setup),
                cmocka_unit_test_setup(strangers_do_not_spoil_the_meeting, setup),
                cmocka_unit_test_setup(many_silent_connections_do_not_starve_the_meeting, setup),
                cmocka_unit_test_setup(nor_do_more_than_there_are_places_for, setup),
                cmocka_unit_test_setup(a_port_in_use_is_said_so, setup),
                cmocka_unit_test_setup(another_program_on_the_port_is_said_so, setup),
        };
        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
