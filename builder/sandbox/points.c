/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What bubblewrap mounts in a tree, and where.
 *
 * A bind's target need not exist in the tree: below /run, /tmp and /dev bubblewrap makes it on a
 * tmpfs; elsewhere it is made in an empty folder of scratch that lies below all layers, so that no
 * layer ever gets it. The same folder is the second lower layer that overlayfs wants where there is
 * no upper one.
 *
 * bubblewrap follows the tree's links while the host is still in reach (/oldroot). So nothing is
 * mounted where a link is on the way. */

#include "sandbox/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define RESOLVER "/etc/resolv.conf"

static const char *const mounted[] = { "/run", "/tmp", "/dev", "/proc", "/sys" };

static bool on_tmpfs(const char *target) {
        for (size_t i = 0; i < ELEMENTSOF(mounted); i++) {
                const char *rest = startswith(target, mounted[i]);

                if (rest && (*rest == '\0' || *rest == '/'))
                        return true;
        }
        return false;
}

/* Makes a bind's target, file or folder as its source is. */
static int make_point(const char *points, const char *source, const char *target) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (on_tmpfs(target))
                return 0;
        path = path_join(points, target);
        if (!path)
                return -ENOMEM;
        if (stat(source, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return mkdir_p(path, 0755);

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        return fd < 0 ? -errno : 0;
}

/* Appends the parts of a path, ".." taken back as at the top of a booted image: there is nothing
 * above it. */
static void append_parts(char *result, const char *path) {
        while (*path) {
                size_t n = strcspn(path, "/");

                if (n == 2 && strncmp(path, "..", 2) == 0) {
                        char *slash = strrchr(result, '/');

                        if (slash)
                                *slash = '\0';
                } else if (n > 0 && !(n == 1 && *path == '.')) {
                        size_t used = strlen(result);

                        result[used] = '/';
                        memcpy(result + used + 1, path, n);
                        result[used + 1 + n] = '\0';
                }
                path += n + (path[n] == '/');
        }
}

/* Reads the link etc/resolv.conf of one tree into `link`. Returns its length, 0 where that is no
 * link, -ENOENT where it is not there. */
static ssize_t read_resolver_link(const char *tree, char link[static PATH_MAX]) {
        _cleanup_close_ int tree_fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC), etc = -EBADF;
        ssize_t n;

        if (tree_fd < 0)
                return -errno;
        etc = inside_open(tree_fd, "etc", O_PATH | O_DIRECTORY);
        if (etc < 0)
                return etc == -ENOTDIR || etc == -ELOOP ? -ENOENT : etc;

        n = readlinkat(etc, "resolv.conf", link, PATH_MAX - 1);
        if (n < 0)
                return errno == EINVAL ? 0 : -errno;
        link[n] = '\0';
        return n;
}

/* Where the tree's resolver configuration is to be: what a symbolic link of the topmost tree that
 * has one says, as the file may not exist yet. */
static int find_resolver(const Sandbox *s, char **ret) {
        _cleanup_free_ char *path = NULL;
        char link[PATH_MAX];
        ssize_t n = -ENOENT;

        if (s->upper)
                n = read_resolver_link(s->upper, link);
        for (size_t i = strv_length(s->layers); i > 0 && n == -ENOENT; i--)
                n = read_resolver_link(s->layers[i - 1], link);
        if (n < 0 && n != -ENOENT)
                return (int) n;
        if (n <= 0) {
                *ret = strdup(RESOLVER);
                return *ret ? 0 : -ENOMEM;
        }

        path = calloc(1, strlen("/etc/") + (size_t) n + 2);
        if (!path)
                return -ENOMEM;
        if (*link != '/')
                append_parts(path, "etc");
        append_parts(path, link);
        *ret = TAKE_PTR(path);
        return 0;
}

int points_make(const Sandbox *s, const char *folder, char **ret_resolver) {
        _cleanup_free_ char *resolver = NULL;
        int r;

        if (mkdir(folder, 0755) < 0)
                return -errno;
        for (size_t i = 0; i < s->n_binds; i++) {
                r = make_point(folder, s->binds[i].source, s->binds[i].target);
                if (r < 0)
                        return log_error_errno(
                                        r, "Cannot bind %s into the sandbox", s->binds[i].source);
        }

        if (s->network && access(RESOLVER, F_OK) >= 0) {
                r = find_resolver(s, &resolver);
                if (r < 0)
                        return r;
        }
        if (resolver && s->read_only) {
                r = make_point(folder, RESOLVER, resolver);
                if (r < 0)
                        return r;
        }
        *ret_resolver = TAKE_PTR(resolver);
        return 0;
}

static int check_point(int root_fd, const char *target) {
        int r = inside_has_no_link(root_fd, target);

        if (r < 0)
                return log_error_errno(r,
                                "The tree's %s: a link is on the way, or something that is no folder; a sandbox mounts nothing there",
                                target);
        return 0;
}

/* The host's programs work on a tree that is no root of theirs. */
static int check_own(int root_fd, bool host) {
        for (size_t i = 0; i < ELEMENTSOF(mounted); i++) {
                int r;

                if (host && !streq(mounted[i], "/proc") && !streq(mounted[i], "/dev"))
                        continue;
                r = check_point(root_fd, mounted[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int points_check(const Mount *m) {
        _cleanup_close_ int root_fd = open(m->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const Sandbox *s = m->sandbox;
        int r;

        if (root_fd < 0)
                return -errno;
        r = check_own(root_fd, s->host);
        if (r < 0 || s->host)
                return r;
        for (size_t i = 0; i < s->n_binds; i++) {
                if (on_tmpfs(s->binds[i].target))
                        continue;
                r = check_point(root_fd, s->binds[i].target);
                if (r < 0)
                        return r;
        }
        return m->resolver && !on_tmpfs(m->resolver) ? check_point(root_fd, m->resolver) : 0;
}

/* bubblewrap's --dev makes these, and no others of the host's. */
const char *const sandbox_devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
        "/dev/urandom", "/dev/tty", NULL };

/* A read-only mount of a device node: it is read and written as ever, and its inode stays as it is.
 * bubblewrap's own mounts are copies of this one. The other flags are those that a mount of /dev
 * may have and that nobody may take away in a user namespace. */
static int protect_device(const Sandbox *s, const char *path) {
        static const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC;

        if (mount(path, path, NULL, MS_BIND, NULL) >= 0 &&
                        mount(NULL, path, NULL, flags, NULL) >= 0)
                return 0;
        if (errno == ENOENT ||
                        store_userxattr(s->store)) /* it is not an ordinary user's to change */
                return 0;
        return log_error_errno(-errno, "Cannot protect %s from a sandbox", path);
}

int points_protect_devices(const Sandbox *s) {
        for (const char *const *device = sandbox_devices; *device; device++) {
                int r = protect_device(s, *device);

                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < s->n_binds; i++) {
                int r = s->binds[i].device ? protect_device(s, s->binds[i].source) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}
