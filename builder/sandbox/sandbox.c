/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs commands in a layered tree. One child does it all: it leaves the host's mount namespace,
 * mounts the overlay at a private point, and becomes bubblewrap, which takes away everything else
 * of the host. So there is never a mount to undo: the namespace goes with its last process, and
 * every process goes with us (bubblewrap's --die-with-parent, and the kernel's end of a pid
 * namespace with its first process).
 *
 * Mount points. A bind's target need not exist in the tree: below /run, /tmp and /dev bubblewrap
 * makes it on a tmpfs; elsewhere it is made in an empty folder of scratch that lies below all
 * layers, so that no layer ever gets it. The same folder is the second lower layer that overlayfs
 * wants where there is no upper one. */

#include "sandbox/sandbox.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SANDBOX_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What package scripts need of root: owners, modes, file capabilities, other users, chroot. Device
 * nodes, modules, mounts, time and raw disks are not theirs. */
static const char *const capabilities[] = {
        "CAP_CHOWN",
        "CAP_DAC_OVERRIDE",
        "CAP_DAC_READ_SEARCH",
        "CAP_FOWNER",
        "CAP_FSETID",
        "CAP_KILL",
        "CAP_SETGID",
        "CAP_SETUID",
        "CAP_SETPCAP",
        "CAP_SETFCAP",
        "CAP_SYS_CHROOT",
        "CAP_NET_BIND_SERVICE",
        "CAP_AUDIT_WRITE",
};

typedef struct Mount {
        const Sandbox *sandbox;
        char *scratch; /* removed at the end: root, points, and for changes thrown away upper and
                          work */
        char *root;
        char *options; /* of the overlay, paths relative to layers/ where they are below it */
        char *layers;
        int (*fn)(const char *root, void *userdata);
        void *userdata;
} Mount;

static void mount_done(Mount *m) {
        if (m->scratch)
                (void) rm_rf(m->scratch);
        free(m->scratch);
        free(m->root);
        free(m->options);
        free(m->layers);
}

/* A path as the overlay's options carry it: relative to layers/ where that is shorter (all options
 * share one page), with the characters escaped that separate options and layers. */
static char *option_path(const Store *store, const char *path) {
        const char *below = startswith(path, store_path(store)),
                   *below_layers = below ? startswith(below, "/layers/") : NULL;
        const char *prefix = below_layers ? "" : below && below[0] == '/' ? ".." : "";
        const char *rest = below_layers ? below_layers : *prefix ? below : path;
        char *result = malloc(strlen(prefix) + 2 * strlen(rest) + 1), *p = result;

        if (!result)
                return NULL;
        p = stpcpy(p, prefix);
        for (; *rest; rest++) {
                if (strchr(",:\\", *rest))
                        *p++ = '\\';
                *p++ = *rest;
        }
        *p = '\0';
        return result;
}

static bool on_tmpfs(const char *target) {
        static const char *const mounted[] = { "/run", "/tmp", "/dev", "/proc", "/sys" };

        for (size_t i = 0; i < ELEMENTSOF(mounted); i++) {
                const char *rest = startswith(target, mounted[i]);
                if (rest && (*rest == '\0' || *rest == '/'))
                        return true;
        }
        return false;
}

static int make_point(const char *points, const SandboxBind *b) {
        _cleanup_free_ char *path = path_join(points, b->target);
        struct stat st;
        int r;

        if (on_tmpfs(b->target))
                return 0;
        if (!path)
                return -ENOMEM;
        if (stat(b->source, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return mkdir_p(path, 0755);
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        close(fd);
        return 0;
}

/* Where the tree's resolver configuration is to be: what a symbolic link of the topmost layer
 * says, as the file may not exist yet. */
static int resolver_target(const Sandbox *s, char **ret) {
        static const char name[] = "/etc/resolv.conf";
        char link[PATH_MAX];
        ssize_t n = -1;

        for (size_t i = strv_length(s->layers); i > 0; i--) {
                _cleanup_free_ char *path = path_join(s->layers[i - 1], name);
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                if (S_ISLNK(st.st_mode))
                        n = readlink(path, link, sizeof(link) - 1);
                break;
        }
        if (n > 0) {
                link[n] = '\0';
                const char *relative = startswith(
                                link, "../"); /* ../run/systemd/resolve/stub-resolv.conf */
                *ret = relative ? strf("/%s", relative) : strdup(link);
        } else
                *ret = strdup(name);
        return *ret ? 0 : -ENOMEM;
}

static int mount_prepare(const Sandbox *s, Mount *m) {
        _cleanup_strv_free_ char **lower = NULL;
        _cleanup_free_ char *points = NULL, *upper = NULL, *work = NULL, *joined = NULL,
                            *changes = NULL;
        int r;

        m->sandbox = s;
        r = store_scratch(s->store, "sandbox", &m->scratch);
        if (r < 0)
                return r;
        m->root = path_join(m->scratch, "root");
        m->layers = path_join(store_path(s->store), "layers");
        points = path_join(m->scratch, "points");
        upper = s->upper ? strdup(s->upper) : path_join(m->scratch, "upper");
        work = s->work ? strdup(s->work) : path_join(m->scratch, "work");
        if (!m->root || !m->layers || !points || !upper || !work)
                return -ENOMEM;
        if (mkdir(m->root, 0755) < 0 || mkdir(points, 0755) < 0)
                return -errno;
        if (!s->upper && !s->read_only && (mkdir(upper, 0755) < 0 || mkdir(work, 0700) < 0))
                return -errno;
        if (s->work) {
                /* What an earlier command's `volatile` mount left there; its end was a clean
                 * one. */
                _cleanup_free_ char *mark = path_join(s->work, "work/incompat");
                if (!mark)
                        return -ENOMEM;
                r = rm_rf(mark);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < s->n_binds; i++) {
                r = make_point(points, s->binds + i);
                if (r < 0)
                        return log_error_errno(
                                        r, "Cannot bind %s into the sandbox", s->binds[i].source);
        }
        if (s->network && s->read_only && access("/etc/resolv.conf", F_OK) >= 0) {
                _cleanup_free_ char *target = NULL;
                r = resolver_target(s, &target);
                if (r >= 0)
                        r = make_point(points, &(SandboxBind) { .source = "/etc/resolv.conf",
                                                               .target = target });
                if (r < 0)
                        return r;
        }

        size_t n = strv_length(s->layers);
        for (size_t i = 0; i < n; i++) {
                r = strv_push(&lower, option_path(s->store, s->layers[n - 1 - i]));
                if (r < 0)
                        return r;
        }
        r = strv_push(&lower, option_path(s->store, points));
        if (r < 0)
                return r;
        joined = strv_join(lower, ":");
        if (!joined)
                return -ENOMEM;
        if (!s->read_only) {
                _cleanup_free_ char *u = option_path(s->store, upper),
                                    *w = option_path(s->store, work);
                changes = u && w ? strf(",upperdir=%s,workdir=%s,volatile", u, w) : NULL;
                if (!changes)
                        return -ENOMEM;
        }
        /* Whatever the kernel's defaults, layers must mean the same on every host. */
        m->options = strf("%slowerdir=%s%s",
                        store_userxattr(s->store) ? "userxattr," : "redirect_dir=off,metacopy=off,",
                        joined, strempty(changes));
        if (!m->options)
                return -ENOMEM;
        if (strlen(m->options) >= 4096)
                return log_error_errno(-E2BIG,
                                "%zu layers are more than the kernel mounts at once: merge overlays",
                                n);
        return 0;
}

/* bubblewrap, killed between making its own pid namespace and asking to be told of its parent's
 * end, would leave a process behind. So it is the first process of a namespace of ours, and the
 * kernel ends all of it. Returns in that first process; the one between it and imgbuild only
 * waits, and passes its exit code on. */
static int enter_pid_namespace(void) {
        _cleanup_(close_pairp) int alive[2] = { -EBADF, -EBADF };
        struct pollfd poll_parent = { .events = POLLIN };
        pid_t pid;
        int status;

        if (pipe2(alive, O_CLOEXEC) < 0)
                return -errno;
        if (unshare(CLONE_NEWPID) < 0)
                return log_error_errno(-errno,
                                "Cannot make a pid namespace; run as root, or see imgbuild doctor");
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid > 0) {
                alive[0] = safe_close(alive[0]);
                while (waitpid(pid, &status, 0) < 0)
                        if (errno != EINTR)
                                _exit(127);
                _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        }
        alive[1] = safe_close(alive[1]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        poll_parent.fd = alive[0];
        if (poll(&poll_parent, 1, 0) != 0) /* it ended before we asked */
                _exit(127);
        return 0;
}

/* In the child. */
static int mount_tree(void *userdata) {
        const Mount *m = userdata;

        if (!m->fn) {
                int r = enter_pid_namespace();
                if (r < 0)
                        return r;
        }
        umask(022); /* the caller's is no input of a build */
        if (unshare(CLONE_NEWNS) < 0)
                return log_error_errno(-errno,
                                "Cannot make a mount namespace; run as root, or see imgbuild doctor");
        if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return log_error_errno(-errno, "Cannot detach from the host's mounts");
        if (chdir(m->layers) < 0)
                return -errno;
        if (mount("overlay", m->root, "overlay", 0, m->options) < 0) {
                int r = -errno;
                log_debug("Overlay options: %s", m->options);
                return log_error_errno(r,
                                "The kernel does not mount the layers of %s; imgbuild doctor tells why",
                                store_path(m->sandbox->store));
        }
        if (m->fn)
                return m->fn(m->root, m->userdata);
        return chdir("/") < 0 ? -errno : 0;
}

/* The host's programs over a tree that has none yet: its /usr and what the loader, alternatives
 * and perl read of /etc, and none of its configuration. In the tree: /proc, and of /dev what every
 * script uses. */
static int add_host(const char *root, char ***argv) {
        static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
        static const char *const files[] = { "/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd",
                "/etc/group" };
        static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
        int r;

        r = strv_extend_many(argv, "--ro-bind", "/usr", "/usr", NULL);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(links); i++) {
                _cleanup_free_ char *path = strf("/%s", links[i]),
                                    *target = strf("usr/%s", links[i]);
                struct stat st;

                if (!path || !target)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                r = S_ISLNK(st.st_mode) ? strv_extend_many(argv, "--symlink", target, path, NULL)
                                        : strv_extend_many(argv, "--ro-bind", path, path, NULL);
        }
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(files); i++)
                r = strv_extend_many(argv, "--ro-bind-try", files[i], files[i], NULL);
        if (r >= 0)
                r = strv_extend_many(argv, "--perms", "0755", "--tmpfs", "/run", "--bind", root,
                                SANDBOX_TREE, "--proc", SANDBOX_TREE "/proc", "--ro-bind",
                                "/proc/sys", SANDBOX_TREE "/proc/sys", "--tmpfs",
                                SANDBOX_TREE "/dev", NULL);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(devices); i++) {
                _cleanup_free_ char *from = strf("/dev/%s", devices[i]),
                                    *to = strf(SANDBOX_TREE "/dev/%s", devices[i]);

                r = from && to ? strv_extend_many(argv, "--dev-bind", from, to, NULL) : -ENOMEM;
        }
        return r;
}

static int add_mounts(const Mount *m, char ***argv) {
        const Sandbox *s = m->sandbox;
        int r;

        r = s->host ? add_host(m->root, argv)
                    : strv_extend_many(argv, s->read_only ? "--ro-bind" : "--bind", m->root, "/",
                                      "--perms", "0755", "--tmpfs", "/run", NULL);
        if (r < 0)
                return r;
        r = strv_extend_many(argv, "--proc", "/proc",
                        /* bubblewrap leaves it writable to root, by whose number the kernel
                         * judges */
                        "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev", "--tmpfs", "/sys",
                        "--remount-ro", "/sys", "--perms", "1777", "--dir", "/run/lock", "--perms",
                        "1777", "--tmpfs", "/tmp", NULL);
        if (r >= 0 && s->network && access("/etc/resolv.conf", F_OK) >= 0) {
                _cleanup_free_ char *target = NULL;
                r = resolver_target(s, &target);
                if (r >= 0)
                        r = strv_extend_many(argv, "--ro-bind", "/etc/resolv.conf", target, NULL);
        }
        for (size_t i = 0; r >= 0 && i < s->n_binds; i++)
                r = strv_extend_many(argv,
                                s->binds[i].device     ? "--dev-bind"
                                : s->binds[i].writable ? "--bind"
                                                       : "--ro-bind",
                                s->binds[i].source, s->binds[i].target, NULL);
        return r;
}

static int sandbox_argv(const Mount *m, bool interactive, char *const command[], char ***ret) {
        const Sandbox *s = m->sandbox;
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_many(&argv, "bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc",
                        "--unshare-uts", "--hostname", "localhost", NULL);
        if (r >= 0 && !interactive) /* a shell's job control needs the terminal's own session */
                r = strv_extend(&argv, "--new-session");
        if (r >= 0 && !s->network)
                r = strv_extend(&argv, "--unshare-net");
        if (r >= 0)
                r = strv_extend_many(&argv, "--cap-drop", "ALL", NULL);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(capabilities); i++)
                r = strv_extend_many(&argv, "--cap-add", capabilities[i], NULL);
        if (r >= 0)
                r = add_mounts(m, &argv);
        if (r >= 0)
                r = strv_extend_many(&argv, "--chdir", s->cwd ? s->cwd : "/", "--", NULL);
        if (r >= 0)
                r = strv_extend_strv(&argv, command);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(argv);
        return 0;
}

static int sandbox_environment(const Sandbox *s, char ***ret) {
        _cleanup_strv_free_ char **env = NULL;
        const char *term = getenv("TERM");
        int r;

        r = strv_extendf(&env, "PATH=%s%s%s", strempty(s->path_prefix), s->path_prefix ? ":" : "",
                        SANDBOX_PATH);
        if (r >= 0)
                r = strv_extend_many(&env, "HOME=/root", "LC_ALL=C.UTF-8", "TZ=UTC0", NULL);
        if (r >= 0 && s->epoch > 0)
                r = strv_extendf(&env, "SOURCE_DATE_EPOCH=%lld", (long long) s->epoch);
        if (r >= 0 && term)
                r = strv_extendf(&env, "TERM=%s", term);
        if (r >= 0)
                r = strv_extend_strv(&env, s->env);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(env);
        return 0;
}

int sandbox_run(const Sandbox *s, const SpawnOptions *options, char *const argv[],
                int *ret_status) {
        _cleanup_(mount_done) Mount m = {};
        _cleanup_strv_free_ char **full = NULL, **env = NULL;
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        int r;

        r = mount_prepare(s, &m);
        if (r >= 0)
                r = sandbox_argv(&m, o.stdin_inherit, argv, &full);
        if (r >= 0)
                r = sandbox_environment(s, &env);
        if (r < 0)
                return r;
        if (!program_find("bwrap", NULL))
                return log_error_errno(-ENOENT,
                                "bubblewrap (bwrap) is not installed: apt install bubblewrap");
        o.env = env;
        o.cwd = NULL;
        o.prepare = mount_tree;
        o.prepare_data = &m;
        return spawn_run(&o, full, ret_status);
}

/* The child of sandbox_call() has no terminal: its messages come through the pipe, level first. */
static void send_message(int level, const char *line, void *userdata _unused_) {
        fprintf(stderr, "%c%s\n", '0' + level, line);
        fflush(stderr);
}

static void receive_message(const char *line, void *userdata _unused_) {
        if (line[0] >= '0' && line[0] <= '7') {
                const char *text = startswith(line + 1, "error: ");

                log_full(line[0] - '0', 0, "%s", text ? text : line + 1);
        } else
                log_debug("%s", line);
}

static int call_child(void *userdata) {
        log_set_program(NULL);
        log_set_writer(send_message, NULL);
        return mount_tree(userdata);
}

int sandbox_call(const Sandbox *s, int (*fn)(const char *root, void *userdata), void *userdata) {
        _cleanup_(mount_done) Mount m = { .fn = fn, .userdata = userdata };
        SpawnOptions o = { .prepare = call_child, .prepare_data = &m, .on_line = receive_message };
        int r, status;

        r = mount_prepare(s, &m);
        if (r >= 0)
                r = spawn_run(&o, NULL, &status);
        if (r < 0)
                return r;
        return status > 125 ? -EIO : status;
}
