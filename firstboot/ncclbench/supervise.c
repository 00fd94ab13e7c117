/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Forks the child, hands its lines on, and ends it at the deadline or with us. */

#include "ncclbench/supervise.h"
#include "ncclbench/deadline.h"
#include "shared/pidfd.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TERM_GRACE_USEC USEC_PER_SEC
#define KILL_GRACE_USEC (5 * USEC_PER_SEC)

static _noreturn_ void child_main(Supervisor *s, int event_fd, pid_t parent) {
        sigset_t none;

        for (int sig = 1; sig < NSIG; sig++)
                if (sig != SIGPIPE) /* a rendezvous partner that goes away must not kill us */
                        signal(sig, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setpgid(0, 0);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(127);

        int status = s->child(event_fd, s->userdata);
        /* Not exit(): NCCL's and CUDA's destructors wait for GPUs, and all has been said. */
        fflush(NULL);
        _exit(status);
}

typedef struct Lines {
        char *text;
        size_t used, size;
} Lines;

static void lines_done(Lines *l) {
        free(l->text);
}

static bool lines_make_room(Lines *l) {
        char *text;

        if (l->size - l->used >= 4096)
                return true;
        text = realloc(l->text, l->size + 65536);
        if (!text)
                return false;
        l->text = text;
        l->size += 65536;
        return true;
}

/* Hands out the complete lines, and keeps the beginning of the next. */
static void lines_hand_out(Lines *l, Supervisor *s) {
        char *start = l->text, *end;

        while ((end = memchr(start, '\n', l->used - (size_t) (start - l->text)))) {
                *end = '\0';
                s->on_line(s, start);
                start = end + 1;
        }
        l->used -= (size_t) (start - l->text);
        memmove(l->text, start, l->used);
}

/* Reads what is there; returns whether more may come. */
static bool lines_read(Lines *l, int fd, Supervisor *s) {
        for (;;) {
                ssize_t n;

                if (!lines_make_room(l))
                        return false;
                n = read(fd, l->text + l->used, l->size - l->used - 1);
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR;
                if (n == 0)
                        return false;

                l->used += (size_t) n;
                lines_hand_out(l, s);
        }
}

/* Whether the child is gone within the time; its status is collected. */
static bool reap_within(pid_t pid, int pidfd, uint64_t nsec, int *ret_status) {
        uint64_t deadline = now_usec() + nsec;

        for (;;) {
                struct pollfd p = { .fd = pidfd, .events = POLLIN };
                pid_t r = waitpid(pid, ret_status, WNOHANG);

                if (r == pid || (r < 0 && errno == ECHILD))
                        return true;
                if (now_usec() >= deadline)
                        return false;
                poll(&p, 1, deadline_poll_ms(deadline, 100));
        }
}

static bool child_kill(pid_t pid, int pidfd, int *ret_status) {
        bool gone;

        kill(-pid, SIGTERM);
        kill(pid, SIGTERM);
        gone = reap_within(pid, pidfd, TERM_GRACE_USEC, ret_status);

        kill(-pid, SIGKILL);
        if (gone)
                return true;
        kill(pid, SIGKILL);
        return reap_within(pid, pidfd, KILL_GRACE_USEC, ret_status);
}

/* Sleeps until the child says something or ends, we get a signal, or the deadline comes nearer. */
static int sleep_for_news(const Supervisor *s, int events_fd, int pidfd) {
        struct pollfd fds[] = {
                { .fd = events_fd, .events = POLLIN },
                { .fd = pidfd, .events = POLLIN },
                { .fd = interrupt_fd(), .events = POLLIN },
        };
        /* Without a pidfd (exotic sandboxes) the cap makes this a slow poll. */
        int cap = pidfd < 0 ? 50 : 1000;

        if (poll(fds, ELEMENTSOF(fds), deadline_poll_ms(s->deadline, cap)) < 0 && errno != EINTR)
                return -errno;
        return 0;
}

/* Follows the child until it ends by itself (CHILD_EXITED, also where a signal ended it) or has to
 * be killed. */
static int follow(Supervisor *s, pid_t pid, int pidfd, int *events_fd, Lines *lines,
                ChildEnd *ret_end, int *ret_status) {
        for (;;) {
                ChildEnd end;
                int r;

                r = sleep_for_news(s, *events_fd, pidfd);
                if (r < 0) {
                        child_kill(pid, pidfd, ret_status);
                        return r;
                }
                if (*events_fd >= 0 && !lines_read(lines, *events_fd, s))
                        *events_fd = safe_close(*events_fd);

                if (waitpid(pid, ret_status, WNOHANG) == pid) {
                        *ret_end = CHILD_EXITED;
                        return 0;
                }
                if (interrupt_signal())
                        end = CHILD_INTERRUPTED;
                else if (now_usec() >= s->deadline)
                        end = CHILD_TIMEOUT;
                else
                        continue;

                *ret_end = child_kill(pid, pidfd, ret_status) ? end : CHILD_STUCK;
                return 0;
        }
}

int supervise(Supervisor *s, ChildEnd *ret_end, int *ret_status) {
        _cleanup_(close_pairp) int events[2] = { -EBADF, -EBADF };
        _cleanup_(lines_done) Lines lines = {};
        _cleanup_close_ int pidfd = -EBADF;
        pid_t parent = getpid(), pid;
        int status = 0, r;
        ChildEnd end;

        if (pipe2(events, O_CLOEXEC) < 0)
                return -errno;
        fflush(NULL);
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                close(events[0]);
                child_main(s, events[1], parent);
        }
        events[1] = safe_close(events[1]);
        fcntl(events[0], F_SETFL, O_NONBLOCK);
        pidfd = pidfd_of_child(pid);

        r = follow(s, pid, pidfd, &events[0], &lines, &end, &status);
        if (r < 0)
                return r;
        if (events[0] >= 0)
                lines_read(&lines, events[0], s);
        kill(-pid, SIGKILL); /* whatever it may have started */

        if (end == CHILD_EXITED && WIFSIGNALED(status)) {
                end = CHILD_SIGNALED;
                status = WTERMSIG(status);
        } else
                status = WEXITSTATUS(status);
        *ret_end = end;
        *ret_status = status;
        return 0;
}
