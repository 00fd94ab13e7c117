/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree of a sandbox: an overlay of the layers, mounted by the child that needs it.
 *
 * Mount points. A bind's target need not exist in the tree: below /run, /tmp and /dev bubblewrap
 * makes it on a tmpfs; elsewhere it is made in an empty folder of scratch that lies below all
 * layers, so that no layer ever gets it. The same folder is the second lower layer that overlayfs
 * wants where there is no upper one. */

#include "sandbox/internal.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define RESOLVER "/etc/resolv.conf"
#define OPTIONS_MAX 4096 /* mount(2) takes one page of them */

void mount_done(Mount *m) {
        if (m->scratch)
                (void) rm_rf(m->scratch);
        free(m->scratch);
        free(m->root);
        free(m->layers);
        free(m->options);
        free(m->resolver);
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

static int make_points(const Sandbox *s, const Mount *m, const char *points) {
        int r;

        if (mkdir(points, 0755) < 0)
                return -errno;
        for (size_t i = 0; i < s->n_binds; i++) {
                r = make_point(points, s->binds[i].source, s->binds[i].target);
                if (r < 0)
                        return log_error_errno(
                                        r, "Cannot bind %s into the sandbox", s->binds[i].source);
        }
        if (m->resolver && s->read_only)
                return make_point(points, RESOLVER, m->resolver);
        return 0;
}

/* Where the tree's resolver configuration is to be: what a symbolic link of the topmost layer
 * says, as the file may not exist yet. */
static int find_resolver(const Sandbox *s, char **ret) {
        char link[PATH_MAX];
        const char *relative;
        ssize_t n = -1;

        for (size_t i = strv_length(s->layers); i > 0; i--) {
                _cleanup_free_ char *path = path_join(s->layers[i - 1], RESOLVER);
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                if (S_ISLNK(st.st_mode))
                        n = readlink(path, link, sizeof(link) - 1);
                break;
        }
        if (n <= 0) {
                *ret = strdup(RESOLVER);
                return *ret ? 0 : -ENOMEM;
        }

        link[n] = '\0';
        relative = startswith(link, "../"); /* ../run/systemd/resolve/stub-resolv.conf */
        *ret = relative ? strf("/%s", relative) : strdup(link);
        return *ret ? 0 : -ENOMEM;
}

/* "upperdir=…,workdir=…": the sandbox's own, or new ones in scratch. */
static int changes_option(const Sandbox *s, const char *scratch, char **ret) {
        _cleanup_free_ char *upper = NULL, *work = NULL, *upper_option = NULL, *work_option = NULL;

        upper = s->upper ? strdup(s->upper) : path_join(scratch, "upper");
        work = s->work ? strdup(s->work) : path_join(scratch, "work");
        if (!upper || !work)
                return -ENOMEM;
        if (!s->upper && (mkdir(upper, 0755) < 0 || mkdir(work, 0700) < 0))
                return -errno;

        upper_option = option_path(s->store, upper);
        work_option = option_path(s->store, work);
        if (!upper_option || !work_option)
                return -ENOMEM;
        *ret = strf(",upperdir=%s,workdir=%s,volatile", upper_option, work_option);
        return *ret ? 0 : -ENOMEM;
}

/* "LAYER:LAYER:…:POINTS", the highest first. */
static int lower_option(const Sandbox *s, const char *points, char **ret) {
        _cleanup_strv_free_ char **lower = NULL;
        int r;

        for (size_t i = strv_length(s->layers); i > 0; i--) {
                r = strv_push(&lower, option_path(s->store, s->layers[i - 1]));
                if (r < 0)
                        return r;
        }
        r = strv_push(&lower, option_path(s->store, points));
        if (r < 0)
                return r;

        *ret = strv_join(lower, ":");
        return *ret ? 0 : -ENOMEM;
}

/* What an earlier command's `volatile` mount left in the work folder; its end was a clean one. */
static int clear_volatile(const char *work) {
        _cleanup_free_ char *mark = path_join(work, "work/incompat");

        return mark ? rm_rf(mark) : -ENOMEM;
}

static int lay_out(const Sandbox *s, Mount *m) {
        _cleanup_free_ char *points = NULL, *lower = NULL, *changes = NULL;
        int r;

        r = store_scratch(s->store, "sandbox", &m->scratch);
        if (r < 0)
                return r;
        m->root = path_join(m->scratch, "root");
        m->layers = path_join(store_path(s->store), "layers");
        points = path_join(m->scratch, "points");
        if (!m->root || !m->layers || !points)
                return -ENOMEM;
        if (mkdir(m->root, 0755) < 0)
                return -errno;

        if (s->work) {
                r = clear_volatile(s->work);
                if (r < 0)
                        return r;
        }
        if (s->network && access(RESOLVER, F_OK) >= 0) {
                r = find_resolver(s, &m->resolver);
                if (r < 0)
                        return r;
        }
        r = make_points(s, m, points);
        if (r < 0)
                return r;

        r = lower_option(s, points, &lower);
        if (r < 0)
                return r;
        if (!s->read_only) {
                r = changes_option(s, m->scratch, &changes);
                if (r < 0)
                        return r;
        }

        /* Whatever the kernel's defaults, layers must mean the same on every host. */
        m->options = strf("%slowerdir=%s%s",
                        store_userxattr(s->store) ? "userxattr," : "redirect_dir=off,metacopy=off,",
                        lower, strempty(changes));
        if (!m->options)
                return -ENOMEM;
        if (strlen(m->options) >= OPTIONS_MAX)
                return log_error_errno(-E2BIG,
                                "%zu layers are more than the kernel mounts at once: merge overlays",
                                strv_length(s->layers));
        return 0;
}

int mount_prepare(const Sandbox *s, Mount *ret) {
        _cleanup_(mount_done) Mount m = { .sandbox = s };
        int r;

        r = lay_out(s, &m);
        if (r < 0)
                return r;
        *ret = m;
        m = (Mount) {};
        return 0;
}

int mount_tree(const Mount *m) {
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
        return 0;
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

int mount_devices(const Sandbox *s) {
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
