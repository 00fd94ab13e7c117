/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the process logs comes through a pipe, a digit for the level before each line, and is kept
 * until somebody asks: two that log at once would be read as one. Its exit status is what it
 * returns: an errno, or a number above RETURNS. */

#include "common/apart.h"

#include "shared/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define RETURNS 150                /* 150 + N: N; Linux's errnos end at 133 */
#define SAID_MAX (4 * 1024 * 1024) /* bytes: what a failed command's last lines may be, and more */
#define END_USEC (10 * USEC_PER_SEC)
#define STEP_USEC (10 * USEC_PER_MSEC)

struct Apart {
        pid_t pid; /* 0: it has ended */
        int fd;    /* what it says */
};

static void send_message(int level, const char *line, void *userdata) {
        dprintf(*(int *) userdata, "%c%s\n", '0' + level, line);
}

static _noreturn_ void child_main(
                Context *ctx, int fd, pid_t parent, apart_function fn, void *userdata) {
        Context own = *ctx;
        int r;

        setpgid(0, 0); /* a Ctrl-C is the parent's */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || interrupt_renew() < 0)
                _exit(EIO);
        spawn_set_tick(NULL, NULL);
        own.progress = NULL;
        log_set_program(NULL);
        log_set_writer(send_message, &fd);
        r = fn(&own, userdata);
        _exit(r > 0 ? RETURNS + r : -r <= RETURNS ? -r : EIO);
}

int apart_begin(Context *ctx, apart_function fn, void *userdata, Apart **ret) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        _cleanup_free_ Apart *a = calloc(1, sizeof(*a));
        pid_t parent = getpid();

        if (!a)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        fflush(NULL); /* or the child would write it again */
        a->pid = fork();
        if (a->pid < 0)
                return -errno;
        if (a->pid == 0)
                child_main(ctx, fds[1], parent, fn, userdata);
        a->fd = TAKE_FD(fds[0]);
        *ret = TAKE_PTR(a);
        return 0;
}

/* Until its end. The caller frees the text. */
static int listen_to(int fd, char **ret) {
        struct pollfd fds[] = {
                { .fd = fd, .events = POLLIN },
                { .fd = interrupt_fd(), .events = POLLIN },
        };
        _cleanup_free_ char *text = malloc(SAID_MAX + 1);
        size_t size = 0;

        while (text) {
                ssize_t n;

                if (interrupt_signal())
                        return -ECANCELED;
                if (poll(fds, ELEMENTSOF(fds), SPAWN_TICK_MS) < 0 && errno != EINTR)
                        return -errno;
                spawn_tick();
                if (!fds[0].revents)
                        continue;
                n = read(fd, text + size, SAID_MAX - size);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0) {
                        text[size] = '\0';
                        *ret = TAKE_PTR(text);
                        return 0;
                }
                size += n > 0 ? (size_t) n : 0;
        }
        return -ENOMEM;
}

static void repeat(const char *text) {
        _cleanup_strv_free_ char **lines = strv_split(text, "\n");

        STRV_FOREACH (line, lines)
                if (**line >= '0' && **line <= '7')
                        log_relay(**line - '0', NULL, *line + 1);
}

int apart_finish(Apart *a, const char *what) {
        _cleanup_free_ char *text = NULL;
        int r, status;

        r = listen_to(a->fd, &text);
        if (r < 0)
                return r;
        repeat(text);
        a->fd = safe_close(a->fd); /* where it had more to say than we take */
        while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
                ;
        a->pid = 0;
        if (!WIFEXITED(status))
                return log_error_return(-EIO,
                                "%s: its process was ended by signal %d (%s); was there no memory left? 'journalctl -k' says so, and --jobs=1 takes less",
                                what, WTERMSIG(status), strsignal(WTERMSIG(status)));
        return WEXITSTATUS(status) > RETURNS ? WEXITSTATUS(status) - RETURNS : -WEXITSTATUS(status);
}

bool child_has_ended(pid_t pid, uint64_t usec) {
        for (uint64_t waited = 0; waited < usec; waited += STEP_USEC) {
                if (waitpid(pid, NULL, WNOHANG) != 0)
                        return true;
                usleep(STEP_USEC);
        }
        return false;
}

/* With a signal that it takes as a Ctrl-C: its command ends, its draft goes. */
Apart *apart_free(Apart *a) {
        if (!a)
                return NULL;
        if (a->pid > 0) {
                kill(a->pid, SIGTERM);
                if (!child_has_ended(a->pid, END_USEC)) {
                        kill(a->pid, SIGKILL); /* what it started dies with it */
                        (void) waitpid(a->pid, NULL, 0);
                }
        }
        safe_close(a->fd);
        free(a);
        return NULL;
}
