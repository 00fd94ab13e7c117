/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "paths.h"
#include "strv.h"

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
