/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of a folder. readdir() tells an error from the end by errno alone. */

#include "shared/folder.h"
#include "shared/strv.h"

int folder_names(DIR *d, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;
        const char *name;
        int r;

        for (;;) {
                errno = 0;
                name = folder_next_name(d);
                if (!name)
                        break;
                r = strv_extend(&names, name);
                if (r < 0)
                        return r;
        }
        if (errno != 0)
                return -errno;
        strv_sort(names);
        *ret = TAKE_PTR(names);
        return 0;
}

int folder_list(const char *path, char ***ret) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(path, &d);
        return r < 0 ? r : folder_names(d, ret);
}

int folder_each(int fd, const char *prefix, folder_each_t fn, void *userdata) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = folder_from_fd(fd, &d);
        if (r < 0)
                return r;
        r = folder_names(d, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path =
                                strf("%s%s%s", strempty(prefix), prefix ? "/" : "", *name);

                if (!path)
                        return -ENOMEM;
                r = fn(dirfd(d), *name, path, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}
