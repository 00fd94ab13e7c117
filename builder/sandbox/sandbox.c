/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs commands in a layered tree. One child does it all: it leaves the host's mount namespace,
 * mounts the overlay at a private point (mount.c), and becomes bubblewrap (bubblewrap.c), which
 * takes away everything else of the host. So there is never a mount to undo: the namespace goes
 * with its last process, and every process goes with us (bubblewrap's --die-with-parent, and the
 * kernel's end of a pid namespace with its first process). */

#include "sandbox/internal.h"
#include "common/core-files.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static volatile pid_t first; /* process of the namespace */

static void end_namespace(int sig _unused_) {
        kill(first, SIGKILL);
}

/* A command that is to end goes with its namespace, and wait4() on that one's first process returns
 * when the last is gone: who had it ended may use its tree at once. Returns the exit code. */
static int wait_for_namespace(pid_t pid, const sigset_t *mask) {
        const struct sigaction action = { .sa_handler = end_namespace };
        int status;

        first = pid;
        if (sigaction(SIGTERM, &action, NULL) < 0 || sigprocmask(SIG_SETMASK, mask, NULL) < 0)
                return 127;
        while (waitid(P_PID, (id_t) pid, NULL, WEXITED | WNOWAIT) < 0)
                if (errno != EINTR)
                        return 127;
        /* Once it is reaped, its number may be somebody else's. */
        if (signal(SIGTERM, SIG_IGN) == SIG_ERR || waitpid(pid, &status, 0) < 0)
                return 127;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* bubblewrap, killed between making its own pid namespace and asking to be told of its parent's
 * end, would leave a process behind. So it is the first process of a namespace of ours, and the
 * kernel ends all of it. Returns in that first process; the one between it and imgbuild only
 * waits, and passes its exit code on. */
static int enter_pid_namespace(void) {
        _cleanup_(close_pairp) int alive[2] = { -EBADF, -EBADF };
        struct pollfd poll_parent = { .events = POLLIN };
        sigset_t term, mask;
        pid_t pid;

        if (pipe2(alive, O_CLOEXEC) < 0)
                return -errno;
        if (unshare(CLONE_NEWPID) < 0)
                return log_error_errno(-errno,
                                "Cannot make a pid namespace; run as root, or see imgbuild doctor");

        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        if (sigprocmask(SIG_BLOCK, &term, &mask) < 0) /* until there is somebody to pass it to */
                return -errno;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid > 0) {
                alive[0] = safe_close(alive[0]);
                _exit(wait_for_namespace(pid, &mask));
        }

        if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0)
                return -errno;
        alive[1] = safe_close(alive[1]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        poll_parent.fd = alive[0];
        if (poll(&poll_parent, 1, 0) != 0) /* it ended before we asked */
                _exit(127);
        return 0;
}

typedef struct Run {
        Mount mount;
        Handed handed;
} Run;

static void run_done(Run *run) {
        mount_done(&run->mount);
        close_pairp(&run->handed.filters);
        for (size_t i = 0; i < run->handed.n_secrets; i++)
                safe_close(run->handed.secrets[i]);
        free(run->handed.secrets);
}

static int hold_secret(const Secret *s) {
        _cleanup_close_ int fd = memfd_create("secret", MFD_CLOEXEC);

        if (fd < 0 || write_all(fd, s->value, s->size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        return TAKE_FD(fd);
}

static int hold_secrets(const Sandbox *s, Handed *h) {
        size_t n = 0;

        while (s->secrets && s->secrets[n])
                n++;
        if (n == 0)
                return 0;
        if (s->host)
                return -EINVAL;
        h->secrets = calloc(n, sizeof(*h->secrets));
        if (!h->secrets)
                return -ENOMEM;
        for (; h->n_secrets < n; h->n_secrets++) {
                int fd = hold_secret(s->secrets[h->n_secrets]);

                if (fd < 0)
                        return fd;
                h->secrets[h->n_secrets] = fd;
        }
        return 0;
}

/* A stream that is /dev/null was opened before its mount became read-only: through
 * /proc/self/fd/0 its mode could be changed. */
static int reopen_null(void) {
        _cleanup_close_ int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct stat null, st;

        if (fd < 0 || fstat(fd, &null) < 0)
                return -errno;
        for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
                if (fstat(i, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != null.st_rdev)
                        continue;
                if (dup2(fd, i) < 0)
                        return -errno;
        }
        return 0;
}

/* Whoever started us may have left descriptors open that are no business of a command's. */
static int inherit_only(const Handed *h) {
        if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
                return log_error_errno(-errno, "Cannot close what a command is not to inherit");
        for (size_t i = 0; i < ELEMENTSOF(h->filters); i++)
                if (fcntl(h->filters[i], F_SETFD, 0) < 0)
                        return -errno;
        for (size_t i = 0; i < h->n_secrets; i++)
                if (fcntl(h->secrets[i], F_SETFD, 0) < 0)
                        return -errno;
        return 0;
}

/* Where memory ends all the same, a command goes before anybody's else; and no core of it is
 * handed to a program of the host's. */
static void offer_to_oom_killer(void) {
        _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd >= 0)
                (void) write_all(fd, "500", 3);
        no_core_files();
}

static int run_child(void *userdata) {
        const Run *run = userdata;
        int r;

        if (run->mount.sandbox->cgroup) {
                r = cgroup_enter(run->mount.sandbox->cgroup);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot put a command into its cgroup",
                                        run->mount.sandbox->cgroup);
        }
        r = enter_pid_namespace();
        if (r < 0)
                return r;
        offer_to_oom_killer();
        r = mount_tree(&run->mount);
        if (r < 0)
                return r;
        r = points_check(&run->mount);
        if (r < 0)
                return r;
        r = points_protect_devices(run->mount.sandbox);
        if (r < 0)
                return r;
        r = reopen_null();
        if (r < 0)
                return log_error_errno(r, "Cannot open /dev/null for a sandbox");
        if (chdir("/") < 0)
                return -errno;
        return inherit_only(&run->handed);
}

int sandbox_run(const Sandbox *s, const SpawnOptions *options, char *const argv[],
                int *ret_status) {
        _cleanup_(run_done) Run run = { .handed.filters = { -EBADF, -EBADF } };
        _cleanup_strv_free_ char **full = NULL, **env = NULL;
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        int r;

        r = mount_prepare(s, &run.mount);
        if (r < 0)
                return r;
        r = syscalls_filters(s->durable, run.handed.filters);
        if (r < 0)
                return log_error_errno(r, "Cannot write the filter of a command's system calls");
        r = hold_secrets(s, &run.handed);
        if (r < 0)
                return log_error_errno(r, "Cannot hand a secret to a command");
        r = bubblewrap_argv(&run.mount, o.stdin_inherit, &run.handed, argv, &full);
        if (r < 0)
                return r;
        r = bubblewrap_environment(s, &env);
        if (r < 0)
                return r;
        if (!program_find("bwrap", NULL))
                return log_error_return(-ENOPKG,
                                "bubblewrap (bwrap) is not installed: apt install bubblewrap");

        o.env = env;
        o.cwd = NULL;
        o.prepare = run_child;
        o.prepare_data = &run;
        return spawn_run(&o, full, ret_status);
}

typedef struct Call {
        Mount mount;
        int (*fn)(const char *root, void *userdata);
        void *userdata;
} Call;

static void call_done(Call *c) {
        mount_done(&c->mount);
}

/* The child of sandbox_call() has no terminal: its messages come through the pipe, level first. */
static void send_message(int level, const char *line, void *userdata _unused_) {
        fprintf(stderr, "%c%s\n", '0' + level, line);
        fflush(stderr);
}

static void receive_message(const char *line, void *userdata _unused_) {
        if (line[0] >= '0' && line[0] <= '7')
                log_relay(line[0] - '0', NULL, line + 1);
        else
                log_debug("%s", line);
}

static int call_child(void *userdata) {
        const Call *c = userdata;
        int r;

        log_set_program(NULL);
        log_set_writer(send_message, NULL);
        r = mount_tree(&c->mount);
        return r < 0 ? r : c->fn(c->mount.root, c->userdata);
}

int sandbox_call(const Sandbox *s, int (*fn)(const char *root, void *userdata), void *userdata) {
        _cleanup_(call_done) Call c = { .fn = fn, .userdata = userdata };
        const SpawnOptions o = {
                .prepare = call_child, .prepare_data = &c, .on_line = receive_message
        };
        int r, status;

        r = mount_prepare(s, &c.mount);
        if (r < 0)
                return r;
        r = spawn_run(&o, NULL, &status);
        if (r < 0)
                return r;
        return status > 125 ? -EIO : status;
}
