/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paths below the test root, where there is one. */

#include "contract/paths.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <stdarg.h>

char *fb_path(const char *path) {
        return strf("%s%s", strempty(secure_getenv("FIRSTBOOT_ROOT")), path);
}

char *fb_pathf(const char *format, ...) {
        _cleanup_free_ char *path = NULL;
        va_list ap;

        va_start(ap, format);
        path = vstrf(format, ap);
        va_end(ap);
        return path ? fb_path(path) : NULL;
}

int fb_list(const char *folder, char ***ret) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *path = fb_path(folder);
        int r;

        if (!path)
                return -ENOMEM;
        r = folder_open(path, &d);
        if (r == -ENOENT) {
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                return r;

        FOLDER_FOREACH (name, d) {
                if (name[0] == '.')
                        continue;
                r = strv_extend(&l, name);
                if (r < 0)
                        return r;
        }

        strv_sort(l);
        *ret = TAKE_PTR(l);
        return 0;
}
