/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Processes of a run, children of the test, that meet on a port of their own. */

#include "ncclbench/deadline.h"
#include "ncclbench/rendezvous.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static char port[8];

/* A port that nobody uses: the kernel chooses one. */
static inline int setup(void **state _unused_) {
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

static inline Rendezvous *join(
                int rank, int world, const char *secret, double seconds, Failure *f) {
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
static inline pid_t start(int (*f)(int), int argument) {
        pid_t pid = fork();

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGPIPE, SIG_IGN);
                _exit(f(argument));
        }
        assert_true(pid > 0);
        return pid;
}

static inline int end_of(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int sums(int rank) {
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

static inline int joins_plainly(int rank) {
        Failure f = {};
        Rendezvous *r = join(rank, 3, "a secret of all", 10, &f);

        rendezvous_free(r);
        return r ? 0 : (int) f.reason;
}
