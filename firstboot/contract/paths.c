/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paths below the test root, where there is one. */

#include "contract/paths.h"
#include "shared/strv.h"

#include <dirent.h>
#include <stdarg.h>

char *fb_path(const char *path) {
        return strf("%s%s", strempty(secure_getenv("FIRSTBOOT_ROOT")), path);
}

char *fb_pathf(const char *format, ...) {
        _cleanup_free_ char *path = NULL;
        va_list ap;

        va_start(ap, format);
        int n = vasprintf(&path, format, ap);
        va_end(ap);
        if (n < 0) {
                path = NULL;
                return NULL;
        }
        return fb_path(path);
}

static void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

int fb_list(const char *folder, char ***ret) {
        _cleanup_(closedirp) DIR *d = NULL;
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *path = fb_path(folder);
        struct dirent *e;
        int r;

        if (!path)
                return -ENOMEM;
        d = opendir(path);
        if (!d && errno != ENOENT)
                return -errno;

        while (d && (e = readdir(d))) {
                if (e->d_name[0] == '.')
                        continue;
                r = strv_extend(&l, e->d_name);
                if (r < 0)
                        return r;
        }

        if (l)
                strv_sort(l);
        *ret = TAKE_PTR(l);
        return 0;
}
