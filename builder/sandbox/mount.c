/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree of a sandbox: an overlay of the layers, mounted by the child that needs it. What is
 * mounted in it is in points.c. */

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
        r = points_make(s, points, &m->resolver);
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
                return log_error_return(-E2BIG,
                                "%zu layers are more than the kernel mounts at once: make one overlay of several",
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
