/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One loop waits for everything that may happen to a child: a line, its end, a signal of ours, the
 * end of its time. However it ends, its whole process group is gone before the call returns. */

#include "shared/spawn.h"

#include "shared/file-util.h"
#include "shared/pidfd.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LINE_LENGTH_MAX 8192
#define KILL_DELAY_USEC (5 * USEC_PER_SEC)
#define FORK_TRIES_MAX 25              /* a tick apart: 5 s */
#define CAPTURE_MAX (16 * 1024 * 1024) /* bytes */

static volatile sig_atomic_t interrupted;
static int interrupt_pipe[2] = { -EBADF, -EBADF };

static void on_signal(int sig) {
        int saved_errno = errno;

        interrupted = sig;
        ssize_t ignored _unused_ =
                        write(interrupt_pipe[1], "", 1); /* a full pipe is readable: enough */
        errno = saved_errno;
}

int interrupt_install(void) {
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

        if (interrupt_pipe[0] >= 0)
                return 0;
        if (pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGINT, &action, NULL) < 0 || sigaction(SIGTERM, &action, NULL) < 0 ||
                        sigaction(SIGHUP, &action, NULL) < 0)
                return -errno;
        signal(SIGPIPE, SIG_IGN);
        return 0;
}

int interrupt_renew(void) {
        interrupt_pipe[0] = safe_close(interrupt_pipe[0]);
        interrupt_pipe[1] = safe_close(interrupt_pipe[1]);
        interrupted = 0;
        return interrupt_install();
}

int interrupt_signal(void) {
        return interrupted;
}

int interrupt_fd(void) {
        return interrupt_pipe[0];
}

static void (*tick_function)(void *userdata);
static void *tick_data;

void spawn_set_tick(void (*tick)(void *userdata), void *userdata) {
        tick_function = tick;
        tick_data = userdata;
}

void spawn_tick(void) {
        if (tick_function)
                tick_function(tick_data);
}

bool program_find(const char *program, char **ret_path) {
        _cleanup_strv_free_ char **folders = NULL;
        const char *path = getenv("PATH");

        if (strchr(program, '/'))
                return access(program, X_OK) >= 0 && (!ret_path || (*ret_path = strdup(program)));
        folders = strv_split(
                        isempty(path) ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                                      : path,
                        ":");
        STRV_FOREACH (folder, folders) {
                _cleanup_free_ char *candidate = path_join(*folder, program);
                struct stat st;

                if (!candidate || stat(candidate, &st) < 0 || !S_ISREG(st.st_mode) ||
                                access(candidate, X_OK) < 0)
                        continue;
                if (ret_path)
                        *ret_path = TAKE_PTR(candidate);
                return true;
        }
        return false;
}

static _noreturn_ void child_fail(int error_fd, int error) {
        ssize_t ignored _unused_ = write(error_fd, &error, sizeof(error));

        _exit(127);
}

static int redirect(const SpawnOptions *o, int output_fd) {
        int in = open(o->stdin_path ? o->stdin_path : "/dev/null", O_RDONLY | O_NOCTTY);

        if (in < 0 || dup2(in, STDIN_FILENO) < 0)
                return -errno;
        if (dup2(o->stdout_fd > 0 ? o->stdout_fd : output_fd, STDOUT_FILENO) < 0 ||
                        dup2(output_fd, STDERR_FILENO) < 0)
                return -errno;
        if (in > STDERR_FILENO)
                close(in);
        return 0;
}

/* What a signal of ours would do in the parent is nothing the child should inherit. */
static void reset_signals(void) {
        sigset_t none;

        for (int sig = 1; sig < NSIG; sig++)
                signal(sig, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns only on failure. */
static int execute(const SpawnOptions *o, char *const argv[]) {
        _cleanup_free_ char *path = NULL;

        if (!o->env) {
                execvp(argv[0], argv);
                return -errno;
        }
        if (!program_find(argv[0], &path))
                return -ENOENT;
        execve(path, argv, o->env);
        return -errno;
}

static _noreturn_ void child_main(const SpawnOptions *o, char *const argv[], int output_fd,
                int error_fd, pid_t parent) {
        int r;

        reset_signals();
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                child_fail(error_fd, -errno);
        if (getppid() != parent)
                _exit(127);

        if (!o->stdin_inherit) {
                setpgid(0, 0);
                r = redirect(o, output_fd);
                if (r < 0)
                        child_fail(error_fd, r);
        }
        if (o->cwd && chdir(o->cwd) < 0)
                child_fail(error_fd, -errno);
        if (o->prepare) {
                r = o->prepare(o->prepare_data);
                if (r < 0)
                        child_fail(error_fd, r);
                if (!argv)
                        _exit(r);
        }
        child_fail(error_fd, execute(o, argv));
}

typedef struct LineBuffer {
        char text[LINE_LENGTH_MAX];
        size_t used;
        bool told; /* its text so far was handed out: for its length, or a carriage return */
} LineBuffer;

static void tell_line(LineBuffer *b, const SpawnOptions *o) {
        b->text[b->used] = '\0';
        if (o->on_line)
                o->on_line(b->text, o->line_data);
        b->used = 0;
        b->told = true;
}

static void feed_lines(LineBuffer *b, const SpawnOptions *o, const char *data, size_t size) {
        for (size_t i = 0; i < size; i++)
                if (data[i] == '\n') {
                        /* An empty line counts, the end of one that was told already does not. */
                        if (b->used > 0 || !b->told)
                                tell_line(b, o);
                        b->told = false;
                } else if (data[i] == '\r') {
                        /* A carriage return ends a line too: progress meters redraw with it. */
                        if (b->used > 0)
                                tell_line(b, o);
                } else {
                        b->text[b->used++] = data[i];
                        if (b->used == sizeof(b->text) - 1)
                                tell_line(b, o);
                }
}

/* Hands out what has come, at most `rounds` buffers of it: somebody who never stops writing must
 * not keep us from looking at the clock. */
static void drain(int *fd, LineBuffer *b, const SpawnOptions *o, unsigned rounds) {
        char buffer[65536];

        while (*fd >= 0 && rounds-- > 0) {
                ssize_t n = read(*fd, buffer, sizeof(buffer));
                if (n > 0)
                        feed_lines(b, o, buffer, (size_t) n);
                else if (n == 0) /* every writer is gone; a poll on it would only spin */
                        *fd = safe_close(*fd);
                else
                        break;
        }
}

/* Ends whatever is left of the child's process group and of its output, so that nothing survives
 * us. */
static void reap(pid_t pid, bool own_group, int *ret_status) {
        if (own_group)
                kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
}

typedef struct Child {
        const SpawnOptions *o;
        pid_t pid;
        int pidfd;
        int *output; /* our end of its output; closed once every writer is gone */
        LineBuffer *lines;
        uint64_t deadline; /* 0: none */
        uint64_t kill_at;  /* 0: it was not asked to end */
        uint64_t look_at;  /* when its watch is called next */
} Child;

/* Waits until something happened, or somebody has to look at the clock. */
static int wait_for_child(const Child *c, bool *ret_ended) {
        struct pollfd fds[] = {
                { .fd = *c->output, .events = POLLIN },
                { .fd = c->pidfd, .events = POLLIN },
                { .fd = c->kill_at || c->o->stdin_inherit ? -1 : interrupt_fd(), .events = POLLIN },
        };
        uint64_t now = now_usec(), next = c->kill_at ? c->kill_at : c->deadline;
        int wait_ms = next == 0     ? -1
                      : next <= now ? 0
                                    : (int) MIN((next - now) / 1000 + 1, 1000000u);

        if ((tick_function || c->o->watch) && (wait_ms < 0 || wait_ms > SPAWN_TICK_MS))
                wait_ms = SPAWN_TICK_MS;
        if (poll(fds, ELEMENTSOF(fds), wait_ms) < 0) {
                if (errno != EINTR)
                        return -errno;
                fds[1].revents = 0;
        }
        *ret_ended = fds[1].revents != 0;
        return 0;
}

/* What its watch says, SPAWN_TICK_MS after it said so last: output may come at any rate. */
static int look(Child *c) {
        uint64_t now = now_usec();

        if (!c->o->watch || now < c->look_at)
                return 0;
        c->look_at = now + SPAWN_TICK_MS * USEC_PER_MSEC;
        return c->o->watch(c->pid, c->o->watch_data);
}

/* Follows the child until it ended, or until it had its time to end. Returns 0; why it was to end:
 * -ECANCELED, -ETIMEDOUT; other -errno. */
static int follow(Child *c) {
        int why = 0;

        for (;;) {
                bool ended = false;
                int r;

                r = wait_for_child(c, &ended);
                if (r < 0)
                        return r;
                spawn_tick();
                drain(c->output, c->lines, c->o, 4);
                if (ended)
                        return why;

                if (why == 0 && interrupt_signal() && !c->o->stdin_inherit)
                        why = -ECANCELED;
                else if (why == 0 && c->deadline && now_usec() >= c->deadline)
                        why = -ETIMEDOUT;
                if (why == 0)
                        why = look(c);
                if (why == 0)
                        continue;
                if (c->kill_at && now_usec() >= c->kill_at)
                        return why;
                if (!c->kill_at) {
                        kill(c->o->stdin_inherit ? c->pid : -c->pid, SIGTERM);
                        c->kill_at = now_usec() + KILL_DELAY_USEC;
                }
        }
}

/* In the parent: follows the child, and ends all of it. */
static int attend(pid_t pid, const SpawnOptions *o, int *output, int *ret_status) {
        _cleanup_close_ int pidfd = pidfd_of_child(pid);
        _cleanup_free_ LineBuffer *lines = calloc(1, sizeof(*lines));
        Child c = {
                .o = o,
                .pid = pid,
                .pidfd = pidfd,
                .output = output,
                .lines = lines,
                .deadline = o->timeout_usec ? now_usec() + o->timeout_usec : 0,
        };
        int r;

        r = pidfd < 0 ? pidfd : !lines ? -ENOMEM : follow(&c);
        reap(pid, !o->stdin_inherit, ret_status);
        if (!lines)
                return r;

        drain(output, lines, o,
                        64); /* a pipe holds less; only who left the group could still write */
        if (lines->used > 0)
                tell_line(lines, o);
        return r;
}

/* A host that is full of processes for a moment is none that fails. */
static pid_t fork_patiently(void) {
        pid_t pid;

        for (unsigned n = 0; (pid = fork()) < 0 && errno == EAGAIN && n < FORK_TRIES_MAX; n++)
                usleep(SPAWN_TICK_MS * 1000);
        return pid;
}

int spawn_run(const SpawnOptions *options, char *const argv[], int *ret_status) {
        static const SpawnOptions none = {};
        const SpawnOptions *o = options ? options : &none;
        _cleanup_(close_pairp) int output[2] = { -EBADF, -EBADF }, error[2] = { -EBADF, -EBADF };
        int status = 0, child_error = 0, r;
        pid_t pid, parent = getpid();

        if (pipe2(output, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
                return -errno;
        pid = fork_patiently();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_main(o, argv, output[1], error[1], parent);

        output[1] = safe_close(output[1]);
        error[1] = safe_close(error[1]);
        if (!o->stdin_inherit)
                setpgid(pid, pid); /* whichever comes first: a signal to the group must find it */
        fcntl(output[0], F_SETFL, O_NONBLOCK);
        fcntl(error[0], F_SETFL, O_NONBLOCK); /* a grandchild of prepare() may hold the other end */

        r = attend(pid, o, &output[0], &status);
        if (r < 0)
                return r;
        if (read(error[0], &child_error, sizeof(child_error)) == sizeof(child_error))
                return child_error;
        if (ret_status)
                *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return 0;
}

typedef struct Capture {
        FILE *stream;
        size_t size;
} Capture;

static void capture_line(const char *line, void *userdata) {
        Capture *c = userdata;

        c->size += strlen(line) + 1;
        if (c->size <= CAPTURE_MAX)
                fprintf(c->stream, "%s\n", line);
}

int spawn_capture(const SpawnOptions *options, char *const argv[], char **ret_output,
                int *ret_status) {
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        _cleanup_free_ char *text = NULL;
        size_t size;
        Capture capture = {};
        int r;

        capture.stream = open_memstream(&text, &size);
        if (!capture.stream)
                return -ENOMEM;
        o.on_line = capture_line;
        o.line_data = &capture;
        r = spawn_run(&o, argv, ret_status);
        fclose(capture.stream);
        if (r < 0)
                return r;
        if (capture.size > CAPTURE_MAX)
                return -EFBIG;
        *ret_output = TAKE_PTR(text);
        return 0;
}
