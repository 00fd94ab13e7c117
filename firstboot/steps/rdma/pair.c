/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Server and client are children of one child, so that spawn_run()'s limit and its process group
 * hold over both. That the server listens is seen in /proc/net/tcp: a call before that would fail,
 * and one to find out would be taken for the client's. */

#include "steps/rdma/pair.h"
#include "shared/file-util.h"
#include "shared/parse-number.h"
#include "shared/spawn.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PAUSE_USEC 10000
#define TCP_TABLE_MAX (16 * 1024 * 1024)

unsigned rdma_pair_port(void) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(a);

        if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 ||
                        getsockname(fd, (struct sockaddr *) &a, &size) < 0)
                return 0;
        return ntohs(a.sin_port);
}

/* "  0: 0100007F:4853 00000000:0000 0A …": state 0A is LISTEN (proc(5), /proc/net/tcp). */
static bool line_listens(const char *line, unsigned port) {
        const char *at = strchr(line, ':');
        uint64_t address, number;

        if (!at)
                return false;
        at += 1 + strspn(at + 1, " ");
        if (parse_digits_until(&at, 16, ':', &address) < 0 ||
                        parse_digits_until(&at, 16, ' ', &number) < 0 || number != port)
                return false;
        at += strcspn(at, " ");
        return startswith(at, " 0A ") != NULL;
}

static bool somebody_listens(unsigned port) {
        _cleanup_free_ char *text = NULL;

        if (read_file("/proc/net/tcp", TCP_TABLE_MAX, &text, NULL) < 0)
                return false;
        for (char *line = text, *next; line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if (line_listens(line, port))
                        return true;
        }
        return false;
}

/* Near the card its memory is near too. What cannot be had is no reason to stop. */
static void stay_on(const char *cpus) {
        cpu_set_t set;
        uint64_t from, to;

        CPU_ZERO(&set);
        while (cpus && *cpus) {
                if (parse_digits(&cpus, 10, &from) < 0)
                        return;
                to = from;
                if (*cpus == '-') {
                        cpus++;
                        if (parse_digits(&cpus, 10, &to) < 0)
                                return;
                }
                for (uint64_t i = from; i <= to && i < CPU_SETSIZE; i++)
                        CPU_SET(i, &set);
                cpus += *cpus == ',';
        }
        if (CPU_COUNT(&set) > 0)
                (void) sched_setaffinity(0, sizeof(set), &set);
}

static pid_t start(char *const *argv, bool quiet) {
        pid_t pid = fork();

        if (pid != 0)
                return pid;
        if (quiet) {
                int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

                if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
                        _exit(127);
        }
        execv(argv[0], argv);
        dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
}

static int exit_status(int status) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns the exit status of the half that failed first, or 0. */
static int both(void *userdata) {
        const RdmaPair *p = userdata;
        pid_t server, client;
        int status = 0;

        stay_on(p->cpus);
        STRV_FOREACH (e, p->env)
                if (putenv(*e) != 0)
                        return -ENOMEM;
        server = start(p->server, true);
        if (server < 0)
                return -errno;
        while (!somebody_listens(p->tcp_port)) {
                pid_t done = waitpid(server, &status, WNOHANG);

                if (done < 0)
                        return -errno;
                if (done == server) /* 0, though nobody called it: no proof of anything */
                        return exit_status(status) ?: 1;
                usleep(PAUSE_USEC);
        }

        client = start(p->client, false);
        if (client < 0 || waitpid(client, &status, 0) < 0)
                return -errno;
        if (exit_status(status) != 0)
                return exit_status(status);
        return waitpid(server, &status, 0) < 0 ? -errno : exit_status(status);
}

int rdma_pair_run(const RdmaPair *p, char **ret_output, int *ret_status) {
        const SpawnOptions o = {
                .prepare = both,
                .prepare_data = (void *) p,
                .timeout_usec = p->timeout_usec,
        };

        return spawn_capture(&o, NULL, ret_output, ret_status);
}
