/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a command sees and may do: bubblewrap's arguments, one by one, and the environment. */

#include "sandbox/internal.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define SANDBOX_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What package scripts need of root: owners, modes, file capabilities, other users, chroot. Not
 * theirs are device nodes, modules, mounts, time, raw disks, other users' ports and audit log, and
 * files by handle (CAP_DAC_READ_SEARCH: with it, a bind of one folder was a way to all of its file
 * system). CAP_DAC_OVERRIDE reads and searches as well, by path. */
static const char *const capabilities[] = {
        "CAP_CHOWN",
        "CAP_DAC_OVERRIDE",
        "CAP_FOWNER",
        "CAP_FSETID",
        "CAP_KILL",
        "CAP_SETGID",
        "CAP_SETUID",
        "CAP_SETFCAP",
        "CAP_SYS_CHROOT",
};

/* /bin and its like: where /usr is merged the same links, else the folders themselves. `programs`:
 * the tree whose they are, "" for the host. */
static int add_usr_links(const char *programs, char ***argv) {
        static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

        for (size_t i = 0; i < ELEMENTSOF(links); i++) {
                _cleanup_free_ char *path = strf("/%s", links[i]),
                                    *target = strf("usr/%s", links[i]),
                                    *source = strf("%s/%s", programs, links[i]);
                struct stat st;
                int r;

                if (!path || !target || !source)
                        return -ENOMEM;
                if (lstat(source, &st) < 0)
                        continue;
                r = S_ISLNK(st.st_mode) ? strv_extend_strv(argv, ARGV("--symlink", target, path))
                                        : strv_extend_strv(argv, ARGV("--ro-bind", source, path));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_tree_devices(char ***argv) {
        for (const char *const *device = sandbox_devices; *device; device++) {
                _cleanup_free_ char *inside = strf(SANDBOX_TREE "%s", *device);
                int r;

                if (!inside)
                        return -ENOMEM;
                r = strv_extend_strv(argv, ARGV("--dev-bind", *device, inside));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Processes of the sandbox alone, and of those not the first: it is bubblewrap's own, without our
 * filter, and /proc/1/exe is the host's file. Settings are writable to root, by whose number the
 * kernel judges, but not on a read-only mount. */
static int add_proc(const char *at, char ***argv) {
        static const char *const settings[] = { "sys", "acpi", "asound", "driver", "dynamic_debug",
                "fs", "scsi" };
        _cleanup_free_ char *first = strf("%s/1", at);
        int r;

        if (!first)
                return -ENOMEM;
        r = strv_extend_strv(argv, ARGV("--proc", at, "--tmpfs", first, "--remount-ro", first));
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(settings); i++) {
                _cleanup_free_ char *from = strf("/proc/%s", settings[i]),
                                    *to = strf("%s/%s", at, settings[i]);

                if (!from || !to)
                        return -ENOMEM;
                r = strv_extend_strv(argv, ARGV("--ro-bind-try", from, to));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Programs of the host, or of a tree that has them. */
static int add_programs(const char *programs, char ***argv) {
        static const char *const files[] = { "/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd",
                "/etc/group" };
        _cleanup_free_ char *usr = strf("%s/usr", programs);
        int r;

        r = usr ? strv_extend_strv(argv, ARGV("--ro-bind", usr, "/usr")) : -ENOMEM;
        if (r < 0)
                return r;
        r = add_usr_links(programs, argv);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *source = strf("%s%s", programs, files[i]);

                r = source ? strv_extend_strv(argv, ARGV("--ro-bind-try", source, files[i]))
                           : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Somebody's programs over a tree that has none yet: their /usr and what the loader, alternatives
 * and perl read of /etc, and none of their configuration. In the tree: /proc, and of /dev what
 * every script uses. */
static int add_host(const Mount *m, char ***argv) {
        int r;

        r = add_programs(strempty(m->sandbox->programs), argv);
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("--perms", "0755", "--tmpfs", "/run", "--bind", m->root,
                                                   SANDBOX_TREE));
        if (r < 0)
                return r;
        r = add_proc(SANDBOX_TREE "/proc", argv);
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("--tmpfs", SANDBOX_TREE "/dev"));
        return r < 0 ? r : add_tree_devices(argv);
}

/* The tree itself is /. */
static int add_tree(const Mount *m, char ***argv) {
        return strv_extend_strv(argv, ARGV(m->sandbox->read_only ? "--ro-bind" : "--bind", m->root,
                                                      "/", "--perms", "0755", "--tmpfs", "/run"));
}

static int add_binds(const Sandbox *s, char ***argv) {
        for (size_t i = 0; i < s->n_binds; i++) {
                const SandboxBind *b = s->binds + i;
                const char *how = b->device ? "--dev-bind" : b->writable ? "--bind" : "--ro-bind";
                int r = strv_extend_strv(argv, ARGV(how, b->source, b->target));

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Copies in memory: bubblewrap reads each from its descriptor, and the command has that no more. */
static int add_secrets(const Sandbox *s, const Handed *handed, char ***argv) {
        int r;

        if (handed->n_secrets == 0)
                return 0;
        r = strv_extend_strv(argv, ARGV("--perms", "0700", "--dir", SANDBOX_SECRETS));
        for (size_t i = 0; i < handed->n_secrets && r >= 0; i++) {
                _cleanup_free_ char *fd = strf("%d", handed->secrets[i]),
                                    *path = strf(SANDBOX_SECRETS "/%s", s->secrets[i]->name);

                r = fd && path ? strv_extend_strv(argv, ARGV("--perms", "0400", "--file", fd, path))
                               : -ENOMEM;
        }
        return r;
}

/* A namespace of its own begins at our cgroup, where all of them are in one hierarchy: that folder
 * and what is below it is all that is to be seen then. */
static int add_cgroups(char ***argv) {
        _cleanup_free_ char *text = NULL, *folder = NULL;
        const char *own;

        if (read_file("/proc/self/cgroup", 64 * 1024, &text, NULL) < 0)
                text = NULL;
        own = text ? startswith(text, "0::") : NULL;
        folder = strf("/sys/fs/cgroup%.*s", own ? (int) strcspn(own, "\n") : 0, strempty(own));
        return folder ? strv_extend_strv(argv, ARGV("--unshare-cgroup-try", "--ro-bind-try", folder,
                                                               "/sys/fs/cgroup"))
                      : -ENOMEM;
}

static int add_mounts(const Mount *m, const Handed *handed, char ***argv) {
        int r;

        r = m->sandbox->host ? add_host(m, argv) : add_tree(m, argv);
        if (r < 0)
                return r;

        r = add_proc("/proc", argv);
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("--dev", "/dev", "--tmpfs", "/sys"));
        if (r < 0)
                return r;
        r = m->sandbox->cgroups ? add_cgroups(argv) : 0;
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("--remount-ro", "/sys"));
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("--perms", "1777", "--dir", "/run/lock", "--perms", "1777",
                                                   "--tmpfs", "/tmp"));
        if (r < 0)
                return r;

        if (m->resolver) {
                r = strv_extend_strv(argv, ARGV("--ro-bind", "/etc/resolv.conf", m->resolver));
                if (r < 0)
                        return r;
        }
        r = add_binds(m->sandbox, argv);
        return r < 0 ? r : add_secrets(m->sandbox, handed, argv);
}

static int add_rights(const Sandbox *s, const int filters[static 2], char ***argv) {
        int r;

        r = strv_extend_strv(argv, ARGV("--cap-drop", "ALL"));
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(capabilities); i++) {
                r = strv_extend_strv(argv, ARGV("--cap-add", capabilities[i]));
                if (r < 0)
                        return r;
        }
        if (s->low_ports) {
                r = strv_extend_strv(argv, ARGV("--cap-add", "CAP_NET_BIND_SERVICE"));
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < 2; i++) {
                r = strv_extend(argv, "--add-seccomp-fd");
                if (r < 0)
                        return r;
                r = strv_extendf(argv, "%d", filters[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The dynamic linker's own: for the command, not for bubblewrap, which is another system's. Nothing
 * else of the environment goes where everybody sees it. */
static bool is_linker_variable(const char *assignment) {
        return startswith(assignment, "LD_");
}

static int add_linker_variables(const Sandbox *s, char ***argv) {
        STRV_FOREACH (e, s->env) {
                const char *value = strchr(*e, '=');
                _cleanup_free_ char *name = NULL;

                if (!is_linker_variable(*e) || !value)
                        continue;
                name = strndup(*e, (size_t) (value - *e));
                if (!name || strv_extend_strv(argv, ARGV("--setenv", name, value + 1)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int bubblewrap_argv(const Mount *m, bool interactive, const Handed *handed, char *const command[],
                char ***ret) {
        const Sandbox *s = m->sandbox;
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(
                        &argv, ARGV("bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc",
                                               "--unshare-uts", "--hostname", "localhost"));
        if (r < 0)
                return r;
        if (!interactive) { /* a shell's job control needs the terminal's own session */
                r = strv_extend(&argv, "--new-session");
                if (r < 0)
                        return r;
        }
        if (!s->network) {
                r = strv_extend(&argv, "--unshare-net");
                if (r < 0)
                        return r;
        }

        r = add_rights(s, handed->filters, &argv);
        if (r < 0)
                return r;
        r = add_mounts(m, handed, &argv);
        if (r < 0)
                return r;
        r = add_linker_variables(s, &argv);
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, ARGV("--chdir", s->cwd ? s->cwd : "/", "--"));
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, command);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

int bubblewrap_environment(const Sandbox *s, char ***ret) {
        _cleanup_strv_free_ char **env = NULL;
        const char *term = getenv("TERM");
        int r;

        r = strv_extendf(&env, "PATH=%s%s%s", strempty(s->path_prefix), s->path_prefix ? ":" : "",
                        SANDBOX_PATH);
        if (r < 0)
                return r;
        r = strv_extend_strv(&env, ARGV("HOME=/root", "LC_ALL=C.UTF-8", "TZ=UTC0"));
        if (r < 0)
                return r;
        if (s->epoch > 0) {
                r = strv_extendf(&env, "SOURCE_DATE_EPOCH=%lld", (long long) s->epoch);
                if (r < 0)
                        return r;
        }
        if (term) {
                r = strv_extendf(&env, "TERM=%s", term);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (e, s->env) {
                if (is_linker_variable(*e))
                        continue;
                r = strv_extend(&env, *e);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(env);
        return 0;
}
