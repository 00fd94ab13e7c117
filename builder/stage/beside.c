/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stages that need not wait for their turn. A compile stage is made on base, kernel and some of the
 * packages: once these are there it is made in a process of its own, while the stages between are
 * made here, for dpkg keeps one processor busy at most. What it has to say is told when its turn
 * comes. */

#include "stage/internal.h"

#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define BESIDE_MAX 2 /* at once: each is as many jobs as make was told */
#define MADE_BY_ANOTHER 255
#define SAID_MAX (4 * 1024 * 1024) /* bytes: what a failed command's last lines may be, and more */
#define END_USEC (10 * USEC_PER_SEC)
#define STEP_USEC (10 * USEC_PER_MSEC)

typedef struct Process {
        pid_t pid;      /* 0: none */
        int fd;         /* what it says */
        const char *id; /* of its stage */
} Process;

struct Beside {
        Process *runs; /* one a stage of the plan */
        size_t n, running;
};

Beside *beside_new(size_t n_stages) {
        Beside *b = calloc(1, sizeof(*b));

        if (!b)
                return NULL;
        b->n = n_stages;
        b->runs = calloc(n_stages + 1, sizeof(*b->runs));
        if (b->runs)
                return b;
        free(b);
        return NULL;
}

static bool has_ended(pid_t pid) {
        for (uint64_t waited = 0; waited < END_USEC; waited += STEP_USEC) {
                if (waitpid(pid, NULL, WNOHANG) != 0)
                        return true;
                usleep(STEP_USEC);
        }
        return false;
}

/* With a signal that it takes as a Ctrl-C: its command ends, its draft goes. */
static void end(Beside *b, Process *p) {
        if (p->pid == 0)
                return;
        kill(p->pid, SIGTERM);
        if (!has_ended(p->pid)) {
                kill(p->pid, SIGKILL); /* what it started dies with it */
                (void) waitpid(p->pid, NULL, 0);
        }
        p->fd = safe_close(p->fd);
        p->pid = 0;
        b->running--;
}

Beside *beside_free(Beside *b) {
        if (!b)
                return NULL;
        for (size_t i = 0; i < b->n; i++)
                end(b, b->runs + i);
        free(b->runs);
        free(b);
        return NULL;
}

/* Whether all is there that stage i is made on, and something else is to be made before its
 * turn. */
static bool may_begin(const Plan *plan, const bool *missing, size_t i) {
        bool others = false;

        if (!missing[i] || plan->stages[i].kind != STAGE_COMPILE)
                return false;
        for (size_t j = 0; j < i; j++) {
                if (missing[j] && plan_stage_sees(plan, i, j))
                        return false;
                others = others || missing[j];
        }
        return others;
}

static void send_message(int level, const char *line, void *userdata) {
        dprintf(*(int *) userdata, "%c%s\n", '0' + level, line);
}

static _noreturn_ void child_main(
                Context *ctx, int fd, pid_t parent, const BesideWork *work, size_t i) {
        Context own = *ctx;
        int r;

        setpgid(0, 0); /* a Ctrl-C is the parent's */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || interrupt_renew() < 0)
                _exit(EIO);
        spawn_set_tick(NULL, NULL);
        own.progress = NULL; /* the parent's display */
        log_set_program(NULL);
        log_set_writer(send_message, &fd);
        r = work->build(&own, work->plan, work->maker, i);
        _exit(r < 0 ? -r : r > 0 ? MADE_BY_ANOTHER : 0);
}

/* Where there is no process to be had, the stage waits for its turn. */
static void begin(Beside *b, Context *ctx, const BesideWork *work, size_t i) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        pid_t parent = getpid(), pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        fflush(NULL); /* or the child would write it again */
        pid = fork();
        if (pid < 0)
                return;
        if (pid == 0)
                child_main(ctx, fds[1], parent, work, i);
        b->runs[i] = (Process) {
                .pid = pid, .fd = TAKE_FD(fds[0]), .id = work->plan->stages[i].id
        };
        b->running++;
        progress_set(ctx->progress, work->plan->stages[i].id, PROGRESS_RUNNING);
}

void beside_begin(
                Beside *b, Context *ctx, const BesideWork *work, const bool *missing, size_t last) {
        if (ctx->jobs < 2 || ctx->error_shell)
                return;
        for (size_t i = 0; i <= last && b->running < BESIDE_MAX; i++)
                if (!beside_has(b, i) && may_begin(work->plan, missing, i))
                        begin(b, ctx, work, i);
}

bool beside_has(const Beside *b, size_t i) {
        return b->runs[i].pid != 0;
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

        STRV_FOREACH (line, lines) {
                const char *error = startswith(*line + 1, "error: ");

                if (**line >= '0' && **line <= '7')
                        log_full(**line - '0', 0, "%s", error ? error : *line + 1);
        }
}

int beside_finish(Beside *b, size_t i) {
        _cleanup_free_ char *text = NULL;
        Process *p = b->runs + i;
        int r, status;

        r = listen_to(p->fd, &text);
        if (r < 0)
                return r;
        repeat(text);
        p->fd = safe_close(p->fd); /* where it had more to say than we take */
        while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
                ;
        p->pid = 0;
        b->running--;
        if (!WIFEXITED(status))
                return log_error_return(-EIO,
                                "Stage %s: its process was ended by signal %d (%s); was there no memory left? 'journalctl -k' says so, and --jobs=1 takes less",
                                p->id, WTERMSIG(status), strsignal(WTERMSIG(status)));
        return WEXITSTATUS(status) == MADE_BY_ANOTHER ? 1 : -WEXITSTATUS(status);
}
