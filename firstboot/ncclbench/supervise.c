/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/supervise.h"
#include "ncclbench/clock.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TERM_GRACE_NSEC NSEC_PER_SEC
#define KILL_GRACE_NSEC (5 * NSEC_PER_SEC)

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
        /* Not exit(): NCCL's and CUDA's destructors wait for GPUs, and what there is to say is
         * said. */
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

/* Hands out all complete lines; returns whether more may come. */
static bool lines_read(Lines *l, int fd, Supervisor *s) {
        for (;;) {
                if (l->size - l->used < 4096) {
                        char *text = realloc(l->text, l->size + 65536);

                        if (!text)
                                return false;
                        l->text = text;
                        l->size += 65536;
                }
                ssize_t n = read(fd, l->text + l->used, l->size - l->used - 1);
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR;
                if (n == 0)
                        return false;
                l->used += (size_t) n;

                char *start = l->text, *end;
                while ((end = memchr(start, '\n', l->used - (size_t) (start - l->text)))) {
                        *end = '\0';
                        s->on_line(s, start);
                        start = end + 1;
                }
                l->used -= (size_t) (start - l->text);
                memmove(l->text, start, l->used);
        }
}

/* Whether the child is gone within the time; its status is collected. */
static bool reap_within(pid_t pid, int pidfd, uint64_t nsec, int *ret_status) {
        uint64_t deadline = now_nsec() + nsec;

        for (;;) {
                struct pollfd p = { .fd = pidfd, .events = POLLIN };
                pid_t r = waitpid(pid, ret_status, WNOHANG);

                if (r == pid || (r < 0 && errno == ECHILD))
                        return true;
                if (now_nsec() >= deadline)
                        return false;
                poll(&p, 1, deadline_poll_ms(deadline, 100));
        }
}

static bool child_kill(pid_t pid, int pidfd, int *ret_status) {
        kill(-pid, SIGTERM);
        kill(pid, SIGTERM);
        bool gone = reap_within(pid, pidfd, TERM_GRACE_NSEC, ret_status);
        kill(-pid, SIGKILL);
        if (gone)
                return true;
        kill(pid, SIGKILL);
        return reap_within(pid, pidfd, KILL_GRACE_NSEC, ret_status);
}

int supervise(Supervisor *s, ChildEnd *ret_end, int *ret_status) {
        _cleanup_(close_pairp) int events[2] = { -EBADF, -EBADF };
        _cleanup_close_ int pidfd = -EBADF;
        _cleanup_(lines_done) Lines lines = {};
        ChildEnd end = CHILD_EXITED;
        pid_t parent = getpid();
        bool killed = false;
        int status = 0;

        if (pipe2(events, O_CLOEXEC) < 0)
                return -errno;
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                close(events[0]);
                child_main(s, events[1], parent);
        }
        events[1] = safe_close(events[1]);
        fcntl(events[0], F_SETFL, O_NONBLOCK);
        pidfd = (int) syscall(SYS_pidfd_open, pid, 0);

        for (;;) {
                struct pollfd fds[] = {
                        { .fd = events[0], .events = POLLIN },
                        { .fd = pidfd, .events = POLLIN },
                        { .fd = interrupt_fd(), .events = POLLIN },
                };

                /* Without a pidfd (old kernels, exotic sandboxes) the cap makes this a slow
                 * poll. */
                if (poll(fds, ELEMENTSOF(fds),
                                    deadline_poll_ms(s->deadline, pidfd < 0 ? 50 : 1000)) < 0 &&
                                errno != EINTR) {
                        int r = -errno;
                        child_kill(pid, pidfd, &status);
                        return r;
                }
                if (events[0] >= 0 && !lines_read(&lines, events[0], s))
                        events[0] = safe_close(events[0]);
                if (waitpid(pid, &status, WNOHANG) == pid)
                        break;
                if (interrupt_signal())
                        end = CHILD_INTERRUPTED;
                else if (now_nsec() >= s->deadline)
                        end = CHILD_TIMEOUT;
                else
                        continue;
                killed = true;
                if (!child_kill(pid, pidfd, &status))
                        end = CHILD_STUCK;
                break;
        }
        if (events[0] >= 0)
                lines_read(&lines, events[0], s);
        kill(-pid, SIGKILL); /* whatever it may have started */

        if (!killed && WIFSIGNALED(status)) {
                end = CHILD_SIGNALED;
                status = WTERMSIG(status);
        } else
                status = WEXITSTATUS(status);
        *ret_end = end;
        *ret_status = status;
        return 0;
}
